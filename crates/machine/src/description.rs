//! Machines: TLBs, a page table, caches and walk costs, read from the text of a TOML file.

use crate::caches::{
    CacheText, CachesText, CoreText, MachineCaches, MainMemoryText, machine_caches,
};
use crate::fractured::fractured;
use crate::lines::{WalkLines, WalkLinesText, lines};
use crate::loads::{LoadTable, LoadText, load_table};
use crate::parameters::{Keys, cache_tables, tlb_tables};
use crate::structure::{TlbText, by_size, position, structure};
use crate::walk_caches::{WalkCacheText, walk_caches};
use crate::{MachineError, ProcessorPattern, WalkCosts, parts};
use broadleaf_cache::CacheKind;
use broadleaf_pagetable::{PageTableChoice, PageTableKind, SynonymKind, WalkCacheShape};
use broadleaf_tlb::Design;
use broadleaf_units::{PageSize, did_you_mean, plain_toml};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// A machine: the parts that translate addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// A one-line summary.
    pub summary: String,
    /// An explanation of a few sentences. Empty if the description has none.
    pub explanation: String,
    /// The source of the numbers. Empty if the description names none.
    pub source: String,
    /// Its TLB.
    pub design: Design,
    /// Its page table.
    pub page_table: PageTableChoice,
    /// Its caches and cores. `None`: accesses cost nothing by themselves.
    pub caches: Option<MachineCaches>,
    /// The sizes of pages that enter the TLB in pieces, smallest first: superpages of a guest
    /// whose host maps base pages. Empty if every page enters whole.
    pub fractured: Vec<PageSize>,
    /// The cost of a walk, in cycles.
    pub costs: WalkCosts,
    /// The cycles of loads that were measured on the machine. Only estimates of run times use them.
    pub loads: LoadTable,
    /// The cache lines that walks read, and what each costs. `None` if the description does not ask
    /// for them.
    pub walk_lines: Option<WalkLines>,
    /// Its walk caches, the level nearest to the pages first.
    pub walk_caches: Vec<WalkCacheShape>,
    /// Its synonym table. `None` if the description does not ask for one.
    pub synonyms: Option<&'static SynonymKind>,
    /// The processors that it describes. Empty if it describes none.
    pub processors: Vec<ProcessorPattern>,
}

/// The maximum cost of one walk, in cycles: enough for any machine, and too small for an overflow
/// of sums.
const MOST_CYCLES: u64 = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineText {
    name: Spanned<String>,
    summary: String,
    #[serde(default)]
    explanation: String,
    #[serde(default)]
    source: String,
    tlb: Vec<Spanned<TlbText>>,
    #[serde(rename = "page-table")]
    page_table: Option<Spanned<String>>,
    caches: Option<Spanned<String>>,
    #[serde(default)]
    cache: Vec<Spanned<CacheText>>,
    #[serde(rename = "main-memory")]
    main_memory: Option<Spanned<MainMemoryText>>,
    core: Option<Spanned<CoreText>>,
    #[serde(default)]
    fractured: Vec<Spanned<String>>,
    #[serde(rename = "walk-cycles")]
    walk_cycles: Spanned<BTreeMap<String, Spanned<u64>>>,
    #[serde(rename = "load-cycles", default)]
    load_cycles: Vec<Spanned<LoadText>>,
    #[serde(rename = "walk-lines")]
    walk_lines: Option<WalkLinesText>,
    #[serde(rename = "walk-caches", default)]
    walk_caches: BTreeMap<String, Spanned<WalkCacheText>>,
    synonyms: Option<Spanned<String>>,
    #[serde(default)]
    processor: Vec<Spanned<ProcessorPattern>>,
}

impl Machine {
    /// The address ranges that one entry of each level of the page table above the base pages
    /// covers, smallest first.
    pub fn walk_spans(&self) -> Vec<PageSize> {
        (self.page_table.entry().spans)(self.design.sizes()[0])
    }

    /// The entries of the page table that a walk to a page of the size reads from the root on.
    pub fn walk_levels(&self, size: PageSize) -> u64 {
        let above = self.walk_spans().into_iter().filter(|span| *span > size);
        above.count() as u64 + 1
    }

    /// Returns true if the machine's cores follow the dependences and branches of a trace's code.
    pub fn follows_code(&self) -> bool {
        let caches = self.caches.as_ref();
        caches.is_some_and(|caches| caches.core.mispredicted_branch.is_some())
    }

    /// Returns true if the cycles of a walk depend on the size of the page alone.
    pub fn has_fixed_walk_costs(&self) -> bool {
        let is_plain = self.page_table == PageTableChoice::from(self.page_table.entry());
        let by_size = self.page_table.entry().cost_by_size && self.walk_lines.is_none();
        let is_plain = is_plain && self.walk_caches.is_empty() && self.synonyms.is_none();
        is_plain && by_size && self.caches.is_none()
    }

    /// A note on costs that no walk has: those of sizes that no TLB holds.
    pub fn unused_costs(&self) -> Option<String> {
        let held = self.design.sizes();
        let costs = self.costs.iter().map(|(size, _)| size);
        let known = self.page_sizes();
        let unused: Vec<PageSize> = costs.filter(|size| !known.contains(size)).collect();
        (!unused.is_empty()).then(|| {
            format!(
                "[walk-cycles] has a cost for {}, which is never used: the TLBs hold {} alone, and \
                 no such page is fractured",
                short_names(&unused),
                short_names(held)
            )
        })
    }

    /// Reads a machine's description.
    ///
    /// # Errors
    /// Returns an error with the line, the key and the reason: the text is not TOML, a key is
    /// missing or unknown, or a number or an index contradicts the others.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        let wrong = |at: usize, message: String| MachineError::at(text, at, message);
        let tables = tlb_tables(text).map_err(|(at, message)| wrong(at, message))?;
        let cache_keys = cache_tables(text).map_err(|(at, message)| wrong(at, message))?;
        let parsed: MachineText = toml::from_str(text).map_err(|error| {
            MachineError::at(
                text,
                error.span().map_or(0, |span| span.start),
                plain_toml(error.message()),
            )
        })?;
        if parsed.name.get_ref().is_empty() || parsed.name.get_ref().contains(char::is_whitespace) {
            return Err(wrong(
                parsed.name.span().start,
                "a name is one word".to_string(),
            ));
        }
        if parsed.name.get_ref().contains(':') {
            let message = "a name has no ':', which begins the keys of a grid".to_string();
            return Err(wrong(parsed.name.span().start, message));
        }
        let mut structures = Vec::new();
        for (number, tlb) in parsed.tlb.iter().enumerate() {
            let structure = structure(tlb.get_ref(), tables.get(number));
            structures.push(structure.map_err(|(at, message)| wrong(at, message))?);
        }
        let design = Design::new(structures).map_err(|found| {
            let keys = tables.get(found.structure);
            let at = parsed
                .tlb
                .get(found.structure)
                .map_or(0, |tlb| position(tlb, keys, found.field));
            wrong(at, found.message)
        })?;
        let names = design.structures().iter().map(|of| of.name.as_str());
        if let Some((number, message)) = name_given_twice("TLBs", names) {
            return Err(wrong(parsed.tlb[number].span().start, message));
        }
        let mut costs = BTreeMap::new();
        for (size, cycles) in
            by_size(parsed.walk_cycles.get_ref()).map_err(|(at, message)| wrong(at, message))?
        {
            let at = cycles.span().start;
            if *cycles.get_ref() > MOST_CYCLES {
                return Err(wrong(
                    at,
                    format!("a walk costs at most {MOST_CYCLES} cycles"),
                ));
            }
            costs.insert(size, *cycles.get_ref());
        }
        for size in design.sizes() {
            if !costs.contains_key(size) {
                let message = format!("walks that find a {} page have no cost", size.short_name());
                return Err(wrong(parsed.walk_cycles.span().start, message));
            }
        }
        for processor in &parsed.processor {
            if let Some(message) = processor.get_ref().refuses() {
                return Err(wrong(processor.span().start, message));
            }
        }
        let page_table = page_table(parsed.page_table.as_ref());
        let page_table = page_table.map_err(|(at, message)| wrong(at, message))?;
        let spans = (page_table.entry().spans)(design.sizes()[0]);
        for tlb in &parsed.tlb {
            let held = by_size(&tlb.get_ref().walk_entries);
            for (size, index) in held.map_err(|(at, message)| wrong(at, message))? {
                if !spans.contains(&size) {
                    let (name, known) = (page_table.entry().described.name, short_names(&spans));
                    let message = format!(
                        "entries of the page table {name} cover {known}, and none {}",
                        size.short_name()
                    );
                    return Err(wrong(index.span().start, message));
                }
            }
        }
        let table_name = page_table.entry().described.name;
        let walk_caches = walk_caches(&parsed.walk_caches, table_name, &spans);
        let walk_caches = walk_caches.map_err(|(at, message)| wrong(at, message))?;
        let synonyms = parsed.synonyms.as_ref().map(synonyms).transpose();
        let synonyms = synonyms.map_err(|(at, message)| wrong(at, message))?;
        let costs = WalkCosts(costs);
        let fractured = fractured(&parsed.fractured, &design, &costs);
        let fractured = fractured.map_err(|(at, message)| wrong(at, message))?;
        let loads = load_table(&parsed.load_cycles);
        let walk_lines = parsed.walk_lines.as_ref().map(lines).transpose();
        let caches = caches(&parsed, &cache_keys).map_err(|(at, message)| wrong(at, message))?;
        Ok(Self {
            name: parsed.name.into_inner(),
            summary: parsed.summary,
            explanation: parsed.explanation,
            source: parsed.source,
            design,
            page_table,
            caches,
            fractured,
            costs,
            loads: loads.map_err(|(at, message)| wrong(at, message))?,
            walk_lines: walk_lines.map_err(|(at, message)| wrong(at, message))?,
            walk_caches,
            synonyms,
            processors: parsed
                .processor
                .into_iter()
                .map(Spanned::into_inner)
                .collect(),
        })
    }
}

/// The caches of a description. `keys` are the keys of its `[[cache]]` tables.
fn caches(parsed: &MachineText, keys: &[Keys]) -> Result<Option<MachineCaches>, (usize, String)> {
    let kind = parsed.caches.as_ref();
    let kind = part(kind, CacheKind::none(), CacheKind::named, "cache")?;
    let caches = machine_caches(
        kind,
        &CachesText {
            kind: parsed.caches.as_ref(),
            caches: &parsed.cache,
            keys,
            memory: parsed.main_memory.as_ref(),
            core: parsed.core.as_ref(),
        },
    )?;
    let lines = parsed.walk_lines.as_ref().filter(|_| caches.is_some());
    if let Some(lines) = lines {
        let message = "the caches give the size and the cycles of the lines that walks read: leave \
                       [walk-lines] out";
        return Err((lines.place(), message.to_string()));
    }
    Ok(caches)
}

/// The page table that a description names, with its parameters in brackets, or the default.
fn page_table(name: Option<&Spanned<String>>) -> Result<PageTableChoice, (usize, String)> {
    let Some(text) = name else {
        return Ok(PageTableChoice::from(PageTableKind::x86_64()));
    };
    let at = text.span().start;
    match PageTableChoice::parse(text.get_ref()) {
        Ok(Some(choice)) => Ok(choice),
        Ok(None) => Err(no_part(text, "page table")),
        Err(error) => Err((at, error.to_string())),
    }
}

/// The synonym table that a description names.
fn synonyms(name: &Spanned<String>) -> Result<&'static SynonymKind, (usize, String)> {
    SynonymKind::named(name.get_ref()).ok_or_else(|| no_part(name, "synonym table"))
}

/// The names of sizes, with commas.
fn short_names(sizes: &[PageSize]) -> String {
    let names: Vec<String> = sizes
        .iter()
        .map(|size| size.short_name().to_string())
        .collect();
    names.join(", ")
}

/// The part of a machine that a description names, or the default.
///
/// # Errors
/// The name's place in the text, and the names that there are.
pub(crate) fn part<T>(
    name: Option<&Spanned<String>>,
    default: &'static T,
    named: fn(&str) -> Option<&'static T>,
    kind: &str,
) -> Result<&'static T, (usize, String)> {
    let Some(name) = name else {
        return Ok(default);
    };
    named(name.get_ref()).ok_or_else(|| no_part(name, kind))
}

/// The refusal of a name that no part of this kind has: its place, and the names that there are.
fn no_part(name: &Spanned<String>, kind: &str) -> (usize, String) {
    let known = parts().into_iter().filter(|(of, _)| *of == kind);
    let known: Vec<&str> = known
        .flat_map(|(_, entries)| entries)
        .map(|entry| entry.name)
        .collect();
    let near = did_you_mean(name.get_ref(), known.iter().copied());
    let message = format!(
        "no {kind} is called {:?}{near} (there are {})",
        name.get_ref(),
        known.join(", ")
    );
    (name.span().start, message)
}

/// The number of the first table whose name an earlier one has, and a sentence.
pub(crate) fn name_given_twice<'n>(
    what: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<(usize, String)> {
    let mut earlier = BTreeSet::new();
    let mut names = names.enumerate();
    let (number, name) = names.find(|(_, name)| !earlier.insert(*name))?;
    let message = format!(
        "two {what} are called {name:?}, and results could not tell them apart: rename one"
    );
    Some((number, message))
}
