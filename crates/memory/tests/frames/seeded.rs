//! Fragmentation from a seed.

use broadleaf_memory::frames::{Buddy, Layout, Start, StartError};
use proptest::prelude::*;

fn start(occupied: f64, movable: f64, seed: u64, run: (u8, u8)) -> Start {
    Start::Seeded {
        occupied,
        movable,
        seed,
        run,
    }
}

/// Asserts that what is free and what is occupied are the pool, each frame once. Returns how many frames are occupied, and how many of
/// them can be moved.
pub(crate) fn check(layout: &Layout) -> (u64, u64) {
    layout.buddy.check();
    let mut rest = Buddy::occupied(layout.buddy.frames(), layout.buddy.most_order());
    let (mut occupied, mut movable) = (0, 0);
    for piece in &layout.occupied {
        let free = layout.buddy.free_frames_in(piece.first, piece.order);
        assert_eq!(free, 0, "{piece:?} is free");
        rest.free(piece.first, piece.order)
            .expect("no piece overlaps another");
        occupied += 1 << piece.order;
        movable += if piece.movable { 1 << piece.order } else { 0 };
    }
    assert!(layout.occupied.is_sorted_by_key(|piece| piece.first));
    assert_eq!(layout.buddy.free_frames() + occupied, layout.buddy.frames());
    (occupied, movable)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn shares_come_out(
        frames in 0u64..3000,
        most_order in 0u8..=9,
        occupied in prop_oneof![0.0..=1.0f64, Just(1.0)],
        movable in prop_oneof![0.0..=1.0f64, Just(1.0), Just(0.0)],
        seed: u64,
        orders: (u8, u8),
    ) {
        let least = orders.0 % (most_order + 1);
        let most = least + orders.1 % (most_order - least + 1);
        let start = start(occupied, movable, seed, (least, most));
        let layout = start.lay_out(frames, most_order).expect("a layout");
        let (taken, moved) = check(&layout);
        prop_assert_eq!(taken, (frames as f64 * occupied).round() as u64);
        let piece = 1u64 << most;
        prop_assert!(moved.abs_diff((taken as f64 * movable).round() as u64) < piece);
        prop_assert!(layout.occupied.iter().all(|it| it.order <= most));
        let again = start.lay_out(frames, most_order).expect("a layout");
        prop_assert_eq!(layout.occupied, again.occupied);
    }
}

#[test]
fn places_come_from_the_seed() {
    let pieces = |seed| {
        let start = start(0.5, 0.5, seed, (0, 3));
        start.lay_out(4096, 9).expect("a layout").occupied
    };
    assert_eq!(pieces(1), pieces(1));
    assert_ne!(pieces(1), pieces(2));
    // An eighth of the pool has an eighth of what is occupied, to within half of that.
    let here = pieces(1);
    let first = here.iter().filter(|piece| piece.first.0 < 512);
    let frames: u64 = first.map(|piece| 1 << piece.order).sum();
    assert!((128..=384).contains(&frames), "{frames}");
}

#[test]
fn small_pieces_break_more_than_large_ones() {
    let possible = |run| {
        let layout = start(0.3, 0.0, 1, run).lay_out(1 << 16, 9);
        layout.expect("a layout").buddy.possible(9)
    };
    assert_eq!(possible((0, 0)), 0);
    // Three tenths of 128 extents are 38.4: where pieces are as large as these, the last is cut to fit.
    assert_eq!(possible((9, 9)), 128 - 39);
}

#[test]
fn what_is_no_share_or_order_is_refused() {
    let share = |what, value| Err(StartError::Share { what, value });
    let refused = |start: Start| start.lay_out(100, 4).map(|_| ());
    assert_eq!(refused(start(1.5, 0.0, 1, (0, 0))), share("occupied", 1.5));
    assert_eq!(refused(start(0.5, -0.1, 1, (0, 0))), share("movable", -0.1));
    assert!(refused(start(f64::NAN, 0.0, 1, (0, 0))).is_err());
    let run = |least, most| {
        let greatest = 4;
        Err(StartError::Run {
            least,
            most,
            greatest,
        })
    };
    assert_eq!(refused(start(0.5, 0.5, 1, (2, 1))), run(2, 1));
    assert_eq!(refused(start(0.5, 0.5, 1, (0, 5))), run(0, 5));
    assert_eq!(refused(Start::Empty), Ok(()));
}
