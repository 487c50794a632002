//! The TLB under a layout.

use broadleaf_oracle::offline::{Layout, LayoutPiece, ReferenceStream, misses};
use broadleaf_oracle::random::{Rng, loops};

use super::{layout, pages, piece};

/// A loop over as many pages as entries misses each page once; a loop over one more page always
/// misses.
#[test]
fn loops_miss_as_a_formula_says() {
    for entries in 1..6 {
        for count in 1..8 {
            let stream = pages(
                &(0..count)
                    .cycle()
                    .take(10 * count as usize)
                    .collect::<Vec<_>>(),
            );
            let expected = if count <= entries { count } else { 10 * count };
            let missed = misses(&stream, entries as usize, &Layout::default());
            assert_eq!(missed, expected, "{count} pages, {entries} entries");
        }
    }
}

/// Figure 2 of the paper: the last reference misses, and hits if {0,1} or {4..7} had been a
/// superpage from the start.
#[test]
fn figure_two() {
    let (six, seven) = (pages(&[8, 1, 7, 6, 5, 0]), pages(&[8, 1, 7, 6, 5, 0, 1]));
    let last_misses = |layout: &Layout| misses(&seven, 3, layout) > misses(&six, 3, layout);
    assert!(last_misses(&Layout::default()));
    for (page, order, missed) in [(0, 1, false), (4, 2, false), (4, 1, true), (6, 1, true)] {
        let layout = layout(&[piece(page, order)]);
        assert_eq!(last_misses(&layout), missed, "{layout:?}");
    }
}

#[test]
fn pages_of_two_spaces_are_two() {
    let stream = ReferenceStream(vec![(0, 0), (1, 1), (0, 1), (1, 0)]);
    let both = [LayoutPiece::around(0, 0, 1), LayoutPiece::around(1, 0, 1)];
    assert_eq!(misses(&stream, 4, &layout(&both[..1])), 3);
    assert_eq!(misses(&stream, 4, &layout(&both)), 2);
}

/// The lemma of the search's bound.
#[test]
fn coarser_layouts_never_miss_more() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let stream = loops(&mut rng, 2, 16, 200);
        let entries = 1 + rng.below(6) as usize;
        let mut layout = Layout::default();
        let mut before = misses(&stream, entries, &layout);
        for _ in 0..8 {
            let (space, page) = (rng.below(2) as u32, rng.below(16));
            layout = layout.with(LayoutPiece::around(space, page, 1 + rng.below(3) as u32));
            let now = misses(&stream, entries, &layout);
            assert!(now <= before, "seed {seed}, {layout:?}");
            before = now;
        }
    }
}

#[test]
fn what_is_no_layout_is_refused() {
    let unaligned = LayoutPiece {
        first: 1,
        ..piece(0, 1)
    };
    for wrong in [
        &[piece(0, 0)][..],
        &[unaligned],
        &[piece(0, 1), piece(0, 1)],
        &[piece(0, 1), piece(0, 2)],
        &[piece(0, 2), piece(2, 1)],
    ] {
        assert_eq!(Layout::of(wrong.iter().copied()), None, "{wrong:?}");
    }
    let right = layout(&[piece(0, 1), piece(2, 1), LayoutPiece::around(1, 0, 2)]);
    assert_eq!(
        right.with(piece(0, 2)).with(piece(2, 1)).pieces().count(),
        2
    );
}
