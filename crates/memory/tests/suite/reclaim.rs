//! Memory runs out only if nothing can be reclaimed.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{OutOfMemory, Spec};
use broadleaf_units::FileId;

/// Pages of a file that are used all the time.
const HOT: u64 = 8;

/// The number of pages of anonymous memory that fit into `frames` frames without swap, while pages
/// of a file are used between any two of them.
fn anonymous_pages_that_fit(frames: u64) -> (u64, u64) {
    let policy = policy("4k");
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 9], frames)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    world.spaces.file(FileId(0), HOT << 12);
    world.map(SPACE, FILE, 0..HOT);
    world.map(SPACE, Backing::Anonymous, 1000..1000 + 2 * frames);
    let mut fit = 2 * frames;
    for page in 0..2 * frames {
        if world.reference(SPACE, 1000 + page, true) == Err(OutOfMemory) {
            fit = page;
            break;
        }
        // Where anonymous memory has every frame, a file's page has none.
        for hot in 0..HOT {
            let _ = world.reference(SPACE, hot, false);
        }
    }
    (fit, world.system.sample().wired)
}

#[test]
fn every_page_of_a_file_leaves_before_memory_is_used_up() {
    for frames in [9, 10, 16, 31, 64, 200] {
        let (fit, wired) = anonymous_pages_that_fit(frames);
        assert_eq!(fit + wired, frames, "{frames} frames");
    }
}
