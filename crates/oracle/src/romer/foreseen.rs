//! Charges compared with [`crate::offline`]: they count the misses that a candidate would have
//! prevented as a superpage from the beginning.

use std::collections::BTreeMap;

use broadleaf_units::SpaceId;

use super::charges::RomerCharges;
use super::piece::RomerPiece;
use super::tlb::RomerTlb;
use crate::offline::{Layout, LayoutPiece as Candidate, ReferenceStream, misses};
use crate::random::{Rng, loops};

const SIZES: [u64; 4] = [1, 2, 4, 8];

fn page(layout: &Layout, reference: (u32, u64)) -> RomerPiece {
    let around = layout.page_around(reference.0, reference.1);
    RomerPiece::around(SpaceId(around.space), around.first, 1 << around.order)
}

/// The number of misses charged to each candidate for prefetching and for capacity, without
/// promotions. The superpages are those of `layout` throughout.
fn charged(
    stream: &ReferenceStream,
    entries: usize,
    layout: &Layout,
) -> BTreeMap<RomerPiece, [u64; 2]> {
    let (mut tlb, mut charges) = (RomerTlb::default(), RomerCharges::default());
    let mut times: BTreeMap<RomerPiece, [u64; 2]> = BTreeMap::new();
    for &reference in &stream.0 {
        let page = page(layout, reference);
        if !tlb.entries.contains(&page) {
            let held = charges.prefetch(page, &tlb, &SIZES);
            let kept = charges.capacity(page, &tlb, entries, &SIZES);
            for (way, candidates) in [held, kept].into_iter().enumerate() {
                for candidate in candidates {
                    times.entry(candidate).or_default()[way] += 1;
                }
            }
        }
        tlb.load(page, entries);
        tlb.note(page, entries, SIZES[3]);
    }
    times
}

/// Spec charges 3 and 4, from base pages and from any other layout, in which a superpage
/// counts as one page. Each candidate is charged once at each miss that its promotion alone would
/// save, and at no other miss.
#[test]
fn a_candidate_is_charged_for_what_it_would_have_saved() {
    let mut sums = [0, 0];
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let entries = 1 + rng.below(6) as usize;
        let (spaces, pages) = (1 + rng.below(2) as u32, 5 + rng.below(20));
        let stream = loops(&mut rng, spaces, pages, 250);
        let mut layout = Layout::default();
        if seed % 2 == 1 {
            for _ in 0..1 + rng.below(4) {
                let space = rng.below(u64::from(spaces)) as u32;
                let order = 1 + rng.below(2) as u32;
                layout = layout.with(Candidate::around(space, rng.below(pages), order));
            }
        }
        let charged = charged(&stream, entries, &layout);
        let now = misses(&stream, entries, &layout);
        for space in 0..spaces {
            for (order, first) in (1..4).flat_map(|order| (0..32).map(move |first| (order, first)))
            {
                let candidate = Candidate::around(space, first, order);
                if candidate.first != first || layout.covers(candidate) {
                    continue;
                }
                let saved = now - misses(&stream, entries, &layout.with(candidate));
                let own = RomerPiece::around(SpaceId(space), first, 1 << order);
                let [held, kept] = charged.get(&own).copied().unwrap_or_default();
                assert_eq!(
                    held + kept,
                    saved,
                    "seed {seed}, {candidate:?} of {layout:?}"
                );
                sums = [sums[0] + held, sums[1] + kept];
            }
        }
    }
    assert!(sums.into_iter().all(|sum| sum > 10_000), "{sums:?}");
}
