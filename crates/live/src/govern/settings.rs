//! `validate`: a program under several settings of huge pages, in turns.

use std::ffi::OsString;
use std::num::NonZero;
use std::process::ExitStatus;

use broadleaf_governor::Ward;
use broadleaf_metrics::RunFigures;
use broadleaf_policy::parse;
use broadleaf_trace::MeasuredEnds;

use super::baseline::{ends_of_runs, refuse_obstacles};
use super::child::ProgramSignals;
use super::ends::{Arm, Turns, TurnsEnd, prompt_ward};
use super::kernel_setting::KernelSetting;
use super::live_policy;
use super::run_input::RunInput;
use broadleaf_study::failure::Failure;
use broadleaf_study::names::apart;
use broadleaf_study::watch::Watch;

/// The least rounds whose spread says something.
const FEW: u32 = 5;

/// A way to run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveSetting {
    /// Base pages alone.
    Never,
    /// Huge pages as the kernel makes them.
    Kernel(KernelSetting),
    /// Huge pages where a policy wants them, at once and without limits.
    Policy(String),
    /// Huge pages wherever they fit.
    AllHuge,
}

impl LiveSetting {
    /// The name in results.
    pub fn name(&self) -> &str {
        match self {
            Self::Never => "never",
            Self::Kernel(setting) => setting.name(),
            Self::Policy(name) => name,
            Self::AllHuge => "all huge",
        }
    }
}

/// A request to measure a program under several settings.
pub struct SettingsRequest<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The number of runs of each setting. One more run of each comes first and is dropped.
    pub rounds: NonZero<u32>,
    /// The policies by name, one or several separated by commas in each text.
    pub policies: &'a [String],
    /// True if the kernel's switch may be changed while the program runs.
    pub may_switch: bool,
    /// Receives signals while the program runs.
    pub signals: &'static dyn ProgramSignals,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The runs of a program under several settings.
#[derive(Debug)]
pub struct MeasuredSettings {
    /// The settings with their runs, base pages first and all huge pages last.
    pub settings: Vec<(LiveSetting, Vec<RunFigures>)>,
    /// The runs at both ends, as recordings hold them.
    pub ends: MeasuredEnds,
    /// Notes on settings that this machine does not have.
    pub notes: Vec<String>,
}

/// The end of a measurement.
#[derive(Debug)]
pub enum SettingsEnd {
    /// All runs succeeded.
    Measured(MeasuredSettings),
    /// A signal from outside ended the program with this status.
    Interrupted(ExitStatus),
}

/// Runs a program with base pages, as the kernel makes huge pages, under policies, and with huge
/// pages wherever they fit, in turns.
///
/// # Errors
/// If a policy cannot decide on live processes, this machine cannot make huge pages for another
/// process, or the program fails.
pub fn measure_settings(request: &SettingsRequest<'_>) -> Result<SettingsEnd, Failure> {
    let policies = request.policies.iter().flat_map(|names| apart(names));
    let policies: Result<Vec<String>, Failure> =
        policies.map(|name| Ok(live_policy(name)?.name())).collect();
    let policies = policies?;
    refuse_obstacles("the run time with huge pages cannot be measured")?;
    let mut notes = Vec::new();
    if request.rounds.get() < FEW {
        notes.push(format!(
            "fewer than {FEW} rounds show large differences alone: repeat with --rounds 7"
        ));
    }
    let mut settings = vec![LiveSetting::Never];
    for kernel in [KernelSetting::Advised, KernelSetting::Always] {
        match kernel.why_not(request.may_switch) {
            None => settings.push(LiveSetting::Kernel(kernel)),
            Some(why) => notes.push(format!("{} was not measured: {why}", kernel.name())),
        }
    }
    let mut wards: Vec<Box<dyn Fn() -> Result<Ward, Failure>>> = Vec::new();
    for name in policies {
        settings.push(LiveSetting::Policy(name.clone()));
        // A policy has no copy, but its name makes it again.
        wards.push(Box::new(move || {
            Ok(prompt_ward(parse(&name).map_err(Failure::failed)?))
        }));
    }
    settings.push(LiveSetting::AllHuge);
    let at_faults = request.may_switch.then_some(KernelSetting::Always);
    let mut wards = wards.iter();
    let arms: Vec<Arm<'_>> = (settings.iter())
        .filter_map(|setting| match setting {
            LiveSetting::Never => Some(Arm::BasePages),
            LiveSetting::Kernel(kernel) => Some(Arm::Kernel(*kernel)),
            LiveSetting::Policy(_) => wards.next().map(|ward| Arm::Governed(ward)),
            LiveSetting::AllHuge => Some(Arm::HugePages(at_faults)),
        })
        .collect();
    let turns = Turns {
        command: request.command,
        input: RunInput::here(),
        signals: request.signals,
        watch: request.watch,
    };
    let figures = match turns.take(&arms, request.rounds.get())? {
        TurnsEnd::Figures(figures) => figures,
        TurnsEnd::Interrupted(status, _) => return Ok(SettingsEnd::Interrupted(status)),
    };
    let ends = match (figures.first(), figures.last()) {
        (Some(base), Some(huge)) => ends_of_runs(base, huge),
        _ => MeasuredEnds::default(),
    };
    Ok(SettingsEnd::Measured(MeasuredSettings {
        settings: settings.into_iter().zip(figures).collect(),
        ends,
        notes,
    }))
}
