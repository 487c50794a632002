//! Contiguity of free memory.

use broadleaf_memory::frames::{Buddy, Contiguity, Frame};

#[test]
fn extents_are_counted_at_every_order() {
    let mut buddy = Buddy::new(64, 4);
    // Of the first sixteen frames: 1 alone, 2 and 3, 4 to 7; 8 to 15 go with the 0th.
    assert!(buddy.take(Frame(0), 0) && buddy.take(Frame(8), 3));
    let report = Contiguity::of(&buddy);
    assert_eq!(report.free_frames, 55);
    assert_eq!(report.extents, [1, 1, 1, 0, 3]);
    assert_eq!(report.possible, [55, 27, 13, 6, 3]);
}
