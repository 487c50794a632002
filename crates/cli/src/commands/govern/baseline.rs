//! `run --baseline N`: with the policy and without, in turns.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use broadleaf_governor::{Counters, Spent, Usage, allow_only_advised, allow_thp};
use broadleaf_metrics::{BASELINE_SCHEMA, BaselineReport, RunFigures};
use broadleaf_report::{View, baseline_table};

use super::child::{cannot_wait, ending, governor_of, spawn};
use super::limits::ManyFiles;
use super::outcome::{Where, print};
use super::run::as_program;
use super::{govern, ward};
use crate::args::{Run, TableOrJson};
use crate::interrupt::LeftToChild;
use crate::progress::Progress;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Output, json};
use broadleaf_study::provenance::provenance;

/// Runs the program so many times each way.
pub(super) fn run(
    options: &Run,
    rounds: NonZero<u32>,
    place: Where,
    view: View,
) -> Result<(), Failure> {
    let rounds = rounds.get();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let bar = Progress::of_runs(u64::from(rounds) * 2);
    for round in 0..rounds {
        // Which comes first changes from round to round, so that neither always finds the warmer machine.
        for second in [false, true] {
            let governed = (round % 2 == 0) == second;
            let figures = once(options, governed)?;
            if governed { &mut with } else { &mut without }.push(figures);
            bar.set(0, 0);
        }
    }
    drop(bar);
    let report = BaselineReport {
        schema: BASELINE_SCHEMA.to_owned(),
        command: options
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        policy: ward(&options.govern)?.policy().name(),
        with,
        without,
        provenance: provenance(&format!("{options:?}")),
    };
    // A file has no width.
    let view = match options.govern.output {
        Some(_) => View::default(),
        None => view,
    };
    let text = match options.govern.format {
        TableOrJson::Table => baseline_table(&report, view),
        TableOrJson::Json => json(&report)?,
    };
    // What the program writes to its own is thrown away, so standard output is free for the result.
    let place = match place {
        Where(None) => Where(Some(Output::stdout())),
        place => place,
    };
    print(place, &text)
}

/// Runs it once. Without the governor the system's settings hold, whatever they are.
fn once(options: &Run, governed: bool) -> Result<RunFigures, Failure> {
    // Before Linux 6.18 there is no such setting, and the system's holds both times.
    let _ = if governed {
        allow_only_advised()
    } else {
        allow_thp()
    };
    let mut command = Command::new(&options.command[0]);
    command
        .args(&options.command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut counters = Counters::of_children();
    let began = Instant::now();
    let left = LeftToChild::awaiting();
    let child = spawn(command)?;
    left.begun(Some(child.id()));
    let (status, spent) = if governed {
        let mut governor = governor_of(&child, ward(&options.govern)?, false)?;
        let _many = ManyFiles::allowed();
        let ended = ending(child);
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
        (ending(child).recv().map_err(Failure::failed)?, None)
    };
    drop(left);
    let elapsed = began.elapsed();
    let (status, usage) = status.map_err(cannot_wait)?;
    if status
        .signal()
        .is_some_and(|signal| matches!(signal, SIGINT | SIGTERM | SIGHUP))
    {
        return Err(as_program(status));
    }
    if !status.success() {
        return Err(Failure::Failed(format!(
            "{}: it failed ({status}), so its figures are meaningless",
            options.command[0].display()
        )));
    }
    Ok(figures(usage, elapsed, spent, &mut counters))
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
