//! Charges compared with replays: would the reference have hit, had the candidate been a superpage
//! from the start?

use super::slow::{SlowTlb, around};
use broadleaf_charges::{Candidate, CapacityCharges, Ladder, PrefetchCharges};
use broadleaf_units::Asid;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Returns true if the last reference hits with one candidate, or none, as a superpage from the
/// start.
fn hits(ladder: &Ladder, entries: usize, superpage: Option<Candidate>, pages: &[u64]) -> bool {
    let tag = Asid::default();
    let mut tlb = SlowTlb::new(entries);
    let mut hit = false;
    for page in pages {
        hit = tlb.lookup(ladder, tag, *page);
        if !hit {
            let holding = superpage.filter(|one| ladder.first_of(one.level, *page) == one.first);
            tlb.fill(holding.unwrap_or(around(ladder, tag, *page, 0)));
        }
    }
    hit
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_miss_is_charged_to_those_that_would_have_prevented_it(
        orders in prop::sample::select(vec![&[0, 1, 2, 3, 4, 5][..], &[0, 3], &[0, 2, 4]]),
        pages in prop::collection::vec(prop_oneof![3 => 0..16u64, 1 => 0..40u64], 1..60),
        entries in 1..8usize,
    ) {
        let ladder = Ladder::new(orders).unwrap();
        let tag = Asid::default();
        let mut tlb = SlowTlb::new(entries);
        let mut prefetch = PrefetchCharges::new(ladder);
        let mut capacity = CapacityCharges::new(ladder, entries);
        let candidates: BTreeSet<Candidate> = (1..=ladder.largest())
            .flat_map(|level| pages.iter().map(move |page| around(&ladder, tag, *page, level)))
            .collect();
        for (at, page) in pages.iter().copied().enumerate() {
            if tlb.lookup(&ladder, tag, page) {
                capacity.touch(tag, page, 0);
                continue;
            }
            let (mut held, mut others) = (BTreeSet::new(), BTreeSet::new());
            prefetch.miss(tag, page, 0, |one, _| assert!(held.insert(one)));
            capacity.miss(tag, page, 0, |one, _| assert!(others.insert(one)));
            prop_assert!(held.is_disjoint(&others));
            if let Some(lost) = tlb.fill(around(&ladder, tag, page, 0)) {
                prefetch.evict(lost.tag, lost.first, lost.level);
            }
            prop_assert!(!hits(&ladder, entries, None, &pages[..=at]));
            for candidate in &candidates {
                let charged = held.contains(candidate) || others.contains(candidate);
                let hit = hits(&ladder, entries, Some(*candidate), &pages[..=at]);
                prop_assert_eq!(charged, hit, "{:?}, page {}", candidate, page);
            }
        }
    }
}
