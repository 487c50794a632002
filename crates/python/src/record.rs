//! `record`: a program's memory references.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;

use broadleaf_record::valgrind::{self, Clock, Engine, Options};
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{refuse_input, shown};
use broadleaf_study::provenance::made_by;
use broadleaf_study::recording::{claim, claim_free_name, finish, size_and_end};
use broadleaf_study::watch::{Watch, Work};
use broadleaf_trace::{DEFAULT_LEVEL, Grain};
use pyo3::prelude::*;
use rustix::process::{Pid, Signal, kill_process};

use crate::errors::invalid;
use crate::run::Run;
use crate::words::value_of;

/// The units of visits.
pub(crate) const GRAINS: [(&str, Grain); 2] = [("page", Grain::Page), ("line", Grain::Line)];

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
    command, *, output, grain, instructions, follow_children, sites, clock, clock_rate, force,
    progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn record(
    py: Python<'_>,
    command: Vec<OsString>,
    output: Option<PathBuf>,
    grain: String,
    instructions: bool,
    follow_children: bool,
    sites: bool,
    clock: String,
    clock_rate: u32,
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
    let options = Options {
        engine: Engine::Valgrind,
        guest: None,
        command,
        grain: value_of(py, "grain", &grain, &GRAINS)?,
        instructions,
        follow_children,
        sites,
        align: Vec::new(),
        clock: value_of(py, "clock", &clock, &clocks)?,
        // Rust's library gives the program the default effect of SIGPIPE and no blocked signal.
        prepare: |_| {},
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: None,
    };
    let (path, finished) = Run::new(progress).work(py, |run| {
        let (path, mut output) = match output {
            Some(path) => {
                let inputs = options.command.iter().map(std::path::Path::new);
                refuse_input(&path, inputs)?;
                let output = claim(&path, force)?;
                (path, output)
            }
            None => claim_free_name(&program)?,
        };
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
        let outcome = valgrind::record(&options, output, &mut show);
        drop(task);
        let finished = finish(outcome, &path, &kept)?;
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

/// Asks a recorded program to end.
fn end_program(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // A program that ended meanwhile needs no signal.
        let _ = kill_process(pid, Signal::TERM);
    }
}
