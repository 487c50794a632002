//! The analysis of whole machines through all levels, as on hardware. Each determined value is
//! right, and the rest is open.

use crate::catalogue::determined;
use broadleaf_machine::{machine, machine_names};
use broadleaf_probe::{Analysis, Inclusion, LevelFound, Modelled, analyse};
use broadleaf_tlb::{Design, Fills, ReferenceKind, Structure};
use broadleaf_units::PageSize;

/// The structures of a level that loads look up for pages of a size.
fn structures(design: &Design, level: usize, size: PageSize) -> Vec<&Structure> {
    let holds = |of: &&Structure| {
        of.level == level && of.index(size).is_some() && of.role.serves.has(ReferenceKind::Load)
    };
    design.structures().iter().filter(holds).collect()
}

/// Asserts that each determined value of a level is that of the machine file.
fn check(words: &str, found: &LevelFound, structures: &[&Structure], size: PageSize) {
    let sum = |of: fn(&Structure) -> usize| structures.iter().map(|one| of(one)).sum::<usize>();
    let (entries, ways) = (
        sum(|of| of.entries - of.wired),
        sum(|of| of.ways - of.wired_ways()),
    );
    if let Some(value) = found.entries.value {
        assert_eq!(value, entries, "{words}: {found:?}");
    }
    if let Some(value) = found.ways.value {
        assert_eq!(value, ways, "{words}: {found:?}");
    }
    if let Some(index) = &found.index.value {
        assert_eq!(Some(index), structures[0].index(size), "{words}: {found:?}");
    }
    if let Some(rules) = &found.rules.value {
        let own = structures[0].replacement.entry().described.name;
        assert!(rules.contains(&own), "{words}: {found:?}");
    }
}

fn examine(name: &str, size: PageSize) -> Option<Analysis> {
    let design = machine(name).expect("a machine").design;
    let mut modelled = Modelled::new(&design, size, ReferenceKind::Load)?;
    let found = analyse(&mut modelled, &mut || ());
    let words = format!("{name}, {}", size.short_name());
    let plain = |of: &&&Structure| of.role.fills == Fills::Walks;
    let (first, second) = (structures(&design, 1, size), structures(&design, 2, size));
    // Buffers of victims and prefetches, and third levels, have no chases of their own.
    let is_plain = first.iter().chain(&second).filter(plain).count() == first.len() + second.len()
        && structures(&design, 3, size).is_empty();
    if !is_plain || first.is_empty() {
        return None;
    }
    check(&words, &found.first, &first, size);
    // A second level that holds no more than the first does not show.
    let entries = |of: &[&Structure]| of.iter().map(|of| of.entries - of.wired).sum::<usize>();
    let shows = entries(&second) > entries(&first);
    assert_eq!(found.second.is_some(), shows, "{words}");
    if let Some(level) = &found.second {
        check(&words, level, &second, size);
    }
    if let Some(inclusion) = found.inclusion.value {
        let is_inclusive = second.iter().any(|of| of.role.inclusive);
        let wanted = match is_inclusive {
            true => Inclusion::Inclusive,
            false => Inclusion::Neither,
        };
        assert_eq!(inclusion, wanted, "{words}");
    }
    Some(found)
}

#[test]
fn no_determined_value_is_wrong_and_most_are_determined() {
    let (mut values, mut possible) = (0, 0);
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for size in design.sizes() {
            let Some(found) = examine(name, *size) else {
                continue;
            };
            let levels = 1 + usize::from(found.second.is_some());
            let all = 3 * levels;
            values += determined(&found);
            possible += all;
        }
    }
    assert!(values * 100 >= possible * 97, "{values} of {possible}");
}
