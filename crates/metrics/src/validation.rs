//! The record of a validation: predictions beside measurements of the same program.

use serde::Serialize;

use crate::{Provenance, RunFigures, RunTime, SecondsRange, TraceSummary};

/// The name and version of the schema of [`ValidationReport`].
pub const VALIDATION_SCHEMA: &str = "broadleaf.validate/1";

/// Predictions of a program's behaviour with several settings of huge pages, and measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidationReport {
    /// [`VALIDATION_SCHEMA`].
    pub schema: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The machine of the predictions.
    pub machine: String,
    /// The recording that the predictions follow from.
    pub trace: TraceSummary,
    /// The settings, with 4 KiB pages first and huge pages wherever they fit last.
    pub settings: Vec<ValidatedSetting>,
    /// The order of the settings by run time.
    pub order: OrderCheck,
    /// Miss rates over accesses, predicted and measured; empty without counters over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<MissRateCurve>,
    /// Notes on the measurement and the predictions.
    pub notes: Vec<String>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// One way to run a program: measured, and predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidatedSetting {
    /// The name: `never`, `madvise`, `always`, a policy's name, or `all huge`.
    pub name: String,
    /// The policy of the model.
    pub policy: String,
    /// True if the prediction of the run time rests on the measurement of this setting.
    pub is_end: bool,
    /// The measurement.
    pub measured: MeasuredSetting,
    /// The prediction between the two measured ends.
    pub predicted: PredictedSetting,
    /// The prediction from the machine's description and the recording alone.
    pub whole: WholePrediction,
    /// The changes against 4 KiB pages, compared; absent for the ends.
    pub change: Option<ChangeCheck>,
    /// The runs, in order. Runs at the same index of all settings belong to one round.
    pub runs: Vec<RunFigures>,
}

/// The measurement of a setting. Ranges are the tenth percentile, median and ninetieth percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredSetting {
    /// The user time.
    pub user_seconds: SecondsRange,
    /// The system time.
    pub system_seconds: SecondsRange,
    /// The saved share of the user time with 4 KiB pages, round by round.
    pub saved: [f64; 3],
    /// The median of the page faults.
    pub page_faults: u64,
    /// The median of the peaks of huge pages of 2 MiB; `None` if none could be seen.
    pub huge_pages_peak: Option<u64>,
    /// The median of the TLB misses; `None` if the processor does not count them.
    pub tlb_misses: Option<u64>,
    /// The median of the cycles; `None` if the processor does not count them.
    pub cycles: Option<u64>,
}

/// The prediction of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PredictedSetting {
    /// The user time; `None` if the ends say nothing about the policy.
    pub user_seconds: Option<SecondsRange>,
    /// The saved share of the user time with 4 KiB pages; `None` as for the user time.
    pub saved: Option<f64>,
    /// The system time: that of 4 KiB pages, less the faults saved, plus the huge pages made.
    /// `None` if the costs of faults are not known.
    pub system_seconds: Option<f64>,
    /// The page faults.
    pub page_faults: u64,
    /// The peak of huge pages of 2 MiB.
    pub huge_pages_peak: u64,
}

/// A prediction that uses no measurement of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WholePrediction {
    /// TLB misses of all levels.
    pub tlb_misses: u64,
    /// Cycles of page walks, by the machine's description.
    pub walk_cycles: u64,
    /// The run time by the table of walk costs; `None` if the machine is not one of today.
    pub run_time: Option<RunTime>,
}

/// A predicted change of the user time beside the measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ChangeCheck {
    /// True if the measured change exceeds five percent.
    pub is_large: bool,
    /// True if the predicted change is within a third of the measured one.
    pub is_within_a_third: bool,
    /// True if the median of the measured times lies in the predicted range.
    pub is_in_range: bool,
}

/// The order of settings by user time. Two settings are compared if their times differ by more
/// than their spread over the rounds: the tenth to the ninetieth percentile excludes zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCheck {
    /// Pairs of settings that are compared.
    pub compared: u64,
    /// Pairs whose predicted order is the measured one.
    pub agreeing: u64,
    /// The pairs of the opposite order, the faster one of the measurement first.
    pub disagreeing: Vec<[String; 2]>,
}

/// The rate of TLB misses over the accesses of a run, smoothed by a mean filter: measured by
/// counters, and predicted (Zhu 2018, figures 4.4 to 4.12).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MissRateCurve {
    /// The setting.
    pub setting: String,
    /// The file of the counters.
    pub file: String,
    /// The events that were added up to accesses, to misses, and to misses of code.
    pub events: [Vec<String>; 3],
    /// Intervals of the file in which accesses or misses were not counted.
    pub left_out: u64,
    /// The points of the measured curve: accesses so far, and misses for each 1,000 accesses.
    pub measured: Vec<[f64; 2]>,
    /// The points of the predicted curve, at the same shares of all accesses.
    pub predicted: Vec<[f64; 2]>,
    /// Misses for each 1,000 accesses of the whole run: measured and predicted.
    pub whole: [f64; 2],
    /// The mean distance of the curves, as a factor: 1 if they are equal. `None` if no point of
    /// both is above zero.
    pub factor: Option<f64>,
}
