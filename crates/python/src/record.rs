//! `record`: a program's memory references.

use std::cell::Cell;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use broadleaf_live::govern::{EndsEnd, EndsRequest, HandedOver, ProgramSignals, measure_ends};
use broadleaf_record::valgrind::{self, Clock, Engine, Finished, Options};
use broadleaf_record::windows::{WindowStretch, windows};
use broadleaf_study::engine_options::refuse_options;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Direct, refuse_input, shown};
use broadleaf_study::provenance::made_by;
use broadleaf_study::recording::{claim, claim_free_name, finish, size_and_end, size_to_align_to};
use broadleaf_study::watch::{Watch, Work};
use broadleaf_trace::{DEFAULT_LEVEL, Grain, MeasuredEnds};
use pyo3::prelude::*;
use rustix::process::{Pid, Signal, kill_process};

use crate::errors::{exception, invalid};
use crate::run::Run;
use crate::words::value_of;

/// The units of visits.
pub(crate) const GRAINS: [(&str, Grain); 2] = [("page", Grain::Page), ("line", Grain::Line)];

/// The engines that write a trace.
const ENGINES: [(&str, Engine, &str); 2] = [
    ("valgrind", Engine::Valgrind, "tool for Valgrind"),
    ("qemu", Engine::Qemu, "plugin for QEMU"),
];

/// The signals of Python's process. None is passed on: a study that is stopped ends its program.
pub(crate) struct KeptSignals;

impl ProgramSignals for KeptSignals {
    fn hand_over(&self) -> Box<dyn HandedOver> {
        Box::new(Self)
    }

    fn program_stopped(&self) {}
}

impl HandedOver for KeptSignals {
    fn started(&self, _: u32) {}

    fn ended(self: Box<Self>) {}
}

/// A finished recording: path, accesses, processes, exit status, signal, seconds, summary, cause.
type Recorded = (
    PathBuf,
    u64,
    u32,
    Option<i32>,
    Option<i32>,
    f64,
    String,
    Option<&'static str>,
);

/// Records a program. `broadleaf.record` documents the arguments.
#[pyfunction]
#[pyo3(signature = (
    command, *, output, engine, grain, instructions, code, follow_children, sites, align, skip,
    window, every, clock, clock_rate, measure, force, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn record(
    py: Python<'_>,
    command: Vec<OsString>,
    output: Option<PathBuf>,
    engine: String,
    grain: String,
    instructions: bool,
    code: bool,
    follow_children: bool,
    sites: bool,
    align: Vec<String>,
    skip: Option<String>,
    window: Option<String>,
    every: Option<String>,
    clock: Option<String>,
    clock_rate: u32,
    measure: Option<u32>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Recorded> {
    let Some(program) = command.first().cloned() else {
        return Err(invalid(py, "no program to record was given"));
    };
    if !(1..=1_000_000).contains(&clock_rate) {
        return Err(invalid(
            py,
            "clock_rate is a number of instructions from 1 to 1000000",
        ));
    }
    let clocks = [
        ("program", Clock::Program(clock_rate)),
        ("date", Clock::Date(clock_rate)),
        ("wall", Clock::Wall),
    ];
    let engines = ENGINES.map(|(name, engine, tool)| (name, (engine, tool)));
    let name = engine;
    let (engine, tool) = value_of(py, "engine", &name, &engines)?;
    let mut sizes = Vec::new();
    for size in align {
        let size = size_to_align_to(&size);
        sizes.push(size.map_err(|error| invalid(py, format!("align: {error}")))?);
    }
    let given = [
        ("--code", code),
        ("--sites", sites),
        ("--align", !sizes.is_empty()),
        ("--clock program", clock.as_deref() == Some("program")),
        ("--clock date", clock.as_deref() == Some("date")),
        ("--clock-rate", clock_rate != Clock::RATE),
        ("--skip", skip.is_some()),
        ("--for", window.is_some()),
        ("--every", every.is_some()),
    ];
    refuse_options(&name, &given).map_err(|failure| exception(py, &failure))?;
    let stretch = |name: &str, text: Option<String>| {
        let parsed = text.map(|text| text.parse::<WindowStretch>()).transpose();
        parsed.map_err(|error| invalid(py, format!("{name}: {error}")))
    };
    let windows = windows(
        stretch("skip", skip)?,
        stretch("window", window)?,
        stretch("every", every)?,
    );
    let windows = windows.map_err(|error| invalid(py, error))?;
    let clock = clock.unwrap_or_else(|| "program".to_owned());
    let rounds = match measure {
        None => None,
        Some(rounds) => Some(
            NonZero::new(rounds)
                .ok_or_else(|| invalid(py, "measure is a number of rounds, at least 1"))?,
        ),
    };
    let mut options = Options {
        engine,
        guest: None,
        command,
        grain: value_of(py, "grain", &grain, &GRAINS)?,
        instructions,
        follow_children,
        code,
        sites,
        align: sizes,
        windows,
        clock: value_of(py, "clock", &clock, &clocks)?,
        // Rust's library gives the program the default effect of SIGPIPE and no blocked signal.
        prepare: |_| {},
        level: DEFAULT_LEVEL,
        recorder: made_by(tool),
        measured: None,
    };
    let (path, finished) = Run::new(progress).work(py, |run| {
        let (path, output) = match output {
            Some(path) => {
                let inputs = options.command.iter().map(std::path::Path::new);
                refuse_input(&path, inputs)?;
                let output = claim(&path, force)?;
                (path, output)
            }
            None => claim_free_name(&program)?,
        };
        if let Some(rounds) = rounds {
            options.measured = Some(ends(&options.command, rounds, run)?);
        }
        let finished = record_to(output, &options, &path, run)?;
        Ok::<_, Failure>((path, finished))
    })?;
    let (code, signal) = {
        use std::os::unix::process::ExitStatusExt;
        (finished.status.code(), finished.status.signal())
    };
    let summary = format!("{}: {}", shown(&path), size_and_end(&finished, &path));
    Ok((
        path,
        finished.totals.accesses(),
        finished.processes,
        code,
        signal,
        finished.elapsed.as_secs_f64(),
        summary,
        finished.likely_cause,
    ))
}

/// Runs a command with base pages and with huge pages, in turns.
fn ends(command: &[OsString], rounds: NonZero<u32>, run: &Run) -> Result<MeasuredEnds, Failure> {
    let end = measure_ends(&EndsRequest {
        command,
        rounds,
        signals: &KeptSignals,
        watch: run,
    })?;
    match end {
        EndsEnd::Measured(measured) => Ok(measured),
        EndsEnd::Interrupted(status) => Err(interrupted(status)),
    }
}

/// The failure of a program that a signal from outside ended.
pub(crate) fn interrupted(status: std::process::ExitStatus) -> Failure {
    Failure::Failed(format!("a signal ended the program ({status})"))
}

/// Records to a file that was claimed.
pub(crate) fn record_to(
    mut output: Direct,
    options: &Options,
    path: &Path,
    run: &Run,
) -> Result<Finished<()>, Failure> {
    output.sync_now_and_then();
    let kept = output.kept();
    let task = run.begin("recording", Work::Unknown);
    let signalled = Cell::new(false);
    let mut show = |state: valgrind::RecordProgress| {
        task.set(state.bytes, state.accesses);
        // An exception ends the program. The recorder then completes the trace.
        if run.is_stopped() && !signalled.replace(true) {
            end_program(state.process);
        }
    };
    let outcome = valgrind::record(options, output, &mut show);
    drop(task);
    finish(outcome, path, &kept)
}

/// Asks a recorded program to end.
fn end_program(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // A program that ended meanwhile needs no signal.
        let _ = kill_process(pid, Signal::TERM);
    }
}
