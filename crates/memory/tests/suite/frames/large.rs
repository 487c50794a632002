//! Large pools: memory and time depend on the fragmentation, not on the size.

use broadleaf_memory::frames::{Buddy, Choice, Frame, MOST_FRAMES};

/// 256 TiB, and a rest.
const FRAMES: u64 = (1 << 36) + 5;
/// Verbs in one round.
const VERBS: u64 = 200_000;
/// The time limit in seconds: many times the usual time of a test build.
const SECONDS: u64 = 20;

#[test]
#[expect(
    clippy::disallowed_types,
    reason = "how long it takes is what is tested"
)]
fn verbs_take_no_longer_in_a_large_pool() {
    let begin = std::time::Instant::now();
    for most_order in [0, 10, 30, 255] {
        let mut buddy = Buddy::new(FRAMES, most_order);
        assert_eq!(buddy.possible(0), FRAMES);
        assert_eq!(buddy.zero_some(FRAMES / 2), FRAMES / 2);
        buddy.check();
        let frames: Vec<Frame> = (0..VERBS)
            .map(|_| {
                buddy
                    .allocate_by(0, Choice::NotZeroed)
                    .expect("a frame")
                    .first
            })
            .collect();
        // Every other frame, so that nothing merges, and then the rest.
        let (even, odd) = (frames.iter().step_by(2), frames.iter().skip(1).step_by(2));
        for frame in even.chain(odd) {
            buddy.free(*frame, 0).expect("it was allocated");
        }
        buddy.check();
        assert_eq!(buddy.free_frames(), FRAMES);
        assert_eq!(
            buddy.possible(most_order.min(30)),
            FRAMES >> most_order.min(30)
        );
        assert_eq!(buddy.zero_some(u64::MAX), FRAMES - FRAMES / 2);
        let taken = begin.elapsed().as_secs();
        assert!(taken < SECONDS, "{taken} s at greatest order {most_order}");
    }
}

#[test]
fn no_pool_is_too_large() {
    let mut buddy = Buddy::new(u64::MAX, u8::MAX);
    assert_eq!(buddy.frames(), MOST_FRAMES);
    let last = (buddy.allocate_by(0, Choice::Highest).expect("a frame")).first;
    assert_eq!(last, Frame(MOST_FRAMES - 1));
    assert!(!buddy.is_free(last) && !buddy.is_free(Frame(u64::MAX)));
    assert!(!buddy.take(Frame(u64::MAX), 0) && !buddy.take(Frame(MOST_FRAMES), 30));
    assert_eq!(buddy.next_free(Frame(u64::MAX), 30), None);
    assert_eq!(buddy.next_free(Frame(MOST_FRAMES - 1), 3), None);
    buddy.check();
}
