//! `run --baseline N` and `record --measure N`: a program with base pages and with huge pages, in
//! turns.

use std::ffi::OsString;
use std::num::NonZero;
use std::process::ExitStatus;
use std::time::Duration;

use broadleaf_governor::measure_fault_costs;
use broadleaf_metrics::{BASELINE_SCHEMA, BaselineReport, RunFigures};
use broadleaf_trace::{EndRun, FaultCosts, MeasuredEnds};

use super::GovernRequest;
use super::child::ProgramSignals;
use super::ends::{Arm, Turns, TurnsEnd};
use super::run::noted_obstacles;
use super::run_input::RunInput;
use crate::obstacles::obstacles;
use broadleaf_study::failure::Failure;
use broadleaf_study::provenance::provenance;
use broadleaf_study::watch::Watch;

/// A program to run with a policy and without.
pub struct BaselineRequest<'a> {
    /// The policy and its limits.
    pub govern: &'a GovernRequest,
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The number of runs each way. One more run each way comes first and is dropped.
    pub rounds: NonZero<u32>,
    /// Receives signals while the program runs.
    pub signals: &'static dyn ProgramSignals,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The end of a baseline.
#[derive(Debug)]
pub enum BaselineEnd {
    /// All runs succeeded.
    Report(Box<BaselineReport>),
    /// A signal from outside ended the program with this status. The report has the rounds before,
    /// if there were any.
    Interrupted(ExitStatus, Option<Box<BaselineReport>>),
}

/// Runs a program as often under the policy as at both ends (base pages alone, and huge pages
/// wherever they fit) and as the system is set, in turns.
///
/// # Errors
/// If an obstacle on this machine is fatal, or the program fails.
pub fn baseline(request: &BaselineRequest<'_>) -> Result<BaselineEnd, Failure> {
    if noted_obstacles(request.govern)
        .iter()
        .any(|obstacle| obstacle.is_fatal())
    {
        return Err(Failure::failed(
            "nothing can be compared: the program would run without superpages both times",
        ));
    }
    let turns = Turns {
        command: request.command,
        input: RunInput::here(),
        signals: request.signals,
        watch: request.watch,
    };
    let ward = || request.govern.ward();
    let arms = [
        Arm::BasePages,
        Arm::AsSet,
        Arm::Governed(&ward),
        Arm::HugePages(None),
    ];
    Ok(match turns.take(&arms, request.rounds.get())? {
        TurnsEnd::Figures(figures) => BaselineEnd::Report(report(request, figures)),
        TurnsEnd::Interrupted(status, figures) => {
            let has_rounds = figures.iter().all(|runs| !runs.is_empty());
            let report = has_rounds.then(|| report(request, figures));
            BaselineEnd::Interrupted(status, report)
        }
    })
}

/// The report of the figures of each arm.
fn report(request: &BaselineRequest<'_>, figures: Vec<Vec<RunFigures>>) -> Box<BaselineReport> {
    let mut figures = figures.into_iter();
    let mut next = || figures.next().unwrap_or_default();
    let (base_pages, without, with, huge_pages) = (next(), next(), next(), next());
    let command = request.command.iter();
    let command = command.map(|word| word.to_string_lossy().into_owned());
    Box::new(BaselineReport {
        schema: BASELINE_SCHEMA.to_owned(),
        command: command.collect(),
        policy: request.govern.policy.name(),
        with,
        without,
        base_pages,
        huge_pages,
        provenance: provenance(&request.govern.configuration),
    })
}

/// A program whose run time is measured at both ends.
pub struct EndsRequest<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The number of runs each way. One more run each way comes first and is dropped.
    pub rounds: NonZero<u32>,
    /// Receives signals while the program runs.
    pub signals: &'static dyn ProgramSignals,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// The end of a measurement.
#[derive(Debug)]
pub enum EndsEnd {
    /// All runs succeeded.
    Measured(MeasuredEnds),
    /// A signal from outside ended the program with this status.
    Interrupted(ExitStatus),
}

/// Runs a program with base pages alone and with huge pages wherever they fit, in turns, and
/// measures the costs of page faults on this machine.
///
/// # Errors
/// If this machine cannot make huge pages for another process, or the program fails.
pub fn measure_ends(request: &EndsRequest<'_>) -> Result<EndsEnd, Failure> {
    refuse_obstacles("the run time with huge pages cannot be measured")?;
    let turns = Turns {
        command: request.command,
        input: RunInput::here(),
        signals: request.signals,
        watch: request.watch,
    };
    let arms = [Arm::BasePages, Arm::HugePages(None)];
    Ok(match turns.take(&arms, request.rounds.get())? {
        TurnsEnd::Figures(figures) => EndsEnd::Measured(ends_of_runs(&figures[0], &figures[1])),
        TurnsEnd::Interrupted(status, _) => EndsEnd::Interrupted(status),
    })
}

/// Refuses to measure if this machine cannot make huge pages for another process.
pub(super) fn refuse_obstacles(consequence: &str) -> Result<(), Failure> {
    match obstacles(false, false).iter().find(|one| one.is_fatal()) {
        Some(obstacle) => Err(Failure::Failed(format!("{consequence}: {obstacle}"))),
        None => Ok(()),
    }
}

/// The runs at both ends as recordings hold them, with the costs of page faults on this machine.
pub(super) fn ends_of_runs(base: &[RunFigures], huge: &[RunFigures]) -> MeasuredEnds {
    let costs = measure_fault_costs();
    let rounds = base.iter().zip(huge);
    let nanos = |cost: Option<Duration>| cost.map_or(0, |cost| cost.as_nanos() as u64);
    MeasuredEnds {
        rounds: rounds
            .map(|(base, huge)| [base, huge].map(end_run))
            .collect(),
        costs: FaultCosts {
            base_nanos: nanos(costs.base),
            huge_nanos: nanos(costs.huge),
            collapse_nanos: copying_nanos(huge).unwrap_or(nanos(costs.collapse)),
        },
    }
}

/// The fewest huge pages that the governor makes in a run whose time counts. Attempts that fail
/// take time too, and would be most of it.
const FEW_COPIES: u64 = 8;

/// The time of a copy of base pages into a huge page, in this program: the median of the runs, in
/// nanoseconds. Returns `None` if the governor made few huge pages: the program got them at page
/// faults, or has few.
fn copying_nanos(runs: &[RunFigures]) -> Option<u64> {
    let of_run = |run: &RunFigures| {
        let copies = run
            .promotions
            .filter(|promotions| *promotions >= FEW_COPIES)?;
        Some((run.acting_cpu_seconds? * 1e9) as u64 / copies)
    };
    let mut nanos: Vec<u64> = runs.iter().filter_map(of_run).collect();
    nanos.sort_unstable();
    nanos.get(nanos.len() / 2).copied()
}

fn end_run(run: &RunFigures) -> EndRun {
    let micros = |seconds: f64| (seconds * 1e6).round() as u64;
    EndRun {
        user_micros: micros(run.user_seconds),
        system_micros: micros(run.system_seconds),
        elapsed_micros: micros(run.elapsed_seconds),
        faults: run.page_faults,
        rss_bytes_peak: run.rss_bytes_peak,
        huge_bytes_peak: run.huge_bytes_peak.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_costs_what_it_cost_in_the_median_run_that_made_copies() {
        let run = |seconds, copies| RunFigures {
            acting_cpu_seconds: Some(seconds),
            promotions: Some(copies),
            ..RunFigures::default()
        };
        let runs = [
            run(0.04, 80),
            run(0.001, 0),
            run(0.09, 90),
            run(0.02, 10),
            run(0.1, 2),
        ];
        assert_eq!(copying_nanos(&runs), Some(1_000_000));
        assert_eq!(copying_nanos(&[run(0.001, 0), RunFigures::default()]), None);
        assert_eq!(copying_nanos(&[run(0.01, 7)]), None);
    }
}
