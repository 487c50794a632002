//! Grids: many TLBs of one level, described on one line.
//!
//! The grid `superpage:entries=32..512,sizes=4k+64k` describes five machines, with 32, 64, 128, 256
//! and 512 entries. A key has one value, several values separated by `|`, or a range. The range
//! `a..b` has the powers of two from `a` to `b`, and `a..b:step` has every `step`th number.

use crate::Machine;
use broadleaf_units::PageSize;

/// The kinds of TLBs that a grid can have: the name, and the organisation.
const KINDS: [(&str, &str); 4] = [
    ("single", "set-associative"),
    ("superpage", "set-associative"),
    ("complete-subblock", "complete-subblock"),
    ("partial-subblock", "partial-subblock"),
];

/// The keys of a grid's own. Other keys are those of a `[[tlb]]` table.
const OWN_KEYS: [&str; 6] = ["entries", "ways", "sizes", "index", "miss", "replacement"];

/// The most machines of one grid.
const MOST_MACHINES: usize = 4096;

/// The cycles of a walk if a grid names none (Talluri 1995, section 2.3).
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
type Chosen<'t> = Vec<(&'t str, String)>;

/// Returns true if a name of a machine is meant as a grid.
pub fn is_grid(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(kind, _)| KINDS.iter().any(|(known, _)| *known == kind))
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
    let mut all: Vec<Chosen<'_>> = vec![Vec::new()];
    for pair in keys.split(',').filter(|pair| !pair.is_empty()) {
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
    let machine = |chosen: &Chosen<'_>| {
        let pairs: Vec<String> = chosen
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let name = format!("{kind}:{}", pairs.join(","));
        let described = describe(kind, &name, chosen).map_err(&wrong)?;
        Machine::from_toml(&described).map_err(|error| wrong(format!("{name}: {}", error.message)))
    };
    all.iter().map(machine).collect()
}

/// The values that a text lists.
fn values_of(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for part in text.split('|') {
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
fn describe(kind: &str, name: &str, chosen: &Chosen<'_>) -> Result<String, String> {
    let organisation = KINDS.iter().find(|(known, _)| *known == kind);
    let organisation = organisation.map_or("", |(_, organisation)| *organisation);
    let given = |key: &str| {
        let mut found = chosen.iter().filter(|(known, _)| *known == key);
        found.next().map(|(_, value)| value.as_str())
    };
    let sizes = sizes(given("sizes").unwrap_or("4k"))?;
    if kind == "single" && sizes.len() > 1 {
        return Err("a single-page-size TLB has one size".to_owned());
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
    let block = match given("block") {
        Some(text) => PageSize::from_short_name(text)
            .ok_or_else(|| format!("{text:?} is not a power of two such as 64k"))
            .map(Some)?,
        None => None,
    };
    let by = given("index").unwrap_or("exact");
    let index = sizes.iter().map(|size| {
        let lowest = lowest_bit(by, *size, &sizes, block)?;
        let text = index(lowest, count, ways)?;
        Ok(format!("{} = \"{text}\"", size.short_name()))
    });
    let index: Result<Vec<String>, String> = index.collect();
    let miss = given("miss").unwrap_or(MISS_CYCLES);
    let cycles = sizes
        .iter()
        .map(|size| format!("{} = {miss}", size.short_name()));
    let cycles: Vec<String> = cycles.collect();
    let mut text = format!(
        "name = {name:?}\nsummary = \"{kind} TLB of a grid\"\n[[tlb]]\nname = \"tlb\"\nlevel = 1\n\
         entries = {count}\nways = {ways}\norganisation = \"{organisation}\"\n\
         replacement = {:?}\nindex = {{ {} }}\n",
        given("replacement").unwrap_or("gods"),
        index?.join(", "),
    );
    if by == "base" && sizes.len() > 1 {
        text += "replicate = true\n";
    }
    for (key, value) in chosen.iter().filter(|(key, _)| !OWN_KEYS.contains(key)) {
        let is_plain = value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok();
        match is_plain {
            true => text += &format!("{key} = {value}\n"),
            false => text += &format!("{key} = {value:?}\n"),
        }
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

/// The lowest address bit of the index for pages of a size.
fn lowest_bit(
    by: &str,
    size: PageSize,
    sizes: &[PageSize],
    block: Option<PageSize>,
) -> Result<u8, String> {
    let (least, most) = (sizes[0], sizes[sizes.len() - 1]);
    match (block, by) {
        (Some(block), _) => Ok(block.shift()),
        (None, "exact") => Ok(size.shift()),
        (None, "base") => Ok(least.shift()),
        (None, "superpage") => Ok(most.shift()),
        (None, other) => Err(format!(
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
mod tests {
    use super::*;

    fn names(grid: &str) -> Vec<String> {
        let machines = machines_of_grid(grid).expect("a grid");
        machines.into_iter().map(|machine| machine.name).collect()
    }

    #[test]
    fn a_grid_has_a_machine_for_each_combination() {
        assert_eq!(
            names("superpage:entries=32..128,sizes=4k+64k|4k+16k"),
            [
                "superpage:entries=32,sizes=4k+64k",
                "superpage:entries=32,sizes=4k+16k",
                "superpage:entries=64,sizes=4k+64k",
                "superpage:entries=64,sizes=4k+16k",
                "superpage:entries=128,sizes=4k+64k",
                "superpage:entries=128,sizes=4k+16k",
            ]
        );
        assert_eq!(names("single:entries=60..64:2").len(), 3);
        assert!(is_grid("single:entries=60..64:2") && !is_grid("skylake") && !is_grid("a:b"));
    }

    #[test]
    fn the_name_of_a_machine_is_its_grid() {
        let grid = "partial-subblock:entries=57,block=64k,sizes=4k+64k,preload=true";
        let machines = machines_of_grid(grid).expect("a grid");
        assert_eq!(machines[0].name, grid);
        let again = machines_of_grid(&machines[0].name).expect("a grid");
        assert_eq!(again, machines);
        let structure = &machines[0].design.structures()[0];
        assert_eq!((structure.entries, structure.ways), (57, 57));
        assert!(structure.organisation.flag("preload"));
    }

    #[test]
    fn indices_are_those_of_the_thesis() {
        let index = |grid: &str, size| {
            let machines = machines_of_grid(grid).expect("a grid");
            let structure = &machines[0].design.structures()[0];
            structure.index(size).expect("an index").to_string()
        };
        let large = PageSize::from_short_name("32k").expect("a size");
        // Talluri 1995, section 3.2: eight sets, pages of 32 KiB.
        let of = |by: &str| format!("superpage:entries=8,ways=1,sizes=4k+32k,index={by}");
        assert_eq!(index(&of("base"), PageSize::SIZE_4K), "va[14:12]");
        assert_eq!(index(&of("base"), large), "va[14:12]");
        assert_eq!(index(&of("superpage"), PageSize::SIZE_4K), "va[17:15]");
        assert_eq!(index(&of("exact"), PageSize::SIZE_4K), "va[14:12]");
        assert_eq!(index(&of("exact"), large), "va[17:15]");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (grid, words) in [
            ("single:entries", "not a key with a value"),
            ("single:ways=4", "a grid needs entries=N"),
            ("single:entries=64,entries=32", "given twice"),
            ("single:entries=64..32", "is empty"),
            ("single:entries=33..64", "means powers of two"),
            ("single:entries=1..9:0", "never ends"),
            ("single:entries=1..99999:1", "more than 4096"),
            ("single:entries=1..99:1,miss=1..99:1", "at most 4096"),
            ("single:entries=64,sizes=4k+64k", "has one size"),
            ("single:entries=64,ways=5", "no power of two of sets"),
            ("superpage:entries=64,sizes=4q", "not a page size"),
            ("superpage:entries=64,colour=red", "colour"),
            ("partial-subblock:entries=64,sizes=4k", "size of its block"),
            ("partial-subblock:entries=64,block=128k", "32 subblocks"),
            ("partial-subblock:entries=64,block=60k", "power of two"),
        ] {
            let error = machines_of_grid(grid).expect_err(grid).to_string();
            assert!(error.starts_with(grid) && error.contains(words), "{error}");
        }
    }
}
