//! `record`: run a program and write down what it does.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use broadleaf_governor::{MayLack, inherit_closed_streams, inherit_signals};
use broadleaf_record::valgrind::{self, Finished, Options};
use broadleaf_report::number::{grouped, size};
use broadleaf_report::signal;
use broadleaf_trace::{DEFAULT_LEVEL, WriteError};
use signal_hook::consts::SIGSEGV;

use crate::args::{Engine, Record};
use crate::interrupt::LeftToChild;
use crate::progress::Progress;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Direct, Refused, Replace, refuse_input, shown};
use broadleaf_study::provenance::made_by;
use broadleaf_study::recording::explain;

pub(crate) fn run(options: &Record) -> Result<(), Failure> {
    if options
        .output
        .as_deref()
        .is_some_and(|path| path.as_os_str() == "-")
    {
        return Err(Failure::wrong(
            "a recording needs a file: standard output is the program's own",
        ));
    }
    // These are checked before the output is claimed: a program that is named by a path, and all
    // files that its arguments name.
    let inputs = || options.command.iter().map(Path::new);
    let (path, output) = match &options.output {
        Some(path) => {
            refuse_input(path, inputs())?;
            (path.clone(), claim(path, options.force)?)
        }
        None => claim_free_name(&options.command[0])?,
    };
    let what = match options.engine {
        Engine::Valgrind => Options {
            command: options.command.clone(),
            grain: options.grain.into(),
            instructions: options.instructions,
            follow_children: options.follow_children,
            clock: options.clock(),
            prepare: as_inherited,
            level: DEFAULT_LEVEL,
            recorder: made_by("tool for Valgrind"),
        },
    };
    // On a terminal the program's output and a bar would spoil each other.
    let finished = record_to(output, &what, &path, !stdout().is_terminal())?;
    say!("{}", summary(&finished, &path));
    if let Some(cause) = finished.likely_cause {
        say!("warning: the recorder itself may have made the program fail. Likely cause: {cause}");
    }
    if finished.status.signal() == Some(SIGSEGV) {
        say!(
            "broadleaf has no option --main-stacksize, which Valgrind may recommend above: if the stack overflowed, raise its limit (ulimit -s) and record again"
        );
    }
    Ok(())
}

/// Has the program begin with the signals and closed streams that this command was started with.
fn as_inherited(command: &mut Command) {
    inherit_signals(command);
    inherit_closed_streams(command, MayLack::InputAndOutput);
}

/// Claims `path` and records to it. Shows a progress bar if `bar` is set.
pub(crate) fn record(
    what: &Options,
    path: &Path,
    force: bool,
    bar: bool,
) -> Result<Finished<()>, Failure> {
    record_to(claim(path, force)?, what, path, bar)
}

/// Claims the name of a recording before anything is done.
///
/// # Errors
/// If the name is taken and `force` is not set, or if no file can be written there.
pub(crate) fn claim(path: &Path, force: bool) -> Result<Direct, Refused> {
    Direct::claim(path, force, Access::Owner, Replace::WhenWhole)
}

/// Records to an output, and shows a progress bar if `bar` is set.
pub(crate) fn record_to(
    mut output: Direct,
    what: &Options,
    path: &Path,
    bar: bool,
) -> Result<Finished<()>, Failure> {
    output.sync_now_and_then();
    let kept = output.kept();
    let bar = Progress::of_recording("recording", bar);
    let left = LeftToChild::starting();
    let mut show = |state: valgrind::RecordProgress| {
        left.begun(None);
        bar.set(state.bytes, state.accesses);
    };
    let outcome = valgrind::record(what, output, &mut show);
    drop((left, bar));
    let finished = outcome.map_err(|error| explain(error, path, &kept))?;
    let (output, finished) = finished.take_output();
    output.finish().map_err(|error| {
        let error = WriteError::Io(error);
        explain(error.into(), path, &kept)
    })?;
    Ok(finished)
}

/// The recording's path and size, and the program's end.
fn summary(finished: &Finished<()>, path: &Path) -> String {
    format!("{}: {}", shown(path), size_and_end(finished, path))
}

/// The size of a recording, and the program's end.
pub(crate) fn size_and_end(finished: &Finished<()>, path: &Path) -> String {
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let accesses = finished.totals.accesses();
    let processes = processes(finished.processes, finished.spaces);
    format!(
        "{} accesses{processes}, a trace of {} ({:.3} bytes an access), in {:.1} s; the program {}",
        grouped(accesses),
        size(bytes),
        bytes as f64 / accesses.max(1) as f64,
        finished.elapsed.as_secs_f64(),
        ending(finished.status),
    )
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(number)) => format!("was ended by {}", signal(number)),
        (None, None) => "ended".to_owned(),
    }
}

/// Claims `PROGRAM.bl` in this folder, or the first free name of `PROGRAM.1.bl`, `PROGRAM.2.bl` and
/// so on.
fn claim_free_name(program: &OsStr) -> Result<(PathBuf, Direct), Failure> {
    let program = Path::new(program).file_name().unwrap_or(program);
    let named = |number: u32| {
        let mut name = OsString::from(program);
        name.push(if number == 0 {
            ".bl".to_owned()
        } else {
            format!(".{number}.bl")
        });
        PathBuf::from(name)
    };
    for path in (0..u32::MAX).map(named) {
        match claim(&path, false) {
            Err(Refused::Taken(_)) => {}
            claimed => return Ok((path, claimed?)),
        }
    }
    Err(Failure::wrong(
        "no name is free for the trace: give one with -o",
    ))
}

/// Describes the processes and programs of a recording, if it holds more than one of either.
fn processes(processes: u32, programs: u32) -> String {
    let executed = format!("that executed {programs} programs");
    match (processes, programs) {
        (1, 1) => String::new(),
        (1, _) => format!(" of a process {executed}"),
        (count, programs) if programs > count => format!(" of {count} processes {executed}"),
        (count, _) => format!(" of {count} processes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_executes_another_program_is_one_process() {
        assert_eq!(processes(1, 1), "");
        assert_eq!(processes(1, 7), " of a process that executed 7 programs");
        assert_eq!(processes(3, 5), " of 3 processes that executed 5 programs");
        assert_eq!(processes(3, 3), " of 3 processes");
    }
}
