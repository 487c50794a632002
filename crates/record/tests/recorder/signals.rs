//! Signals and faults: the program runs as it does alone, and all its accesses are recorded once.

use std::collections::BTreeMap;
use std::path::Path;

use broadleaf_trace::Visit;

use crate::support::{can_record, compiled, folder, recorded, totals};

const PAGES: u64 = 64;

/// Returns the loads and stores of each page.
fn by_page(visits: &[Visit]) -> BTreeMap<u64, (u64, u64)> {
    let mut pages: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for visit in visits {
        let page = pages.entry(visit.unit).or_default();
        page.0 += u64::from(visit.loads);
        page.1 += u64::from(visit.stores);
    }
    pages
}

/// Records the program, and checks the accesses to its loop's pages and to the faulting pages
/// against its source.
fn record_and_check(program: &Path, place: &Path, timer: bool) -> Vec<Visit> {
    let said = place.join("said");
    let how = Path::new(if timer { "timer" } else { "steady" });
    let recording = recorded(&[program, how, &said]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let text = std::fs::read_to_string(said).expect("the program wrote addresses");
    let mut pages = text
        .split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).expect("an address") >> 12);
    let mut next = || pages.next().expect("an address");
    let (lp, barrier, seen) = (next(), next(), next());
    let visits = recording.visits(0);
    let made = by_page(&visits);
    for page in 0..PAGES {
        let (loads, stores) = made[&(lp + page)];
        assert_eq!(loads, 640, "page {page} of the loop");
        assert!(
            if timer { stores >= 640 } else { stores == 640 },
            "{stores}"
        );
        assert_eq!(
            made[&(barrier + page)],
            (6, 3),
            "page {page} of the barrier"
        );
        let second = made[&(barrier + PAGES + page)];
        assert_eq!(second, (0, 3), "page {page} of the barrier's second half");
    }
    assert!(made[&seen].1 > 0 && made[&(seen + 1)].1 > 0);
    // The handler counts in memory. (The earlier mapping there may have been loaded from.)
    assert_eq!(made[&(seen + 2)].1, 2 * PAGES);
    visits
}

#[test]
pub(crate) fn nothing_is_lost_or_done_twice() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("alarm", &[], place.path()) else {
        return;
    };
    let first = record_and_check(&program, place.path(), false);
    let second = record_and_check(&program, place.path(), false);
    eprintln!("{:?}", totals(&first));
    assert!(
        first == second,
        "{:?}, {:?}",
        totals(&first),
        totals(&second)
    );
    for _ in 0..3 {
        record_and_check(&program, place.path(), true);
    }
}

/// A handler that does not ask for the fault's address leaves the recorder inexact until the first
/// fault. Later accesses must be recorded all the same.
#[test]
pub(crate) fn a_fault_whose_address_is_not_asked_for_upsets_nothing() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("survives", &[], place.path()) else {
        return;
    };
    let recording = recorded(&[&program]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let made = by_page(&recording.visits(0));
    let first = 0x100_0000_0000 >> 12;
    for page in first..first + PAGES {
        assert_eq!(made[&page].1, 4000, "page {page:#x}");
    }
    // The block that faulted first may lose its own store, as LIMITS says. One store follows
    // without a fault, and one comes before the second fault.
    let beside = made[&(first + PAGES)].1;
    assert!((2..=3).contains(&beside), "{beside}");
}
