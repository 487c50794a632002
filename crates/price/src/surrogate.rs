//! The fitted surrogate of access times: two formulas fitted to the cells that Talluri printed.
//!
//! The surrogate describes these cells. It predicts no other technology, no other number of ways,
//! and nothing about the difference between fully associative and set-associative structures.

use crate::TlbPlan;

/// The label of each line with a figure of this module.
pub const LABEL: &str = "fitted surrogate";

/// The number of ways of the printed set-associative structures.
const FITTED_WAYS: u32 = 4;

/// The access time of a structure, in a unit of its own. `None` for set-associative structures
/// without four ways.
pub fn access_time(plan: &TlbPlan) -> Option<f64> {
    match plan.ways {
        None => Some(fully_associative(plan)),
        Some(FITTED_WAYS) => Some(four_way(plan)),
        Some(_) => None,
    }
}

/// Fitted to 124 ratios, all within 0.028.
fn fully_associative(plan: &TlbPlan) -> f64 {
    let entries = f64::from(plan.entries) / 256.0;
    let data = f64::from(plan.bits.data) / 368.0;
    1.0 + 0.0468 * entries.powi(2) + 0.3273 * entries.sqrt() + 0.2454 * data.sqrt()
}

/// Fitted to 40 ratios, all within 0.0113.
fn four_way(plan: &TlbPlan) -> f64 {
    let sets = f64::from(plan.sets()) / 64.0;
    let tag = f64::from(plan.bits.compared + plan.bits.dont_care) - f64::from(plan.index_bits());
    let data = f64::from(FITTED_WAYS * plan.bits.data) / 1472.0;
    1.0 + 0.0356 * sets
        + 0.0148 * sets.powi(2)
        + 0.168 * tag / 64.0
        + 0.0406 * f64::from(plan.bits.valid) / 16.0
        + 0.045 * data
        + 0.0154 * data.powi(2)
}
