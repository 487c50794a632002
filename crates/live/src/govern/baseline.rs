//! `run --baseline N`: a program with the policy and without, in turns.

use std::ffi::OsString;
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use broadleaf_governor::{Counters, Spent, Usage, allow_only_advised, allow_thp};
use broadleaf_metrics::{BASELINE_SCHEMA, BaselineReport, RunFigures};
use rustix::process::Signal;

use super::child::{ProgramSignals, cannot_wait, ending, governor_of, spawn};
use super::limits::ManyFiles;
use super::run::noted_obstacles;
use super::{GovernRequest, govern};
use broadleaf_study::failure::Failure;
use broadleaf_study::provenance::provenance;
use broadleaf_study::watch::{Watch, Work};

/// A program to run with a policy and without.
pub struct BaselineRequest<'a> {
    /// The policy and its limits.
    pub govern: &'a GovernRequest,
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The number of runs each way.
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
    /// A signal from outside ended the program with this status.
    Interrupted(ExitStatus),
}

/// Runs a program as often with the policy as without, in turns. The program has no input, and its
/// standard output is thrown away.
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
    let rounds = request.rounds.get();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let task = request
        .watch
        .begin("running", Work::Runs(u64::from(rounds) * 2));
    for round in 0..rounds {
        // The order changes from round to round, so that neither always finds the warmer machine.
        for second in [false, true] {
            let governed = (round % 2 == 0) == second;
            let figures = match once(request, governed)? {
                OneRun::Figures(figures) => figures,
                OneRun::Interrupted(status) => return Ok(BaselineEnd::Interrupted(status)),
            };
            if governed { &mut with } else { &mut without }.push(figures);
            task.set(0, 0);
        }
    }
    drop(task);
    let command = request.command.iter();
    let command = command.map(|word| word.to_string_lossy().into_owned());
    Ok(BaselineEnd::Report(Box::new(BaselineReport {
        schema: BASELINE_SCHEMA.to_owned(),
        command: command.collect(),
        policy: request.govern.policy.name(),
        with,
        without,
        provenance: provenance(&request.govern.configuration),
    })))
}

/// The end of one run.
enum OneRun {
    Figures(RunFigures),
    Interrupted(ExitStatus),
}

/// Runs the program once. Without the governor, the settings of the system apply.
fn once(request: &BaselineRequest<'_>, governed: bool) -> Result<OneRun, Failure> {
    // Before Linux 6.18 there is no such setting, and that of the system applies to all runs.
    let _ = if governed {
        allow_only_advised()
    } else {
        allow_thp()
    };
    let mut command = Command::new(&request.command[0]);
    command
        .args(&request.command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut counters = Counters::of_children();
    let began = Instant::now();
    let handed_over = request.signals.hand_over();
    let child = spawn(command)?;
    handed_over.started(child.id());
    let (status, spent) = if governed {
        let mut governor = governor_of(&child, request.govern.ward()?, false)?;
        let _many = ManyFiles::allowed();
        let ended = ending(child, request.signals);
        let mut status = None;
        govern(
            &mut governor,
            |_| (),
            |wait| {
                status = ended.recv_timeout(wait).ok();
                status.is_some()
            },
        );
        let status = match status {
            Some(status) => status,
            None => ended.recv().map_err(Failure::failed)?,
        };
        (
            status,
            Some((governor.spent(), governor.ward().tally().huge_bytes_peak)),
        )
    } else {
        let ended = ending(child, request.signals);
        (ended.recv().map_err(Failure::failed)?, None)
    };
    drop(handed_over);
    let elapsed = began.elapsed();
    let (status, usage) = status.map_err(cannot_wait)?;
    let interrupts = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
    if status
        .signal()
        .is_some_and(|signal| interrupts.contains(&signal))
    {
        return Ok(OneRun::Interrupted(status));
    }
    if !status.success() {
        return Err(Failure::Failed(format!(
            "{}: it failed ({status}), so its figures are meaningless",
            request.command[0].display()
        )));
    }
    let figures = figures(usage, elapsed, spent, &mut counters);
    Ok(OneRun::Figures(figures))
}

fn figures(
    usage: Usage,
    elapsed: Duration,
    spent: Option<(Spent, u64)>,
    counters: &mut Counters,
) -> RunFigures {
    RunFigures {
        elapsed_seconds: elapsed.as_secs_f64(),
        cpu_seconds: usage.cpu.as_secs_f64(),
        page_faults: usage.faults,
        rss_bytes_peak: usage.rss_bytes_peak,
        governor_cpu_seconds: spent.map(|(spent, _)| (spent.looking + spent.acting).as_secs_f64()),
        huge_bytes_peak: spent.map(|(_, huge)| huge),
        tlb_misses: counters.tlb_misses(),
        cycles: counters.cycles(),
    }
}
