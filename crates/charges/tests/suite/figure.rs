//! The worked example of Romer 1995, figure 2.

use broadleaf_charges::{Candidate, CapacityCharges, Ladder, PrefetchCharges};
use broadleaf_units::Asid;

/// Three entries; 8, 1, 7, 6, 5, 0 are referenced, and then 1 misses. Those that are charged, of
/// each kind: the first page, and the last.
fn charged(orders: &[u8]) -> [Vec<(u64, u64)>; 2] {
    let tag = Asid::default();
    let ladder = Ladder::new(orders).unwrap();
    let mut prefetch = PrefetchCharges::new(ladder);
    let mut capacity = CapacityCharges::new(ladder, 3);
    let pages = [8, 1, 7, 6, 5, 0];
    for (at, page) in pages.into_iter().enumerate() {
        prefetch.miss(tag, page, 0, |_, _| {});
        capacity.miss(tag, page, 0, |_, _| panic!("never referenced before"));
        if let Some(oldest) = at.checked_sub(3) {
            prefetch.evict(tag, pages[oldest], 0);
        }
        prefetch.check();
        capacity.check();
    }
    let mut all = [Vec::new(), Vec::new()];
    let pages = |candidate: Candidate| {
        assert_eq!(candidate.tag, tag);
        let pages = ladder.pages(candidate.level);
        (candidate.first, candidate.first + pages - 1)
    };
    prefetch.miss(tag, 1, 0, |candidate, _| all[0].push(pages(candidate)));
    capacity.miss(tag, 1, 0, |candidate, _| all[1].push(pages(candidate)));
    all
}

#[test]
fn figure_2() {
    let [prefetch, capacity] = charged(&[0, 1, 2, 3, 4]);
    assert_eq!(prefetch, [(0, 1), (0, 3), (0, 7), (0, 15)]);
    assert_eq!(capacity, [(4, 7)]);
}

#[test]
fn figure_2_on_other_ladders() {
    let [prefetch, capacity] = charged(&Ladder::ROMER);
    let all: Vec<_> = (1..=11).map(|order| (0, (1 << order) - 1)).collect();
    assert_eq!(prefetch, all);
    assert_eq!(capacity, [(4, 7)]);
    let [prefetch, capacity] = charged(&[0, 2]);
    assert_eq!((prefetch, capacity), (vec![(0, 3)], vec![(4, 7)]));
    // The block of 2 MiB holds the missing page, which is no matter of capacity.
    let [prefetch, capacity] = charged(&[0, 9]);
    assert_eq!((prefetch, capacity), (vec![(0, 511)], vec![]));
}
