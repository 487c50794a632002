//! Zhu 2018, tables 6.2 and 6.3, row derby: five reservations of files that end with 1, 103, 174,
//! 457 and 501 populated pages, of which only the one with 174 was written to, in each of them.
//! From that the table follows, figure by figure.

use crate::common::{BLOCK, backed_by, file, load, loads, map, replay, store};
use broadleaf_metrics::CellResult;
use broadleaf_model::Items;
use broadleaf_trace::{Backing, Grain};

/// Table 6.3.
const RESERVATIONS: f64 = 5.0;
/// The page whose loads let time pass: its mapping is too small for a reservation.
const CLOCK: u64 = 1 << 30;

/// Derby's populations. The three that the tables show to be older than 1e9 accesses at the end
/// come first; the one of a single page is between 1e7 and 1e8 accesses old, and the written one
/// between 1e6 and 1e7.
fn derby() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(map(CLOCK, 1, Backing::Anonymous));
    for number in 0..5 {
        items.event(file(number, BLOCK));
        items.event(map(u64::from(number) * 2 * BLOCK, BLOCK, backed_by(number)));
    }
    let start = |number: u64| number * 2 * BLOCK;
    for (number, population) in [(0, 103), (1, 457), (2, 501)] {
        items.visits((0..population).map(|page| load(start(number) + page)));
    }
    items.visits([
        loads(CLOCK, 2_000_000_000),
        load(start(3)),
        loads(CLOCK, 50_000_000),
    ]);
    items.visits((0..174).map(|page| store(start(4) + page)));
    items.visits([loads(CLOCK, 5_000_000)]);
    items
}

/// Extra disk-read pages for each reservation, and the thesis's false dirty pages: clean pages in
/// superpages, 512 for one without any dirty page.
fn figures(result: &CellResult) -> (f64, f64) {
    assert_eq!(result.regions_file as f64, RESERVATIONS);
    (
        result.extra_disk_read_pages as f64 / RESERVATIONS,
        result.clean_pages_in_superpages_file as f64 / RESERVATIONS,
    )
}

#[test]
fn every_figure_of_the_table() {
    // The printed headings of dirty-x are ambiguous: with 174 dirty pages at most, 64 and 128 are
    // the ones that are not 0.
    let table = [
        ("4k", 0.0, 0.0),
        ("freebsd", 0.0, 0.0),
        ("foresight", 0.0, 0.0),
        ("greedy", 264.8, 477.2),
        ("dirty-64", 67.6, 67.6),
        ("dirty-128", 67.6, 67.6),
        ("dirty-256", 0.0, 0.0),
        ("pop-64", 162.6, 374.8),
        ("pop-128", 80.8, 272.4),
        ("pop-256", 13.2, 204.8),
        ("pop-461", 2.2, 102.4),
        ("pop-509", 0.0, 0.0),
        ("life-1e6", 264.8, 477.2),
        ("life-1e7", 197.2, 409.6),
        ("life-1e8", 95.0, 307.2),
        ("life-1e9", 95.0, 307.2),
    ];
    let policies: Vec<&str> = table.iter().map(|(policy, ..)| *policy).collect();
    let outcome = replay(&derby(), &policies);
    for (result, (policy, disk_read, false_dirty)) in outcome.results.iter().zip(table) {
        assert_eq!(figures(result), (disk_read, false_dirty), "{policy}");
        assert_eq!(
            result.extra_zeroed_pages, 0,
            "{policy}: nothing here is anonymous and reserved"
        );
        let (files, clock) = (1 + 103 + 174 + 457 + 501, 1);
        assert_eq!(
            (result.touched_pages_file, result.touched_pages_anonymous),
            (files, clock)
        );
        assert_eq!(result.touched_pages, files + clock);
        assert_eq!((result.regions, result.regions_anonymous), (6, 1));
        assert_eq!(result.clean_pages_in_superpages_anonymous, 0, "{policy}");
        assert_eq!(
            result.resident_pages,
            result.touched_pages + result.extra_disk_read_pages,
            "{policy}"
        );
    }
}

#[test]
fn a_dirty_superpage_alone_counts_in_false_dirty_pages() {
    let outcome = replay(&derby(), &["greedy", "pop-128", "pop-256"]);
    let results = outcome.results.iter();
    let counted: Vec<(u64, u64)> = results
        .map(|result| (result.false_dirty_pages, result.false_dirty_pages_file))
        .collect();
    assert_eq!(
        counted,
        [(512 - 174, 512 - 174), (512 - 174, 512 - 174), (0, 0)]
    );
}
