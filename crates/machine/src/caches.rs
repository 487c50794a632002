//! The caches, the main memory and the cores of a machine, read from its description.

use crate::description::name_given_twice;
use crate::parameters::{Keys, chosen};
use broadleaf_cache::{
    CacheField, CacheKind, CacheSpec, HierarchySpec, LineReplacement, MainMemorySpec, StreamSpec,
};
use broadleaf_pipeline::{CoreUnit, UNITS};
use broadleaf_units::{did_you_mean, size};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// The caches of a machine, and the cores that use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCaches {
    /// The hierarchy, with the number of cores.
    pub hierarchy: HierarchySpec,
    /// Each core.
    pub core: CoreSpec,
}

/// An out-of-order core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreSpec {
    /// The instructions that begin and retire in one cycle at most.
    pub width: u64,
    /// The instructions between the oldest that is not retired and the youngest that has begun, at
    /// most: the entries of the reorder buffer.
    pub window: u64,
    /// The page walks that run at a time, at most.
    pub walkers: usize,
    /// The cycles that a TLB shootdown of other cores takes the core that sends it.
    pub shootdown_sent: u64,
    /// The cycles that a TLB shootdown takes each core that receives it.
    pub shootdown_received: u64,
    /// The cycles from the operation of a mispredicted branch to the next instruction. `None` if
    /// the core follows neither dependences nor branches.
    pub mispredicted_branch: Option<u64>,
    /// The units of each kind, for a core that follows dependences; `None` if there are always
    /// enough.
    pub units: [Option<u8>; UNITS],
}

/// The most cycles of a shootdown.
const MOST_SHOOTDOWN: u64 = 1_000_000;
/// The most units of a kind.
const MOST_UNITS: u8 = 64;
/// The most cycles of a mispredicted branch.
const MOST_REDIRECTION: u64 = 1000;
/// The most instructions of one cycle.
const MOST_WIDTH: u64 = 64;
/// The most instructions of a window.
const MOST_WINDOW: u64 = 1 << 16;
/// The most page walks at a time.
const MOST_WALKERS: usize = 64;

/// A `[[cache]]` table, without the parameters of its replacement rule.
#[derive(Deserialize)]
pub(crate) struct CacheText {
    name: String,
    level: Spanned<usize>,
    serves: Option<Spanned<ServesText>>,
    size: Spanned<String>,
    ways: Spanned<usize>,
    line: Spanned<u64>,
    latency: Spanned<u64>,
    replacement: Spanned<String>,
    #[serde(rename = "prefetch-streams")]
    prefetch_streams: Option<Spanned<usize>>,
    #[serde(rename = "prefetch-distance")]
    prefetch_distance: Option<Spanned<u64>>,
    #[serde(rename = "prefetch-step")]
    prefetch_step: Option<Spanned<u64>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ServesText {
    Data,
    Instructions,
}

/// The `[main-memory]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MainMemoryText {
    latency: Spanned<u64>,
    banks: Option<Spanned<usize>>,
    #[serde(rename = "bank-cycles")]
    bank_cycles: Option<Spanned<u64>>,
}

/// The `[core]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoreText {
    count: Option<Spanned<usize>>,
    width: Spanned<u64>,
    window: Spanned<u64>,
    walkers: Spanned<usize>,
    #[serde(rename = "walks-from-level")]
    walks_from_level: Option<Spanned<usize>>,
    #[serde(rename = "shootdown-sent")]
    shootdown_sent: Option<Spanned<u64>>,
    #[serde(rename = "shootdown-received")]
    shootdown_received: Option<Spanned<u64>>,
    #[serde(rename = "mispredicted-branch")]
    mispredicted_branch: Option<Spanned<u64>>,
    units: Option<Spanned<BTreeMap<String, Spanned<u8>>>>,
}

/// The parts of a description that are about caches.
pub(crate) struct CachesText<'t> {
    pub(crate) kind: Option<&'t Spanned<String>>,
    pub(crate) caches: &'t [Spanned<CacheText>],
    /// The keys of each `[[cache]]` table, which hold the parameters of its rule.
    pub(crate) keys: &'t [Keys],
    pub(crate) memory: Option<&'t Spanned<MainMemoryText>>,
    pub(crate) core: Option<&'t Spanned<CoreText>>,
}

/// A place in the text, and a sentence.
type Wrong = (usize, String);

/// The caches that a description names. `None` if it names none.
///
/// # Errors
/// The place in the text, and the reason.
pub(crate) fn machine_caches(
    kind: &'static CacheKind,
    text: &CachesText<'_>,
) -> Result<Option<MachineCaches>, Wrong> {
    if text.caches.is_empty() {
        return refuse_parts_of_caches(kind, text).map(|()| None);
    }
    let first = text.caches[0].span().start;
    let Some(kind_text) = text.kind else {
        let message = "the machine has [[cache]] tables and no key caches: write \
                       caches = \"inclusive\", \"non-inclusive\" or \"exclusive\"";
        return Err((first, message.to_string()));
    };
    let (Some(memory), Some(core)) = (text.memory, text.core) else {
        let missing = match text.memory {
            None => "[main-memory]",
            Some(_) => "[core]",
        };
        return Err((
            first,
            format!("a machine with caches needs a table {missing}"),
        ));
    };
    let mut caches = Vec::new();
    for (number, cache) in text.caches.iter().enumerate() {
        caches.push(cache_spec(cache.get_ref(), text.keys.get(number))?);
    }
    let line = *text.caches[0].get_ref().line.get_ref();
    for cache in text.caches {
        let other = &cache.get_ref().line;
        if *other.get_ref() != line {
            let message = format!("all caches have lines of one size, and the first has {line}");
            return Err((other.span().start, message));
        }
    }
    let banks = memory.get_ref().banks.as_ref();
    let bank_cycles = memory.get_ref().bank_cycles.as_ref();
    let at = |banks: Option<usize>, cycles: Option<u64>| match (banks, cycles) {
        (Some(0), _) => Some("leave banks out for any number of accesses at a time"),
        (Some(_), None) => Some("with banks, bank-cycles says how long an access keeps its bank"),
        _ => None,
    };
    let given = (
        banks.map(|one| *one.get_ref()),
        bank_cycles.map(|one| *one.get_ref()),
    );
    if let Some(message) = at(given.0, given.1) {
        let at = banks.map_or(memory.span().start, |banks| banks.span().start);
        return Err((at, message.to_string()));
    }
    let memory_spec = MainMemorySpec {
        latency: *memory.get_ref().latency.get_ref(),
        banks: given.0.unwrap_or(0),
        bank_cycles: given.1.unwrap_or(0),
    };
    let cores = core
        .get_ref()
        .count
        .as_ref()
        .map_or(1, |count| *count.get_ref());
    let walks = core.get_ref().walks_from_level.as_ref();
    let walk_level = walks.map_or(1, |level| *level.get_ref());
    let core_spec = core_spec(core.get_ref())?;
    let hierarchy = HierarchySpec::new(kind, cores, caches, line, walk_level, memory_spec);
    let hierarchy = hierarchy.map_err(|error| {
        let of = |number: usize| text.caches[number].get_ref();
        let of_core = core.get_ref();
        let at = match error.field {
            CacheField::Kind => kind_text.span().start,
            CacheField::Cores => place(of_core.count.as_ref(), core.span().start),
            CacheField::Walks => place(walks, core.span().start),
            CacheField::Line => text.caches[0].get_ref().line.span().start,
            CacheField::MemoryLatency => memory.get_ref().latency.span().start,
            CacheField::Banks => place(banks, memory.span().start),
            CacheField::BankCycles => place(bank_cycles, memory.span().start),
            CacheField::Cache(number) => text.caches[number].span().start,
            CacheField::Level(number) => of(number).level.span().start,
            CacheField::Serves(number) => {
                place(of(number).serves.as_ref(), text.caches[number].span().start)
            }
            CacheField::Bytes(number) => of(number).size.span().start,
            CacheField::Ways(number) => of(number).ways.span().start,
            CacheField::Latency(number) => of(number).latency.span().start,
            CacheField::Replacement(number) => of(number).replacement.span().start,
            CacheField::Prefetch(number) => place(
                of(number).prefetch_streams.as_ref(),
                text.caches[number].span().start,
            ),
        };
        (at, error.message)
    })?;
    let names = hierarchy.caches().iter().map(|cache| cache.name.as_str());
    if let Some((number, message)) = name_given_twice("caches", names) {
        return Err((text.caches[number].span().start, message));
    }
    Ok(Some(MachineCaches {
        hierarchy,
        core: core_spec,
    }))
}

/// The place of a value, or that of its table.
fn place<T>(value: Option<&Spanned<T>>, table: usize) -> usize {
    value.map_or(table, |value| value.span().start)
}

/// Refuses tables that have no effect without caches.
fn refuse_parts_of_caches(kind: &'static CacheKind, text: &CachesText<'_>) -> Result<(), Wrong> {
    let memory = text.memory.map(Spanned::span);
    let core = text.core.map(Spanned::span);
    for (span, name) in [(memory, "[main-memory]"), (core, "[core]")] {
        if let Some(span) = span {
            let message = format!("{name} has no effect without a [[cache]] table");
            return Err((span.start, message));
        }
    }
    match text.kind {
        Some(named) if kind.movement.is_some() => {
            let message = "the machine has no [[cache]] table: add one for each cache";
            Err((named.span().start, message.to_string()))
        }
        _ => Ok(()),
    }
}

fn cache_spec(text: &CacheText, keys: Option<&Keys>) -> Result<CacheSpec, Wrong> {
    let Some(bytes) = size(text.size.get_ref()) else {
        let message = "a size is a number of bytes such as \"128K\" or \"4M\"".to_string();
        return Err((text.size.span().start, message));
    };
    let rule = &text.replacement;
    let rule = LineReplacement::named(rule.get_ref()).ok_or_else(|| {
        let known = broadleaf_cache::LINE_REPLACEMENTS.iter();
        let known: Vec<&str> = known.map(|rule| rule.described.name).collect();
        let near = did_you_mean(rule.get_ref(), known.iter().copied());
        let message = format!(
            "no replacement of caches is called {:?}{near} (there are {})",
            rule.get_ref(),
            known.join(", ")
        );
        (rule.span().start, message)
    })?;
    let (streams, distance) = (&text.prefetch_streams, &text.prefetch_distance);
    let prefetch = match (streams, distance, &text.prefetch_step) {
        (None, None, None) => None,
        (Some(streams), Some(distance), step) => Some(StreamSpec {
            streams: *streams.get_ref(),
            distance: *distance.get_ref(),
            step: *step.as_ref().unwrap_or(distance).get_ref(),
        }),
        (streams, distance, step) => {
            let at = streams.as_ref().map(Spanned::span);
            let other = distance.as_ref().or(step.as_ref()).map(Spanned::span);
            let message = "a cache that prefetches has both prefetch-streams and prefetch-distance";
            return Err((
                at.or(other).map_or(0, |span| span.start),
                message.to_string(),
            ));
        }
    };
    Ok(CacheSpec {
        prefetch,
        name: text.name.clone(),
        level: *text.level.get_ref(),
        instructions: (text.serves.as_ref())
            .map(|serves| *serves.get_ref() == ServesText::Instructions),
        bytes,
        ways: *text.ways.get_ref(),
        latency: *text.latency.get_ref(),
        replacement: chosen(rule, keys)?,
    })
}

fn core_spec(text: &CoreText) -> Result<CoreSpec, Wrong> {
    let range = |value: &Spanned<u64>, most: u64, what: &str| match *value.get_ref() {
        number if (1..=most).contains(&number) => Ok(number),
        _ => Err((value.span().start, format!("{what} 1 to {most}"))),
    };
    let walkers = *text.walkers.get_ref();
    if !(1..=MOST_WALKERS).contains(&walkers) {
        let message = format!("the page walks at a time are 1 to {MOST_WALKERS}");
        return Err((text.walkers.span().start, message));
    }
    let cycles = |value: &Option<Spanned<u64>>| match value {
        Some(value) if *value.get_ref() > MOST_SHOOTDOWN => {
            let message = format!("the cycles of a shootdown are 0 to {MOST_SHOOTDOWN}");
            Err((value.span().start, message))
        }
        value => Ok(value.as_ref().map_or(0, |value| *value.get_ref())),
    };
    let mispredicted_branch = match &text.mispredicted_branch {
        Some(value) if !(1..=MOST_REDIRECTION).contains(value.get_ref()) => {
            let message =
                format!("the cycles of a mispredicted branch are 1 to {MOST_REDIRECTION}");
            return Err((value.span().start, message));
        }
        value => value.as_ref().map(|value| *value.get_ref()),
    };
    Ok(CoreSpec {
        shootdown_sent: cycles(&text.shootdown_sent)?,
        shootdown_received: cycles(&text.shootdown_received)?,
        width: range(&text.width, MOST_WIDTH, "the instructions of a cycle are")?,
        window: range(
            &text.window,
            MOST_WINDOW,
            "the instructions of a window are",
        )?,
        walkers,
        mispredicted_branch,
        units: units(text.units.as_ref(), mispredicted_branch.is_some())?,
    })
}

/// The units of a core, by kind.
fn units(
    text: Option<&Spanned<BTreeMap<String, Spanned<u8>>>>,
    follows: bool,
) -> Result<[Option<u8>; UNITS], Wrong> {
    let mut units = [None; UNITS];
    let Some(text) = text else {
        return Ok(units);
    };
    if !follows {
        let message = "units have no effect without mispredicted-branch: a core without this key \
                       follows no dependences";
        return Err((text.span().start, message.to_string()));
    }
    for (name, count) in text.get_ref() {
        let at = count.span().start;
        let Some(unit) = CoreUnit::ALL.into_iter().find(|unit| unit.name() == name) else {
            let known = CoreUnit::ALL.map(CoreUnit::name);
            let near = did_you_mean(name, known);
            let message = format!(
                "no unit is called {name:?}{near} (there are {})",
                known.join(", ")
            );
            return Err((at, message));
        };
        if !(1..=MOST_UNITS).contains(count.get_ref()) {
            return Err((at, format!("a core has 1 to {MOST_UNITS} units of a kind")));
        }
        units[unit as usize] = Some(*count.get_ref());
    }
    Ok(units)
}
