//! Occupied memory, grouped by mobility in blocks.

use broadleaf_memory::frames::{Buddy, Layout, Mobility, Start, StartError};
use proptest::prelude::*;

const BLOCK: u64 = 512;

fn start(occupied: f64, fragmentation: Option<f64>, movable: f64, seed: u64) -> Start {
    Start::Grouped {
        occupied,
        fragmentation,
        movable,
        seed,
    }
}

/// Asserts that the free and the occupied frames are the whole pool, each frame once. Returns the
/// numbers of occupied frames and of movable ones.
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
        block in 0u8..=9,
        occupied in prop_oneof![0.0..=1.0f64, Just(1.0), Just(0.0)],
        fragmentation in prop_oneof![
            (0.0..=1.0f64).prop_map(Some),
            Just(None),
            Just(Some(1.0)),
            Just(Some(0.0)),
        ],
        movable in prop_oneof![0.0..=1.0f64, Just(1.0), Just(0.0)],
        seed: u64,
    ) {
        let start = start(occupied, fragmentation, movable, seed);
        let layout = match start.lay_out_in(frames, most_order, block) {
            Ok(layout) => layout,
            Err(StartError::TooLittle { frames, blocks, .. }) => {
                prop_assert!(frames < blocks);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let (taken, moved) = check(&layout);
        let wanted = (frames as f64 * occupied).round() as u64;
        prop_assert!(taken == wanted || wanted == 0 && fragmentation.is_some());
        // All occupied frames in a block have the block's mobility.
        let size = 1u64 << block.min(most_order);
        let in_blocks = frames / size * size;
        for piece in layout.occupied.iter().filter(|piece| piece.first.0 < in_blocks) {
            let mobility = layout.buddy.mobility_of(piece.first.0);
            prop_assert_eq!(piece.movable, mobility == Mobility::Movable);
        }
        let tail = 2 * size;
        // Blocks differ by one frame at most.
        let uneven = frames / size;
        prop_assert!(moved.abs_diff((taken as f64 * movable).round() as u64) <= tail + uneven);
        if let Some(share) = fragmentation {
            let free = layout.buddy.free_frames();
            let in_free_blocks = layout.buddy.possible(block.min(most_order)) * size;
            let wanted = (share * free as f64).round() as u64;
            prop_assert!(in_free_blocks.abs_diff(wanted) <= tail, "{in_free_blocks} for {wanted}");
        }
        let again = start.lay_out_in(frames, most_order, block).expect("a layout");
        prop_assert_eq!(layout.occupied, again.occupied);
    }
}

#[test]
fn free_blocks_fall_gradually_with_the_share() {
    const BLOCKS: u64 = 256;
    for seed in [1, 2, 3, 7, 99] {
        for occupied in [0.0, 0.05, 0.3] {
            let possible = |percent: u64| {
                let share = Some(percent as f64 / 100.0);
                let start = start(occupied, share, 0.0, seed);
                let layout = start.lay_out(BLOCKS * BLOCK, 10).expect("a layout");
                layout.buddy.possible(9)
            };
            let falling: Vec<u64> = (0..=20).rev().map(|step| possible(5 * step)).collect();
            let most = BLOCKS - (BLOCKS as f64 * occupied) as u64;
            assert!(falling[0] + 1 >= most, "{falling:?}");
            assert_eq!(falling[20], 0);
            // Never more, and in no step a tenth of them.
            for pair in falling.windows(2) {
                let step = pair[0].checked_sub(pair[1]).expect("it falls");
                assert!(step > 0 && step <= most / 10, "{falling:?}");
            }
        }
    }
}

#[test]
fn five_percent_leave_nine_blocks_of_ten() {
    for seed in 0..8 {
        for movable in [0.0, 0.5, 1.0] {
            let start = start(0.05, None, movable, seed);
            let layout = start.lay_out(1000 * BLOCK, 10).expect("a layout");
            assert_eq!(layout.buddy.possible(9), 900);
        }
    }
}

#[test]
fn page_tables_keep_to_blocks_of_their_own() {
    let start = start(0.25, None, 0.5, 3);
    let mut buddy = start.lay_out(64 * BLOCK, 10).expect("a layout").buddy;
    let choice = Default::default();
    let large = buddy.possible(9);
    let mut taken = Vec::new();
    for _ in 0..200 {
        let given = buddy
            .allocate_for(0, choice, Mobility::Unmovable)
            .expect("a frame");
        assert_eq!(buddy.mobility_of(given.first.0), Mobility::Unmovable);
        taken.push(given.first);
        let given = buddy.allocate_by(0, choice).expect("a frame");
        assert_eq!(buddy.mobility_of(given.first.0), Mobility::Movable);
    }
    assert_eq!(buddy.possible(9), large);
    // When their blocks are full they claim a block, and not a frame here and there.
    while buddy.possible(9) == large {
        let given = buddy
            .allocate_for(0, choice, Mobility::Unmovable)
            .expect("a frame");
        assert_ne!(buddy.mobility_of(given.first.0), Mobility::Movable);
        taken.push(given.first);
        buddy.check();
    }
    for frame in taken {
        buddy.free(frame, 0).expect("it was given out");
    }
    buddy.check();
}

#[test]
fn places_come_from_the_seed() {
    let pieces = |seed| {
        let start = start(0.3, None, 0.5, seed);
        start.lay_out(8192, 9).expect("a layout").occupied
    };
    assert_eq!(pieces(1), pieces(1));
    assert_ne!(pieces(1), pieces(2));
}

#[test]
fn what_is_no_share_is_refused() {
    let refused = |start: Start| start.lay_out(100, 4).map(|_| ());
    let share = |what, value| Err(StartError::Share { what, value });
    assert_eq!(refused(start(1.5, None, 0.0, 1)), share("occupied", 1.5));
    assert_eq!(refused(start(0.5, None, -0.1, 1)), share("movable", -0.1));
    assert!(refused(start(f64::NAN, None, 0.0, 1)).is_err());
    assert!(refused(start(0.5, Some(1.1), 0.0, 1)).is_err());
    // Two frames cannot break six blocks.
    let error = start(0.02, Some(0.0), 0.0, 1).lay_out(100, 4).map(|_| ());
    assert_eq!(
        error,
        Err(StartError::TooLittle {
            frames: 2,
            blocks: 6,
            pool: 100
        })
    );
    assert_eq!(refused(Start::Empty), Ok(()));
}

/// 64 GiB of which 99 percent are occupied took twenty seconds.
#[test]
fn large_memory_is_laid_out_at_once() {
    for occupied in [0.5, 0.99] {
        let start = start(occupied, None, 0.5, 1);
        let layout = start.lay_out(1 << 24, 10).expect("a layout");
        let frames = layout.buddy.frames();
        let taken = frames - layout.buddy.free_frames();
        assert_eq!(taken, (frames as f64 * occupied).round() as u64);
    }
}
