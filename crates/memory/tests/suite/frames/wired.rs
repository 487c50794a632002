//! Wired frames, with and without clustering.

use broadleaf_memory::frames::{Buddy, Frame, FreeError, Wired};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_frame_is_given_once_and_comes_back(
        frames in 0u64..100,
        order in prop::option::of(0u8..8),
        verbs in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 0..200),
    ) {
        let mut buddy = Buddy::new(frames, 5);
        let mut wired = order.map_or(Wired::unclustered(), Wired::clustered);
        let mut given = BTreeSet::new();
        for verb in verbs {
            if let Some(index) = verb {
                if given.is_empty() {
                    continue;
                }
                let frame = given.iter().nth(index.index(given.len())).copied();
                let frame = frame.expect("it is in range");
                given.remove(&frame);
                wired.free(&mut buddy, frame).expect("it was given out");
                // Again: whether its cluster is still there or not.
                prop_assert!(wired.free(&mut buddy, frame).is_err());
            } else if let Some(frame) = wired.allocate(&mut buddy) {
                prop_assert!(given.insert(frame) && !buddy.is_free(frame));
            } else {
                prop_assert_eq!((buddy.free_frames(), given.len() as u64), (0, frames));
            }
            buddy.check();
            wired.check(&buddy);
            prop_assert_eq!(wired.frames(), given.len() as u64);
            prop_assert_eq!(wired.held() + buddy.free_frames(), frames);
        }
        for frame in given {
            wired.free(&mut buddy, frame).expect("it was given out");
        }
        prop_assert_eq!((wired.clusters(), wired.held(), buddy.free_frames()), (0, 0, frames));
    }
}

/// Wired frames come and go among others. Those in clusters spoil one extent, the others as many as
/// there are of them.
#[test]
fn clusters_keep_large_extents_whole() {
    let left = |mut wired: Wired| {
        let mut buddy = Buddy::new(32 * 64, 6);
        let mut others = Vec::new();
        for _ in 0..20 {
            wired.allocate(&mut buddy).expect("a frame");
            others.extend((0..63).map(|_| buddy.allocate(0).expect("a frame")));
        }
        for frame in others {
            buddy.free(frame, 0).expect("it was allocated");
        }
        buddy.possible(6)
    };
    assert_eq!(left(Wired::unclustered()), 32 - 20);
    assert_eq!(left(Wired::clustered(6)), 32 - 1);
}

#[test]
fn where_no_cluster_is_left_a_smaller_one_does() {
    let mut buddy = Buddy::new(7, 3);
    let mut wired = Wired::clustered(3);
    let frames: Vec<Option<Frame>> = (0..8).map(|_| wired.allocate(&mut buddy)).collect();
    assert_eq!(
        frames,
        [0, 1, 2, 3, 4, 5, 6]
            .map(|it| Some(Frame(it)))
            .into_iter()
            .chain([None])
            .collect::<Vec<_>>()
    );
    assert_eq!(wired.clusters(), 3);
    let wrong = FreeError::AlreadyFree {
        first: Frame(7),
        order: 0,
    };
    assert_eq!(wired.free(&mut buddy, Frame(7)), Err(wrong));
}
