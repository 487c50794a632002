//! The delay equations: each mechanism has an effect, in the direction that its circuit gives it.

use super::{of, single, single_four_way};
use broadleaf_price::delay::{SubblockSelector, access_time};
use broadleaf_price::{ENTRY_KINDS, EntryKind, EntryReach, TlbPlan};

/// An access takes 5 to 20 nanoseconds in a process of 0.8 micrometres.
#[test]
fn access_times_are_nanoseconds() {
    for kind in ENTRY_KINDS {
        for order in 0..=4 {
            let bits = kind.talluri(EntryReach { order, sizes: 2 });
            for entries in [16, 64, 512] {
                for plan in [
                    TlbPlan::fully_associative(entries, bits),
                    TlbPlan::set_associative(entries, 4, bits),
                ] {
                    let time = plan.access_time();
                    assert!((5e-9..20e-9).contains(&time), "{plan:?}: {time}");
                }
            }
        }
    }
}

/// More entries and longer rows are slower.
#[test]
fn larger_structures_are_slower() {
    for sizes in [16, 64, 256, 1024].windows(2) {
        assert!(single(sizes[0]).access_time() < single(sizes[1]).access_time());
        assert!(single_four_way(sizes[0]).access_time() < single_four_way(sizes[1]).access_time());
    }
    let complete = |order| of(EntryKind::complete_subblock(), EntryReach::block(order), 64);
    for order in 1..4 {
        assert!(complete(order).access_time() < complete(order + 1).access_time());
    }
}

/// Structures of any shape have a finite time: one entry, one way, sets that are no power of two.
#[test]
fn any_shape_has_a_time() {
    let bits = single(1).bits;
    for (entries, ways) in [
        (1, 1),
        (3, 1),
        (2, 2),
        (1536, 12),
        (2048, 8),
        (1 << 24, 4),
        (7, 0),
    ] {
        let time = TlbPlan::set_associative(entries, ways, bits).access_time();
        assert!(time.is_finite() && time > 0.0, "{entries} in {ways}");
    }
    assert!(single(1).access_time() > 0.0);
}

/// Appendix B: valid bits of subblocks in the tag lengthen the match line, by one path each.
#[test]
fn valid_bits_in_the_tag_cost_time() {
    let plan = of(EntryKind::complete_subblock(), EntryReach::block(4), 64);
    let compared = TlbPlan {
        bits: plan.bits.with_valid_in_tag(16),
        ..plan
    };
    let [block, subblocks] = [plan, compared].map(|plan| plan.access_time());
    assert!(subblocks > 1.02 * block, "{subblocks} {block}");
    // A tag bit has two paths, a valid bit one; the wire is the same.
    let mut longer = plan;
    longer.bits.compared += 15;
    assert!(longer.access_time() - block > 1.7 * (subblocks - block));
}

/// Appendix A: a don't-care bit adds the wire of a cell to the match line, and nothing else.
#[test]
fn dont_care_bits_lengthen_the_match_line_little() {
    let superpage = of(EntryKind::superpage(), EntryReach::superpage(4), 64);
    let mut without = superpage;
    without.bits.dont_care = 0;
    let [with, without] = [superpage, without].map(|plan| plan.access_time());
    assert!(with > without && with < 1.005 * without, "{with} {without}");
}

/// Appendix C: column multiplexors are faster than more inputs of the output multiplexor, above
/// all for set-associative structures.
#[test]
fn column_multiplexors_save_time() {
    let part = |plan: &TlbPlan| {
        let [column, output] = [
            SubblockSelector::ColumnMultiplexor,
            SubblockSelector::OutputMultiplexor,
        ]
        .map(|selector| access_time(plan, selector));
        1.0 - column / output
    };
    let bits = EntryKind::complete_subblock().talluri(EntryReach::block(4));
    let fully = part(&TlbPlan::fully_associative(128, bits));
    let sets = part(&TlbPlan::set_associative(128, 4, bits));
    assert!((0.02..0.04).contains(&fully), "{fully}");
    assert!((0.2..0.3).contains(&sets), "{sets}");
    // One mapping needs no multiplexor.
    assert_eq!(part(&single(64)), 0.0);
}

/// Section 2.3: the multiplexor driver has two stages if a way yields one mapping.
#[test]
fn two_stages_are_faster_than_three() {
    let one = single_four_way(256);
    let mut two = one;
    // Two equal words of the same bits: the data array stays as it is.
    (two.bits.words, two.bits.data) = (2, 46);
    let [one, two] = [one, two].map(|plan| access_time(&plan, SubblockSelector::OutputMultiplexor));
    assert!(two > 1.01 * one, "{one} {two}");
}

/// A column multiplexor loads the bit lines with the pass transistors of all subblocks.
#[test]
fn column_multiplexors_slow_the_bit_lines() {
    let selected = of(EntryKind::complete_subblock(), EntryReach::block(4), 64);
    let mut whole = selected;
    whole.bits.words = 1;
    assert!(selected.access_time() > 1.005 * whole.access_time());
}

/// Drivers have a largest width, so the time of very long lines grows with their length.
#[test]
fn long_lines_outgrow_their_drivers() {
    let times = [512, 1024].map(|entries| single(entries).access_time());
    assert!(times[1] > 1.34 * times[0], "{times:?}");
}
