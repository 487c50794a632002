//! Chip area in register-bit equivalents (rbe), after Mulder, Quach and Flynn 1991 as in
//! Talluri 1995, section 2.2.

use crate::TlbPlan;
use std::f64::consts::SQRT_2;

/// Decoders and control.
const CONTROL: f64 = 130.0;
/// A cell of random-access memory. A cell of content-addressable memory is `SQRT_2` times as high
/// and as wide.
const RAM_CELL: f64 = 0.6;
/// The drivers and sense amplifiers of an array, in columns and in rows.
const PADDING: f64 = 6.0;
/// The comparators of a tag array, in rows.
const COMPARATORS: f64 = 6.0;

/// The area of a structure.
pub fn of(plan: &TlbPlan) -> f64 {
    match plan.ways {
        None => fully_associative(plan),
        Some(ways) => set_associative(plan, ways),
    }
}

/// Data in random-access memory, with the status bits, and tags in content-addressable memory.
fn fully_associative(plan: &TlbPlan) -> f64 {
    let entries = f64::from(plan.entries);
    let data = array(entries, f64::from(plan.bits.data + plan.bits.status));
    let tags = array(SQRT_2 * entries, SQRT_2 * f64::from(plan.bits.tag()));
    CONTROL + data + tags
}

/// Two arrays of random-access memory. The status bits are with the tags, which lack the bits that
/// choose the set.
fn set_associative(plan: &TlbPlan, ways: u32) -> f64 {
    let sets = f64::from(plan.sets());
    let tag = (plan.bits.tag() + plan.bits.status).saturating_sub(plan.index_bits());
    let data = array(sets, f64::from(plan.bits.data) * f64::from(ways));
    let tags = array(sets + COMPARATORS, f64::from(tag) * f64::from(ways));
    CONTROL + data + tags
}

/// An array of cells, with its drivers and sense amplifiers.
fn array(rows: f64, columns: f64) -> f64 {
    RAM_CELL * (rows + PADDING) * (columns + PADDING)
}
