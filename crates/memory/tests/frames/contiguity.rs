//! What is left in pieces that are large enough.

use broadleaf_memory::frames::{Buddy, Contiguity, Frame};

#[test]
fn the_index_is_what_the_formula_says() {
    let mut buddy = Buddy::new(64, 4);
    // Of the first sixteen frames: 1 alone, 2 and 3, 4 to 7; 8 to 15 go with the 0th.
    assert!(buddy.take(Frame(0), 0) && buddy.take(Frame(8), 3));
    let report = Contiguity::of(&buddy);
    assert_eq!(report.free_frames, 55);
    assert_eq!(report.extents, [1, 1, 1, 0, 3]);
    assert_eq!(report.possible, [55, 27, 13, 6, 3]);
    let unusable: Vec<f64> = (0..=5).map(|order| report.unusable(order)).collect();
    let expected = [0.0, 1.0 / 55.0, 3.0 / 55.0, 7.0 / 55.0, 7.0 / 55.0, 1.0];
    assert_eq!(unusable, expected);
}

#[test]
fn where_nothing_is_free_all_of_it_is_unusable() {
    let report = Contiguity::of(&Buddy::occupied(64, 4));
    assert_eq!((report.unusable(0), report.unusable(255)), (1.0, 1.0));
}
