//! The run time of a program under a policy: measured, or estimated from a table.

mod base;
mod cost;
mod density;
mod faults;
mod measured;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, RunTime, TraceSummary};
use broadleaf_report::BASELINE;
use broadleaf_trace::MeasuredEnds;

use crate::failure::Failure;
use base::base_of;
use density::WeighedCycles;
use measured::BothEnds;

pub(crate) use base::{BASE_AT_FAULTS, base_at_faults, frames_matter};
pub(crate) use density::Weighing;
pub(crate) use measured::ALL_HUGE;

/// Adds the run time to each result on a machine with TLBs of today.
///
/// `references` holds the results of [`BASELINE`] on each machine. If the run times were measured,
/// it holds those of [`ALL_HUGE`], and of [`BASE_AT_FAULTS`] where frames matter. A result of
/// limited memory has no run time: waiting for memory would be a part of it.
///
/// # Errors
/// If the run times were measured, and the trace cannot be replayed once more.
pub(crate) fn add_run_times(
    results: &mut [CellResult],
    references: &[CellResult],
    measured: Option<&MeasuredEnds>,
    weighing: &Weighing<'_>,
) -> Result<(), Failure> {
    let Weighing {
        listening, trace, ..
    } = weighing;
    let machines = listening.machines;
    let machine_of = |result: &CellResult| {
        let mut described = machines.iter();
        described.find(|machine| machine.name == result.machine && is_of_today(machine))
    };
    let reference = |policy: &str, result: &CellResult| {
        let mut all = references.iter();
        all.find(|other| other.policy == policy && other.machine == result.machine)
    };
    let base =
        |result: &CellResult| base_of(result, machine_of(result)?, references, listening.given);
    let ends_of = |result: &CellResult, weighed| {
        Some(BothEnds {
            machine: machine_of(result)?,
            base: base(result)?,
            huge: reference(ALL_HUGE, result)?,
            measured: measured?,
            instructions: trace.instructions,
            pages: trace.pages,
            weighed,
        })
    };
    let unknown = WeighedCycles::default();
    let is_between = |result: &&CellResult| {
        ends_of(result, &unknown).is_some_and(|ends| ends.is_between(result))
    };
    // Policies with equal counts have equal walks: one of them is weighed.
    let mut between = BTreeMap::new();
    let mut policies = BTreeSet::new();
    for result in results.iter().filter(is_between) {
        policies.insert(*between.entry(key(result)).or_insert(&*result.policy));
        // Each replay that weighs has the other kind of base pages anyway.
        let at_faults = base(result).filter(|base| base.policy == BASE_AT_FAULTS);
        policies.extend(at_faults.map(|base| &*base.policy));
    }
    let mut weighed = match policies.is_empty() {
        true => WeighedCycles::default(),
        false => weighing.weigh(policies)?,
    };
    for result in results.iter() {
        if let Some(equal) = between.get(&key(result)) {
            weighed.share(equal, result);
        }
    }
    for result in results {
        let ends = ends_of(result, &weighed);
        let by_measurement = ends.as_ref().and_then(|ends| ends.run_time(result));
        let by_table = || {
            let machine = machine_of(result)?;
            table::run_time(result, reference(BASELINE, result)?, trace, machine)
        };
        let mut run_time = by_measurement.or_else(by_table);
        if let (Some(ends), Some(run_time)) = (&ends, &mut run_time) {
            ends.add_system_time(result, run_time);
        }
        result.run_time = run_time;
    }
    Ok(())
}

/// Returns the run time by the table of walk costs, relative to `base`. Returns `None` if the
/// machine is not one of today, or the trace does not count instructions.
pub(crate) fn estimate(
    result: &CellResult,
    base: &CellResult,
    trace: &TraceSummary,
    machine: &Machine,
) -> Option<RunTime> {
    is_of_today(machine)
        .then(|| table::run_time(result, base, trace, machine))
        .flatten()
}

/// Returns the estimate of [`estimate`] relative to base pages with frames as those of the policy,
/// from `references`.
pub(crate) fn estimate_from(
    result: &CellResult,
    references: &[CellResult],
    trace: &TraceSummary,
    machine: &Machine,
) -> Option<RunTime> {
    estimate(
        result,
        base_of(result, machine, references, &[])?,
        trace,
        machine,
    )
}

/// Returns what policies of equal walks have in common.
fn key(result: &CellResult) -> (String, Vec<u64>) {
    let walks = result.walks.iter().map(|(_, walks)| walks);
    let counts = [result.l1_misses, result.whole_misses(), result.promotions];
    (
        result.machine.clone(),
        counts.into_iter().chain(walks).collect(),
    )
}

/// Returns true if a machine has two levels of TLBs, as the processors of today have. The table was
/// made from programs on such a processor, which executes instructions out of order.
fn is_of_today(machine: &Machine) -> bool {
    let levels = machine.design.structures();
    levels.iter().any(|structure| structure.level > 1)
}
