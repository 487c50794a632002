//! The fitted surrogate, by hand.

use super::{of, single, single_four_way};
use broadleaf_price::{EntryKind, EntryReach, TlbPlan, surrogate};

#[test]
fn its_terms_by_hand() {
    let time = single(256).fitted_surrogate().expect("a figure");
    let by_hand = 1.0 + 0.0468 + 0.3273 + 0.2454 * (45.0_f64 / 368.0).sqrt();
    assert!((time - by_hand).abs() < 1e-12);
    // 64 sets: 64 tag bits without 6 of the index; 4 times 45 bits of data.
    let time = single_four_way(256).fitted_surrogate().expect("a figure");
    let data = 180.0_f64 / 1472.0;
    let by_hand = 1.0
        + 0.0356
        + 0.0148
        + 0.168 * 58.0 / 64.0
        + 0.0406 / 16.0
        + 0.045 * data
        + 0.0154 * data * data;
    assert!((time - by_hand).abs() < 1e-12);
}

/// Table 4-4: a complete-subblock TLB of 188 blocks is a tenth faster than 512 single pages.
#[test]
fn a_ratio_of_table_4_4() {
    let complete = of(EntryKind::complete_subblock(), EntryReach::block(3), 188);
    let [complete, single] =
        [complete, single(512)].map(|plan| plan.fitted_surrogate().expect("a figure"));
    assert!((complete / single - 0.90).abs() < 0.028);
}

/// It was fitted to four ways.
#[test]
fn other_numbers_of_ways_have_none() {
    let plan = TlbPlan::set_associative(1536, 12, single(1).bits);
    assert_eq!(plan.fitted_surrogate(), None);
    assert_eq!(surrogate::LABEL, "fitted surrogate");
}
