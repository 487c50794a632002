//! The policies that the others are held against.

use broadleaf_metrics::CellResult;
use broadleaf_policy::{Policy, parse};
use broadleaf_report::{BASELINE, REFERENCE};
use broadleaf_trace::MeasuredEnds;

use crate::failure::Failure;
use crate::run_time::{self, ALL_HUGE, BASE_AT_FAULTS, Weighing};

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

/// Adds the run time to each result, and to each reference of [`BASELINE`], which need not be among
/// the results.
///
/// # Errors
/// As [`run_time::add_run_times`].
pub(super) fn add_run_times(
    results: &mut Vec<CellResult>,
    references: &mut [CellResult],
    measured: Option<&MeasuredEnds>,
    weighing: &Weighing<'_>,
) -> Result<(), Failure> {
    let asked = results.len();
    let bases = references.iter().filter(|one| one.policy == BASELINE);
    results.extend(bases.cloned());
    run_time::add_run_times(results, references, measured, weighing)?;
    let bases = results.split_off(asked);
    for reference in references.iter_mut().filter(|one| one.policy == BASELINE) {
        let timed = bases.iter().find(|base| base.machine == reference.machine);
        reference.run_time = timed.and_then(|base| base.run_time);
    }
    Ok(())
}
