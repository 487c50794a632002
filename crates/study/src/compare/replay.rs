//! A replay of a plan over open traces, with its progress.

use std::num::NonZero;
use std::ops::ControlFlow;

use broadleaf_model::{Outcome, Plan};

use super::failure;
use crate::failure::Failure;
use crate::source::Trace;
use crate::source::pace::ReplayPace;
use crate::watch::{Task, Watch};

/// The task of a single pass.
const COMPARING: &str = "comparing";

/// Replays a trace in memory that other traces have used before.
///
/// # Errors
/// If a trace cannot be read, or if the replay refuses the trace.
pub fn replay(
    earlier: &mut [Trace],
    trace: &mut Trace,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Outcome, Failure> {
    let all: Vec<_> = (earlier.iter().chain([&*trace]))
        .map(|trace| {
            let pace = trace.pace();
            let work = pace.as_ref().map_or_else(|| trace.work(), ReplayPace::work);
            (trace.name().to_owned(), work, trace.meter(), pace)
        })
        .collect();
    let mut number = all.len() - 1;
    // The first turn may be long, so a task begins before it.
    let mut shown: (_, Box<dyn Task>) = (
        (1, COMPARING.to_owned(), number),
        watch.begin(COMPARING, all[number].1),
    );
    let mut show = |state: broadleaf_model::ReplayProgress| {
        number = state.earlier.unwrap_or(all.len() - 1);
        let (name, work, meter, pace) = &all[number];
        let doing = match (state.trial, state.earlier, state.passes) {
            (Some(trial), ..) => format!("choosing: trial {trial}"),
            (None, Some(_), _) => format!("before it: {name}"),
            (None, None, 2..) => format!("pass {} of {}", state.pass, state.passes),
            (None, None, _) => COMPARING.to_owned(),
        };
        let reading = (state.pass, doing, number);
        if shown.0 != reading {
            let task = watch.begin(&reading.1, *work);
            shown = (reading, task);
        }
        let done = match pace {
            Some(pace) => pace.bytes(state.accesses),
            None => meter.bytes(),
        };
        shown.1.set(done, state.accesses);
        going_on(watch)
    };
    let outcome = broadleaf_accel::run_after(earlier, trace, plan, &mut show);
    drop(shown);
    outcome.map_err(|error| failure(error, &all[number].0))
}

/// Stops a replay if its watcher asks for it.
pub(crate) fn going_on(watch: &dyn Watch) -> ControlFlow<()> {
    match watch.is_stopped() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Limits a plan to the memory that the machine gives this process.
pub(crate) fn within_machine(plan: Plan) -> Plan {
    match crate::room::available() {
        Some(bytes) => plan.within_bytes(bytes),
        None => plan,
    }
}

/// The number of threads that this process may use.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
