//! Grids: many TLBs of one level, described on one line.
//!
//! The grid `superpage:entries=32..512,sizes=4k+64k` describes five machines, with 32, 64, 128, 256
//! and 512 entries. The kind is an organisation or another name of it in grids
//! ([`broadleaf_tlb::GridName`]). A key has one value, several values separated by `|`, or a range.
//! The range `a..b` has the powers of two from `a` to `b`, and `a..b:step` has every `step`th
//! number.

use crate::Machine;
use crate::parameters::names;
use crate::walk_caches::written_walk_caches;
use broadleaf_tlb::{GridName, ORGANISATIONS, Organisation, OrganisationChoice, Replacement};
use broadleaf_units::{PageSize, did_you_mean, split_outside_brackets};
use toml::Value;

/// The keys of a grid's own. Other keys are those of a `[[tlb]]` table.
const OWN_KEYS: [&str; 10] = [
    "entries",
    "ways",
    "sizes",
    "index",
    "miss",
    "replacement",
    "table",
    "synonyms",
    "line",
    WALK_CACHES,
];

/// The key of walk caches.
const WALK_CACHES: &str = "walk-caches";

/// The keys of a `[[tlb]]` table that a grid can have too. The others are set by the grid itself,
/// need other structures, or are tables.
const TABLE_KEYS: [&str; 2] = ["probes", "wired"];

/// The parameter of an organisation whose index may use bits inside a page.
const REPLICATE: &str = "replicate";

/// The most machines of one grid.
const MOST_MACHINES: usize = 4096;

/// The cycles of a walk if a grid names none (Talluri 1995, section 2.5).
const MISS_CYCLES: &str = "40";

/// The reason why a text is no grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{grid}: {reason}")]
pub struct GridError {
    /// The text.
    pub grid: String,
    /// The reason, in a sentence.
    pub reason: String,
}

/// One value for each key, in the order of the text.
type GridValues<'t> = Vec<(&'t str, String)>;

/// Returns true if a name of a machine is meant as a grid.
pub fn is_grid(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(kind, _)| grid_kind(kind).is_some())
}

/// The kinds of TLBs that a grid can have: each organisation under its own name, and the other
/// names of organisations.
pub fn grid_kinds() -> impl Iterator<Item = (GridName, &'static Organisation)> {
    ORGANISATIONS.iter().copied().flat_map(|organisation| {
        let own = GridName {
            name: organisation.described.name,
            one_size: false,
        };
        let names = [own].into_iter().chain(organisation.grids.iter().copied());
        names.map(move |name| (name, organisation))
    })
}

fn grid_kind(name: &str) -> Option<(GridName, &'static Organisation)> {
    grid_kinds().find(|(kind, _)| kind.name == name)
}

/// The machines of a grid, in the order of its values; the last key changes first. The name of each
/// machine is a grid with one value for each key, so [`machines_of_grid`] reads the name too.
///
/// # Errors
/// Returns an error if a key or a value is unknown, the grid has too many machines, or a machine is
/// one that no TLB can have.
pub fn machines_of_grid(text: &str) -> Result<Vec<Machine>, GridError> {
    let wrong = |reason: String| GridError {
        grid: text.to_owned(),
        reason,
    };
    let (kind, keys) = text.split_once(':').unwrap_or((text, ""));
    let mut all: Vec<GridValues<'_>> = vec![Vec::new()];
    for pair in split_outside_brackets(keys, ',').filter(|pair| !pair.is_empty()) {
        let (key, values) = pair
            .split_once('=')
            .ok_or_else(|| wrong(format!("{pair:?} is not a key with a value: key=value")))?;
        if all[0].iter().any(|(known, _)| *known == key) {
            return Err(wrong(format!("{key} is given twice")));
        }
        let values = values_of(values).map_err(|reason| wrong(format!("{key}: {reason}")))?;
        if all.len() * values.len() > MOST_MACHINES {
            return Err(wrong(format!(
                "a grid has at most {MOST_MACHINES} machines"
            )));
        }
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for chosen in &all {
            for value in &values {
                let with = chosen.iter().cloned().chain([(key, value.clone())]);
                longer.push(with.collect());
            }
        }
        all = longer;
    }
    let machine = |chosen: &GridValues<'_>| {
        let pairs: Vec<String> = chosen
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let name = format!("{kind}:{}", pairs.join(","));
        let described = describe(kind, chosen).map_err(&wrong)?;
        let machine = Machine::from_toml(&described);
        let machine = machine.map_err(|error| match name == text {
            true => wrong(error.message),
            false => wrong(format!("{name}: {}", error.message)),
        })?;
        Ok(Machine { name, ..machine })
    };
    all.iter().map(machine).collect()
}

/// The values that a text lists.
fn values_of(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for part in split_outside_brackets(text, '|') {
        match part.split_once("..") {
            Some((from, to)) => values.extend(range(from, to)?.iter().map(u64::to_string)),
            None if part.is_empty() => return Err("a value is missing".to_owned()),
            None => values.push(part.to_owned()),
        }
        if values.len() > MOST_MACHINES {
            return Err(format!("more than {MOST_MACHINES} values"));
        }
    }
    Ok(values)
}

/// The numbers of a range: powers of two, or with a step.
fn range(from: &str, to: &str) -> Result<Vec<u64>, String> {
    let number = |text: &str| {
        let number: Option<u64> = text.parse().ok();
        number.ok_or_else(|| format!("{text:?} is not a whole number"))
    };
    let (to, step) = match to.split_once(':') {
        Some((to, step)) => (to, Some(number(step)?)),
        None => (to, None),
    };
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(format!("{from}..{to} is empty"));
    }
    match step {
        Some(0) => Err("a step of 0 never ends".to_owned()),
        Some(step) => Ok((from..=to)
            .step_by(step as usize)
            .take(MOST_MACHINES + 1)
            .collect()),
        None if from.is_power_of_two() && to.is_power_of_two() => {
            Ok((from.ilog2()..=to.ilog2()).map(|bit| 1 << bit).collect())
        }
        None => Err(format!(
            "{from}..{to} means powers of two, and one end is none; write {from}..{to}:1 for each \
             number"
        )),
    }
}

/// The description of one machine.
fn describe(kind: &str, chosen: &GridValues<'_>) -> Result<String, String> {
    let (name, organisation) =
        grid_kind(kind).ok_or_else(|| format!("no TLB of a grid is called {kind:?}"))?;
    refuse_unknown(chosen, organisation)?;
    let given = |key: &str| {
        let mut found = chosen.iter().filter(|(known, _)| *known == key);
        found.next().map(|(_, value)| value.as_str())
    };
    let sizes = sizes(given("sizes").unwrap_or("4k"))?;
    if name.one_size && sizes.len() > 1 {
        return Err(format!("a TLB of the kind {kind} has one size"));
    }
    let entries = given("entries").ok_or("a grid needs entries=N")?;
    let count: u64 = entries
        .parse()
        .map_err(|_| format!("{entries:?} is not a number of entries"))?;
    let ways = match given("ways") {
        None | Some("full") => count,
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text:?} is not a number of ways"))?,
    };
    let parameters = organisation.parameters.iter();
    let mut choice = OrganisationChoice::from(organisation);
    for (parameter, text) in parameters.filter_map(|one| Some((one, given(one.name)?))) {
        choice
            .set(parameter.name, text)
            .map_err(|error| error.to_string())?;
    }
    if organisation.block_of.is_some()
        && let Some(index) = given("index")
    {
        return Err(format!(
            "index={index}: a {kind} TLB has no choice of the index: the bits above its block \
             choose the set"
        ));
    }
    let by = given("index").unwrap_or("exact");
    let index = sizes.iter().map(|size| {
        let lowest = match organisation.block_of {
            // A structure without blocks is refused by its organisation.
            Some(block_of) => {
                block_of(&choice, *size, sizes[0]).map_or(size.shift(), PageSize::shift)
            }
            None => lowest_bit(by, *size, &sizes)?,
        };
        let text = index(lowest, count, ways)?;
        Ok(format!("{} = \"{text}\"", size.short_name()))
    });
    let index: Result<Vec<String>, String> = index.collect();
    let miss = given("miss").unwrap_or(MISS_CYCLES);
    let miss: u64 = miss
        .parse()
        .map_err(|_| format!("miss: {miss:?} is not a number of cycles"))?;
    let cycles = sizes
        .iter()
        .map(|size| format!("{} = {miss}", size.short_name()));
    let cycles: Vec<String> = cycles.collect();
    let table = match given("table") {
        Some(table) => format!("page-table = {}\n", toml_value(table)),
        None => String::new(),
    };
    let table = match given("synonyms") {
        Some(synonyms) => table + &format!("synonyms = {}\n", toml_value(synonyms)),
        None => table,
    };
    let mut text = format!(
        "name = \"grid\"\nsummary = \"{kind} TLB of a grid\"\n{table}[[tlb]]\nname = \"tlb\"\n\
         level = 1\n\
         entries = {count}\nways = {ways}\norganisation = \"{}\"\n\
         replacement = {}\nindex = {{ {} }}\n",
        organisation.described.name,
        toml_value(given("replacement").unwrap_or("gods")),
        index?.join(", "),
    );
    let can_replicate = organisation
        .parameters
        .iter()
        .any(|one| one.name == REPLICATE);
    if by == "base" && sizes.len() > 1 && can_replicate && given(REPLICATE).is_none() {
        text += &format!("{REPLICATE} = true\n");
    }
    for (key, value) in chosen.iter().filter(|(key, _)| !OWN_KEYS.contains(key)) {
        text += &format!("{key} = {}\n", toml_value(value));
    }
    if let Some(line) = given("line") {
        text += &format!("[walk-lines]\nbytes = {}\n", toml_value(line));
    }
    if let Some(caches) = given(WALK_CACHES) {
        let caches = written_walk_caches(caches);
        text += &caches.map_err(|reason| format!("{WALK_CACHES}: {reason}"))?;
    }
    Ok(text + &format!("[walk-cycles]\n{}\n", cycles.join("\n")))
}

/// The page sizes of `4k+64k`, smallest first.
fn sizes(text: &str) -> Result<Vec<PageSize>, String> {
    let size = |name: &str| {
        let size = PageSize::from_short_name(name).filter(|size| *size >= PageSize::SIZE_4K);
        size.ok_or_else(|| format!("{name:?} is not a page size of 4k or more; write 4k+64k"))
    };
    let sizes: Result<Vec<PageSize>, String> = text.split('+').map(size).collect();
    let mut sizes = sizes?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// Refuses a key that no grid has. A parameter of another organisation or rule is refused later,
/// with a better reason.
fn refuse_unknown(
    chosen: &GridValues<'_>,
    organisation: &'static Organisation,
) -> Result<(), String> {
    let every = names::<Organisation>(None)
        .into_iter()
        .chain(names::<Replacement>(None));
    let mut known: Vec<&str> = OWN_KEYS.into_iter().chain(TABLE_KEYS).collect();
    let is_known = |key: &str| known.contains(&key) || every.clone().any(|name| name == key);
    let Some((key, _)) = chosen.iter().find(|(key, _)| !is_known(key)) else {
        return Ok(());
    };
    known.extend(names(Some(organisation)));
    let near = did_you_mean(key, known.iter().copied());
    Err(format!(
        "a grid has no key {key:?}{near} (there are {})",
        known.join(", ")
    ))
}

/// A value as a number, a truth value or a string of TOML.
fn toml_value(text: &str) -> Value {
    let number = text.parse().ok().map(Value::Integer);
    let value = number.or_else(|| text.parse().ok().map(Value::Boolean));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The lowest address bit of the index for pages of a size.
fn lowest_bit(by: &str, size: PageSize, sizes: &[PageSize]) -> Result<u8, String> {
    let (least, most) = (sizes[0], sizes[sizes.len() - 1]);
    match by {
        "exact" => Ok(size.shift()),
        "base" => Ok(least.shift()),
        "superpage" => Ok(most.shift()),
        other => Err(format!(
            "no index is called {other:?}: base, superpage, exact"
        )),
    }
}

/// The index function whose lowest bit is that.
fn index(lowest: u8, entries: u64, ways: u64) -> Result<String, String> {
    let sets = entries.checked_div(ways).unwrap_or(0);
    if ways == 0 || sets * ways != entries || !sets.is_power_of_two() {
        return Err(format!(
            "{entries} entries in {ways} ways are no power of two of sets"
        ));
    }
    Ok(match sets {
        1 => "none".to_owned(),
        2 => format!("va[{lowest}]"),
        _ => format!("va[{}:{lowest}]", u32::from(lowest) + sets.ilog2() - 1),
    })
}

#[cfg(test)]
mod tests;
