//! Pointer chases on every structure of every built-in machine. From misses alone they find the
//! ways, the bits of the index and the capacity that the machine's file gives.

use broadleaf_machine::{machine, machine_names};
use broadleaf_probe::{
    Analysis, Chase, ChaseOracle, Modelled, TlbLevel, far_apart, first_level, in_a_row,
};
use broadleaf_tlb::{Design, ReferenceKind, Structure};
use broadleaf_units::PageSize;

const KINDS: [ReferenceKind; 3] = [
    ReferenceKind::Fetch,
    ReferenceKind::Load,
    ReferenceKind::Store,
];

fn is_random(structure: &Structure) -> bool {
    structure.replacement.entry().described.name == "random"
}

/// Every structure of every machine with every size, in words and as values.
fn each(mut check: impl FnMut(&str, &Structure, PageSize)) {
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for structure in design.structures() {
            for (size, _) in &structure.pages {
                let words = format!("{name}, {}, {}", structure.name, size.short_name());
                check(&words, structure, *size);
            }
        }
    }
}

#[test]
fn capacities_ways_and_indices_of_every_structure_are_found() {
    let mut structures = 0;
    each(|words, structure, size| {
        structures += 1;
        let found = first_level(&mut Modelled::alone(structure, size));
        let ways = structure.ways - structure.wired_ways();
        assert_eq!(found.ways.value, Some(ways), "{words}: {found:?}");
        let entries = structure.entries - structure.wired;
        assert_eq!(found.capacity.value, Some(entries), "{words}: {found:?}");
        assert_eq!(found.entries.value, Some(entries), "{words}: {found:?}");
        let index = structure.index(size);
        assert_eq!(found.index.value.as_ref(), index, "{words}: {found:?}");
        assert_eq!(found.index.confidence, 1.0, "{words}");
    });
    assert!(structures > 100, "{structures}");
}

/// The entries of a level for a kind of reference and a size.
fn reach(design: &Design, level: usize, size: PageSize, kind: ReferenceKind) -> usize {
    let holds =
        |of: &&Structure| of.level == level && of.index(size).is_some() && of.role.serves.has(kind);
    let structures = design.structures().iter().filter(holds);
    structures.map(|of| of.entries - of.wired).sum()
}

#[test]
fn capacities_are_found_through_all_levels() {
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for kind in KINDS {
            for size in design.sizes() {
                let first = reach(&design, 1, *size, kind);
                let most = (1..=3).map(|level| reach(&design, level, *size, kind));
                let most = most.max().expect("a level");
                let Some(mut modelled) = Modelled::new(&design, *size, kind) else {
                    continue;
                };
                let unit = modelled.unit();
                let mut fits = |level, count| {
                    let answer = modelled.fits(level, &in_a_row(count, unit));
                    answer.expect("an answer").fits
                };
                let words = format!("{name}, {kind:?}, {}", size.short_name());
                if first > 0 {
                    assert!(fits(TlbLevel::First, first), "{words}");
                    assert!(!fits(TlbLevel::First, first + 1), "{words}");
                }
                assert!(fits(TlbLevel::All, most), "{words}");
                assert!(!fits(TlbLevel::All, most + 1), "{words}");
            }
        }
    }
}

/// Random replacement: the ratio of misses of a chase over `pages` pages gives the entries. A page
/// is still there if none of the misses between its uses took its entry.
fn entries_of_ratio(ratio: f64, pages: usize) -> f64 {
    let between = ratio * (pages - 1) as f64;
    1.0 / (1.0 - (1.0 - ratio).powf(1.0 / between))
}

#[test]
fn the_miss_ratio_curve_of_a_random_rule_gives_the_capacity() {
    let mut found = 0;
    each(|words, structure, size| {
        // All sizes of a structure are alike, and blocks have several pages.
        let is_first = structure.pages[0].0 == size;
        if !is_random(structure) || structure.sets() > 1 || !is_first {
            return;
        }
        found += 1;
        let mut modelled = Modelled::alone(structure, size).with_single_pages();
        for more in [1.25, 1.5, 2.0] {
            let wanted = (structure.entries - structure.wired) as f64;
            let count = (wanted * more) as usize;
            let Chase { offsets, .. } = far_apart(count, modelled.above());
            let ratios = (0..8).map(|start| {
                let ratio = modelled.miss_ratio(TlbLevel::First, &offsets, &[], start);
                ratio.expect("a ratio")
            });
            let ratio = ratios.sum::<f64>() / 8.0;
            let entries = entries_of_ratio(ratio, count);
            assert!(
                (entries - wanted).abs() < 2.0,
                "{words}: {entries} at {count}"
            );
        }
    });
    assert!(found > 0, "no machine has a random rule");
}

/// An analysis that must not find a wrong value. Returns the number of values that it determines.
pub(crate) fn determined(found: &Analysis) -> usize {
    let levels = [Some(&found.first), found.second.as_ref()];
    let of_level = |level: &broadleaf_probe::LevelFound| {
        usize::from(level.entries.value.is_some())
            + usize::from(level.ways.value.is_some())
            + usize::from(level.index.value.is_some())
    };
    levels.into_iter().flatten().map(of_level).sum()
}
