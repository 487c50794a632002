//! The run time of a program under a policy: measured, or estimated from a table.

mod measured;
mod table;

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, TraceSummary};
use broadleaf_report::BASELINE;
use broadleaf_trace::MeasuredEnds;

pub(crate) use measured::ALL_HUGE;

/// Adds the run time to each result on a machine with TLBs of today.
///
/// `references` holds the results of [`BASELINE`] on each machine, and those of [`ALL_HUGE`] if
/// the run times were measured. A result of limited memory has none: waiting for memory would be a
/// part of the run time.
pub(crate) fn add_run_times(
    results: &mut [CellResult],
    references: &[CellResult],
    machines: &[Machine],
    trace: &TraceSummary,
    measured: Option<&MeasuredEnds>,
) {
    let is_described = |result: &CellResult| {
        (machines.iter()).any(|machine| machine.name == result.machine && is_of_today(machine))
    };
    for result in results {
        let of = |policy: &str| {
            (references.iter())
                .find(|other| other.policy == policy && other.machine == result.machine)
        };
        let Some(base) = of(BASELINE).filter(|_| is_described(result)) else {
            continue;
        };
        let by_measurement = measured.zip(of(ALL_HUGE)).and_then(|(measured, huge)| {
            let ends = measured::Ends {
                base,
                huge,
                measured,
                instructions: trace.instructions,
                pages: trace.pages,
            };
            ends.run_time(result)
        });
        result.run_time = by_measurement.or_else(|| table::run_time(result, base, trace));
    }
}

/// Returns true if a machine has two levels of TLBs, as the processors of today have. The table was
/// made from programs on such a processor, which executes instructions out of order.
fn is_of_today(machine: &Machine) -> bool {
    let levels = machine.design.structures();
    levels.iter().any(|structure| structure.level > 1)
}
