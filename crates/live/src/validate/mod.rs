//! Predictions of a program beside measurements of the same program, for several settings of huge
//! pages.

mod checks;
mod curves;

use std::path::Path;
use std::process::ExitStatus;

use broadleaf_metrics::{
    MeasuredSetting, PredictedSetting, RunFigures, SecondsRange, VALIDATION_SCHEMA,
    ValidatedSetting, ValidationReport, WholePrediction, percentiles,
};
use broadleaf_study::answer::kernel::{SETTINGS, policy_with};
use broadleaf_study::failure::Failure;
use broadleaf_study::perf_counters::CounterCurve;
use broadleaf_study::predicting::{OneMachine, Prediction, PredictionRequest, predict};
use broadleaf_study::provenance::provenance;
use broadleaf_trace::MeasuredEnds;

use crate::govern::{
    LiveSetting, MeasuredSettings, SettingsEnd, SettingsRequest, measure_settings,
};
use checks::{change_of, order_of};
use curves::curve_of;

pub use curves::CountersFile;

/// The bytes of a huge page.
const HUGE: u64 = 2 << 20;
/// Shorter runs show large differences alone, in seconds.
const SHORT: f64 = 1.0;
/// The base pages of a huge page.
const PAGES_OF_HUGE: u64 = 512;

/// Records the program with its run times at both ends, to [`ValidationRequest::trace`].
pub type RecordWithEnds<'a> = &'a mut dyn FnMut(MeasuredEnds) -> Result<(), Failure>;

/// A request to compare predictions with measurements.
pub struct ValidationRequest<'a> {
    /// The settings to measure.
    pub settings: SettingsRequest<'a>,
    /// The recording of the program, which holds the run times at both ends.
    pub trace: &'a Path,
    /// The machine.
    pub machine: OneMachine,
    /// Counters that were read over time, with their files.
    pub counters: Vec<(CountersFile, CounterCurve)>,
    /// The configuration's text, whose hash is in the report.
    pub configuration: &'a str,
}

/// The end of a validation.
#[derive(Debug)]
pub enum Validated {
    /// The predictions beside the measurements.
    Report(Box<ValidationReport>),
    /// A signal from outside ended the program with this status.
    Interrupted(ExitStatus),
}

/// Measures a program, records it, predicts what was measured, and compares.
///
/// # Errors
/// If the program cannot be measured or recorded, the recording cannot be replayed, or the kernel's
/// settings cannot be read.
pub fn validate(
    request: ValidationRequest<'_>,
    record: RecordWithEnds<'_>,
) -> Result<Validated, Failure> {
    let measured = match measure_settings(&request.settings)? {
        SettingsEnd::Measured(measured) => measured,
        SettingsEnd::Interrupted(status) => return Ok(Validated::Interrupted(status)),
    };
    record(measured.ends.clone())?;
    let report = compared(request, measured)?;
    Ok(Validated::Report(Box::new(report)))
}

fn compared(
    request: ValidationRequest<'_>,
    measured: MeasuredSettings,
) -> Result<ValidationReport, Failure> {
    let OneMachine { machine, note } = request.machine;
    let MeasuredSettings {
        settings,
        mut notes,
        ..
    } = measured;
    notes.extend(note);
    let base = settings.first().map_or(&[][..], |(_, runs)| runs);
    let user: Vec<f64> = base.iter().map(|run| run.user_seconds).collect();
    if let Some([_, middle, _]) = percentiles(&user)
        && middle < SHORT
    {
        notes.push(format!(
            "the runs take {middle:.2} s of user time: differences of a few percent show in runs \
             of a second or more"
        ));
    }
    let policies: Result<Vec<String>, Failure> =
        settings.iter().map(|(setting, _)| model(setting)).collect();
    let policies = policies?;
    let predictions = predict(&PredictionRequest {
        trace: request.trace,
        policies: &policies,
        machine: &machine,
        misses_over_time: !request.counters.is_empty(),
        threads: None,
        watch: request.settings.watch,
    })?;
    let last = settings.len().saturating_sub(1);
    let mut all = Vec::new();
    for (at, ((setting, runs), prediction)) in settings.iter().zip(&predictions.all).enumerate() {
        let measured = measured_setting(runs, base);
        let predicted = predicted_setting(prediction);
        let is_end = at == 0 || at == last;
        all.push(ValidatedSetting {
            name: setting.name().to_owned(),
            policy: policies[at].clone(),
            is_end,
            change: change_of(&measured, &predicted).filter(|_| !is_end),
            measured,
            predicted,
            whole: WholePrediction {
                tlb_misses: prediction.result.l2_misses,
                walk_cycles: prediction.result.walk_cycles,
                run_time: prediction.estimate,
            },
            runs: runs.clone(),
        });
    }
    let mut curves = Vec::new();
    for (file, counted) in &request.counters {
        let of = all.iter().position(|one| one.name == file.setting);
        let result = of.map(|at| &predictions.all[at].result);
        match result.and_then(|result| curve_of(file, counted, result)) {
            Some(curve) => curves.push(curve),
            None => notes.push(format!(
                "{}: there is no setting {}, so nothing is compared with these counters",
                file.path.display(),
                file.setting
            )),
        }
    }
    let words = request.settings.command.iter();
    let configuration = format!("{}\n{machine:?}", request.configuration);
    Ok(ValidationReport {
        schema: VALIDATION_SCHEMA.to_owned(),
        command: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        machine: machine.name,
        trace: predictions.trace,
        order: order_of(&all),
        settings: all,
        curves,
        notes,
        provenance: provenance(&configuration),
    })
}

/// The model's policy for a setting.
fn model(setting: &LiveSetting) -> Result<String, Failure> {
    match setting {
        LiveSetting::Never => Ok("4k".to_owned()),
        LiveSetting::Policy(name) => Ok(name.clone()),
        LiveSetting::AllHuge => Ok("greedy".to_owned()),
        LiveSetting::Kernel(kernel) => policy_with(Path::new(SETTINGS), kernel.name())
            .ok_or_else(|| Failure::failed("the kernel's settings of huge pages cannot be read")),
    }
}

fn measured_setting(runs: &[RunFigures], base: &[RunFigures]) -> MeasuredSetting {
    let range = |of: fn(&RunFigures) -> f64| {
        let values: Vec<f64> = runs.iter().map(of).collect();
        let [low, middle, high] = percentiles(&values).unwrap_or_default();
        SecondsRange { low, middle, high }
    };
    let saved: Vec<f64> = (base.iter().zip(runs))
        .filter(|(base, _)| base.user_seconds > 0.0)
        .map(|(base, run)| 1.0 - run.user_seconds / base.user_seconds)
        .collect();
    MeasuredSetting {
        user_seconds: range(|run| run.user_seconds),
        system_seconds: range(|run| run.system_seconds),
        saved: percentiles(&saved).unwrap_or_default(),
        page_faults: median(runs, |run| Some(run.page_faults)).unwrap_or(0),
        huge_pages_peak: median(runs, |run| Some(run.huge_bytes_peak? / HUGE)),
        tlb_misses: median(runs, |run| run.tlb_misses),
        cycles: median(runs, |run| run.cycles),
    }
}

/// The median of a count, if every run has it.
fn median(runs: &[RunFigures], of: impl Fn(&RunFigures) -> Option<u64>) -> Option<u64> {
    let values: Option<Vec<f64>> = runs.iter().map(|run| Some(of(run)? as f64)).collect();
    percentiles(&values?).map(|[_, middle, _]| middle.round() as u64)
}

fn predicted_setting(prediction: &Prediction) -> PredictedSetting {
    let result = &prediction.result;
    let run_time = result.run_time.as_ref();
    let user_seconds = run_time.and_then(|run_time| run_time.user_seconds);
    let system_seconds = run_time.and_then(|run_time| run_time.system_seconds);
    let made = result.promotions.saturating_sub(result.demotions);
    PredictedSetting {
        user_seconds,
        saved: user_seconds.and(run_time.map(|run_time| run_time.gain())),
        system_seconds: system_seconds.map(|range| range.middle),
        page_faults: result.page_faults,
        huge_pages_peak: match &result.memory {
            Some(memory) => memory.peak_superpage_pages / PAGES_OF_HUGE,
            None => made,
        },
    }
}
