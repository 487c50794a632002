//! The explanation of a machine: its structures, its costs of walks, its area and its source.

use broadleaf_machine::{Machine, is_grid, machine_names};
use broadleaf_report::number::size as byte_size;
use broadleaf_tlb::{Fills, Organisation, Replacement, Structure};
use broadleaf_units::PageSize;

use super::areas::prices_of_structures;
use super::explain::Explanation;
use super::support::of_design;
use crate::failure::Failure;
use crate::machines::{fits, is_file, is_pattern, machines};

/// Explains a machine.
pub(super) fn of_machine(machine: &Machine) -> Explanation {
    let structures = machine.design.structures();
    let mut facts: Vec<_> = structures.iter().map(of_structure).collect();
    let costs = machine.costs.iter();
    let costs = costs.map(|(size, cycles)| {
        let size = size.short_name();
        format!("{cycles} cycles where it finds a {size} page")
    });
    facts.push(("walk", costs.collect::<Vec<String>>().join(", ")));
    facts.extend(machine.fractured.iter().map(of_fractured));
    facts.extend(of_loads(machine));
    facts.extend(prices_of_structures(structures));
    if !machine.source.is_empty() {
        facts.push(("source", machine.source.clone()));
    }
    let explanation = machine.explanation.trim().replace('\n', " ");
    let is_there = !explanation.is_empty();
    Explanation {
        heading: machine.name.clone(),
        kind: "machine",
        summary: machine.summary.clone(),
        paragraphs: is_there.then_some(explanation).into_iter().collect(),
        facts,
        support: Some(of_design(&machine.design)),
    }
}

/// Returns true if a text means machines by a file, a pattern or a grid.
pub(super) fn is_machine_text(name: &str) -> bool {
    is_file(name) || is_pattern(name) || is_grid(name)
}

/// The machines of a grid or a pattern that are named one by one.
const NAMED: usize = 12;

/// Explains the machines of a file, a pattern or a grid. Returns `None` if no machine fits a
/// pattern.
///
/// # Errors
/// Those of [`machines`].
pub(super) fn of_machines(text: &str) -> Result<Option<Explanation>, Failure> {
    if is_pattern(text) && !machine_names().any(|name| fits(text, name)) {
        return Ok(None);
    }
    let all = machines(&[text.to_owned()])?;
    if let [machine] = all.as_slice() {
        return Ok(Some(of_machine(machine)));
    }
    let named = all.iter().take(NAMED);
    let mut facts: Vec<_> = named
        .map(|machine| ("machine", machine.name.clone()))
        .collect();
    if let Some(others) = all.len().checked_sub(NAMED).filter(|others| *others > 0) {
        facts.push(("machine", format!("and {others} others")));
    }
    Ok(Some(Explanation {
        heading: text.to_owned(),
        kind: "machines",
        summary: format!("{} machines, which can be compared", all.len()),
        paragraphs: Vec::new(),
        facts,
        support: None,
    }))
}

/// The size of the pieces in which pages of a fractured size enter the TLBs.
fn of_fractured(size: &PageSize) -> (&'static str, String) {
    let size = size.short_name();
    let text = format!("{size} pages enter the TLBs in pieces of 4k, since the host maps 4k pages");
    ("fractured", text)
}

/// The loads that were timed, if the description has any.
fn of_loads(machine: &Machine) -> Option<(&'static str, String)> {
    let each = machine.loads.spans().map(|(page, first, last)| {
        let (first, last) = (byte_size(first), byte_size(last));
        format!("{first} to {last} of {} pages", page.short_name())
    });
    let each: Vec<String> = each.collect();
    let text = format!("timed over {}, for estimates of run times", each.join(", "));
    (!each.is_empty()).then_some(("loads", text))
}

/// The level of a structure, and its entries, organisation, sets, rule, pages and filling.
fn of_structure(structure: &Structure) -> (&'static str, String) {
    let is_one_set = structure.sets() == 1;
    let shape = match is_one_set {
        true => "fully associative".to_owned(),
        false => format!("in {} sets of {} ways", structure.sets(), structure.ways),
    };
    let rule = match Replacement::is_lru(&structure.replacement) {
        true => "exact LRU".to_owned(),
        false => structure.replacement.to_string(),
    };
    let organisation = match Organisation::is_plain_sets(&structure.organisation) {
        true => String::new(),
        false => format!("{}, ", structure.organisation),
    };
    let filled = match structure.role.fills {
        Fills::Walks => "",
        Fills::Victims => ", filled by victims",
        Fills::Prefetches => ", filled by prefetches",
    };
    let level = match structure.level {
        1 => "level 1",
        2 => "level 2",
        _ => "level 3",
    };
    let (name, entries) = (&structure.name, structure.entries);
    let pages = pages(structure, is_one_set);
    let text =
        format!("{name}: {entries} entries, {organisation}{shape}, {rule}, for {pages}{filled}");
    (level, text)
}

/// The pages that a structure holds, with the set of each where there are several.
fn pages(structure: &Structure, is_one_set: bool) -> String {
    let sizes = structure.pages.iter();
    if is_one_set {
        let names = sizes.map(|(size, _)| PageSize::short_name(*size).to_string());
        return format!("pages of {}", names.collect::<Vec<String>>().join(", "));
    }
    let names = sizes.map(|(size, index)| {
        let size = size.short_name();
        format!("{size} pages, whose set is {index}")
    });
    names.collect::<Vec<String>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A probe of a guest may write both keys. A machine without them has neither fact.
    #[test]
    fn fractured_pages_and_loads_are_facts() {
        let load = |span, dependent| {
            format!(
                "[[load-cycles]]\nspan = \"{span}\"\npage = \"4k\"\ndependent = {dependent}\n\
                 independent = 1.0\n"
            )
        };
        let text = format!(
            "name = \"guest\"\nsummary = \"\"\nfractured = [\"2m\"]\n[[tlb]]\nname = \"tlb\"\n\
             level = 1\nentries = 4\nways = 4\nreplacement = \"lru\"\nindex = {{ 4k = \"none\" }}\n\
             [walk-cycles]\n4k = 30\n2m = 20\n{}{}",
            load("16K", 5.0),
            load("1G", 300.0)
        );
        let machine = Machine::from_toml(&text).expect("a machine");
        let facts = of_machine(&machine).facts;
        let of = |name| {
            let mut found = facts.iter().filter(|fact| fact.0 == name);
            found.next().map(|fact| fact.1.as_str())
        };
        let pieces = "2m pages enter the TLBs in pieces of 4k, since the host maps 4k pages";
        assert_eq!(of("fractured"), Some(pieces));
        let loads = "timed over 16.0 KiB to 1.00 GiB of 4k pages, for estimates of run times";
        assert_eq!(of("loads"), Some(loads));
    }
}
