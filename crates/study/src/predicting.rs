//! Predictions of a program's behaviour under several policies on one machine, from its recording.

use std::num::NonZero;
use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_metrics::{CellResult, RunTime, TraceSummary};
use broadleaf_report::BASELINE;

use crate::compare::{Request, WARM_UP, compare, policies};
use crate::failure::Failure;
use crate::machines::machines;
use crate::native::NATIVE;
use crate::run_time::estimate_from;
use crate::watch::Watch;

/// The machine of predictions on a computer that no machine of the catalogue fits.
const OTHERWISE: &str = "skylake";

/// The machine of predictions.
#[derive(Debug)]
pub struct OneMachine {
    /// The machine.
    pub machine: Machine,
    /// A note if the machine is not that of this computer because none fits.
    pub note: Option<String>,
}

/// A request for predictions.
pub struct PredictionRequest<'a> {
    /// The recording, with the run times at both ends.
    pub trace: &'a Path,
    /// The policies, by name.
    pub policies: &'a [String],
    /// The machine.
    pub machine: &'a Machine,
    /// Predict misses over time too.
    pub misses_over_time: bool,
    /// The number of threads; `None` for as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The predictions of several policies.
#[derive(Debug)]
pub struct Predictions {
    /// The recording.
    pub trace: TraceSummary,
    /// A prediction for each policy, in the order of the request.
    pub all: Vec<Prediction>,
}

/// The prediction of one policy.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The counts, and the run time by the measured ends.
    pub result: CellResult,
    /// The run time by the table of walk costs, which knows no measurement of the program.
    pub estimate: Option<RunTime>,
}

/// Returns the machine of a name. Without a name, returns the machine of this computer, or
/// `skylake` with a note if none fits.
///
/// # Errors
/// Those of [`machines`]. [`Failure::Wrong`] if the name means several machines.
pub fn one_machine(name: Option<&str>) -> Result<OneMachine, Failure> {
    let (mut found, note) = match name {
        Some(name) => (machines(&[name.to_owned()])?, None),
        None => match machines(&[NATIVE.to_owned()]) {
            Ok(found) => (found, None),
            Err(why) => {
                let note = format!(
                    "{why}. The predictions are for {OTHERWISE}: `broadleaf probe` measures this \
                     machine"
                );
                (machines(&[OTHERWISE.to_owned()])?, Some(note))
            }
        },
    };
    match (found.pop(), found.is_empty()) {
        (Some(machine), true) => Ok(OneMachine { machine, note }),
        _ => Err(Failure::Wrong(format!(
            "{}: it means several machines: give one",
            name.unwrap_or(NATIVE)
        ))),
    }
}

/// Replays a recording under policies, and predicts the run time under each.
///
/// # Errors
/// Those of [`compare`].
pub fn predict(request: &PredictionRequest<'_>) -> Result<Predictions, Failure> {
    let answer = compare(
        Request {
            trace: request.trace,
            keep_going: false,
            max_accesses: None,
            policies: policies(request.policies, &[], false)?,
            machines: vec![request.machine.clone()],
            threads: request.threads,
            curves: false,
            misses_over_time: request.misses_over_time,
            warm_up: WARM_UP,
            restarts: false,
            memory: None,
            cache: None,
            explain_plan: None,
            watch: request.watch,
        },
        &[BASELINE],
    )?;
    let (comparison, references) = answer.with_references();
    let of = |name: &String| {
        let mut results = comparison.results.iter();
        let result = results.find(|result| result.asked == *name || result.policy == *name)?;
        let trace = &comparison.trace;
        let estimate = estimate_from(result, references, trace, request.machine);
        Some(Prediction {
            result: result.clone(),
            estimate,
        })
    };
    let all: Option<Vec<Prediction>> = request.policies.iter().map(of).collect();
    Ok(Predictions {
        trace: comparison.trace.clone(),
        all: all.ok_or_else(|| Failure::failed("a policy of the predictions has no result"))?,
    })
}
