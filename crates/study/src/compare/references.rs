//! The policies that the others are held against.

use broadleaf_metrics::CellResult;
use broadleaf_policy::{Policy, parse};
use broadleaf_report::{BASELINE, REFERENCE};

use crate::failure::Failure;
use crate::run_time::{ALL_HUGE, BASE_AT_FAULTS};

/// Adds the policies with these names of the catalogue, except for those that are there.
///
/// # Errors
/// The catalogue lacks a policy.
pub(super) fn add<'n>(
    policies: &mut Vec<Box<dyn Policy>>,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<(), Failure> {
    for name in names {
        if policies.iter().all(|policy| policy.name() != name) {
            policies.push(parse(name).map_err(Failure::failed)?);
        }
    }
    Ok(())
}

/// Returns the results of all policies that others are held against.
pub(super) fn of(results: &[CellResult]) -> Vec<CellResult> {
    let names = [BASELINE, REFERENCE, ALL_HUGE, BASE_AT_FAULTS];
    let is_one = |result: &&CellResult| names.contains(&result.policy.as_str());
    results.iter().filter(is_one).cloned().collect()
}
