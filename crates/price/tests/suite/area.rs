//! Areas, and numbers of entries of equal area.

use super::{of, single, single_four_way};
use broadleaf_price::{EntryKind, EntryReach, TlbPlan, nearest_entries};

/// The reference areas of sections 3.3 and 4.2.1, which the thesis prints without a fraction.
#[test]
fn areas_of_single_page_size_structures() {
    for (entries, area) in [
        (64, 7984.36),
        (128, 15_298.996),
        (256, 29_928.27),
        (512, 59_186.80),
    ] {
        assert!((single(entries).area() - area).abs() < 0.01, "{entries}");
    }
    for (entries, area) in [(256, 19_159.6), (512, 35_412.4)] {
        assert!(
            (single_four_way(entries).area() - area).abs() < 0.05,
            "{entries}"
        );
    }
}

/// By hand: 16 entries in 4 ways, 4 sets. Tags of 65 + 1 - 2 bits.
#[test]
fn a_set_associative_area_by_hand() {
    let data = 0.6 * (4.0 + 6.0) * (45.0 * 4.0 + 6.0);
    let tags = 0.6 * (4.0 + 12.0) * (64.0 * 4.0 + 6.0);
    assert!((single_four_way(16).area() - (130.0 + data + tags)).abs() < 1e-9);
}

/// The counts of tables 3-3 and 5-5: 42 of 42.
#[test]
fn equal_areas_have_the_printed_numbers_of_entries() {
    let columns = |entries: u32| {
        let area = single(entries).area();
        let superpage = of(EntryKind::superpage(), EntryReach::superpage(3), 1);
        let subblocks = [
            EntryKind::partial_subblock(),
            EntryKind::complete_subblock(),
        ]
        .into_iter()
        .flat_map(|kind| (1..=4).map(move |order| of(kind, EntryReach::block(order), 1)));
        std::iter::once(superpage)
            .chain(subblocks)
            .map(|plan| entries_of(plan, area))
            .collect::<Vec<u32>>()
    };
    assert_eq!(columns(64), [62, 64, 63, 61, 57, 51, 35, 20, 9]);
    assert_eq!(columns(128), [123, 127, 126, 122, 114, 102, 72, 44, 23]);
    assert_eq!(columns(256), [247, 255, 252, 244, 228, 206, 147, 92, 51]);
    assert_eq!(columns(512), [494, 509, 504, 489, 456, 413, 297, 188, 107]);
    for (entries, counts) in [(256, [162, 156, 154]), (512, [304, 293, 290])] {
        let area = single_four_way(entries).area();
        let plans = [
            single(1),
            of(EntryKind::superpage(), EntryReach::superpage(3), 1),
            of(EntryKind::superpage(), EntryReach::superpage(4), 1),
        ];
        assert_eq!(plans.map(|plan| entries_of(plan, area)), counts);
    }
}

fn entries_of(plan: TlbPlan, area: f64) -> u32 {
    nearest_entries(area, |entries| plan.with_entries(entries).area())
}

/// The nearest number is found above and below the target, and at both ends.
#[test]
fn the_search_finds_the_nearest_on_both_sides() {
    let area = |entries: u32| 10.0 * f64::from(entries);
    for (target, entries) in [(104.0, 10), (106.0, 11), (110.0, 11), (0.0, 1), (-5.0, 1)] {
        assert_eq!(nearest_entries(target, area), entries, "{target}");
    }
    assert_eq!(nearest_entries(f64::INFINITY, area), (1 << 24) - 1);
    assert_eq!(nearest_entries(1e12, area), 1 << 24);
}
