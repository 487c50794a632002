//! `record`: runs a program and records its memory references.

use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use broadleaf_governor::{MayLack, inherit_closed_streams, inherit_signals};
use broadleaf_live::govern::{EndsEnd, EndsRequest, measure_ends};
use broadleaf_live::passed_on::LeftToChild;
use broadleaf_live::same_end::as_program;
use broadleaf_record::valgrind::{self, Finished, Options};
use broadleaf_record::windows::windows;
use broadleaf_trace::{DEFAULT_LEVEL, MeasuredEnds};
use signal_hook::consts::SIGSEGV;

use crate::args::{EngineChoice, RecordArgs};
use crate::commands::govern::PROGRAM_SIGNALS;
use crate::progress::{Bars, Task, TaskBar};
use broadleaf_study::failure::Failure;
use broadleaf_study::measured_ends::measured_sentence;
use broadleaf_study::output::{Direct, refuse_input, shown};
use broadleaf_study::recording::{
    claim, claim_free_name, doing, finish, guest_lines, next_command, recorder_name, size_and_end,
};

pub(crate) fn run(options: &RecordArgs) -> Result<(), Failure> {
    options.check_engine()?;
    if options.engine == EngineChoice::Trap {
        return super::trap::run(options);
    }
    if options
        .output
        .as_deref()
        .is_some_and(|path| path.as_os_str() == "-")
    {
        return Err(Failure::wrong(
            "a recording needs a file: standard output is the program's own",
        ));
    }
    let windows = windows(options.skip, options.r#for, options.every).map_err(Failure::wrong)?;
    // Checked before the output is claimed: a program that is a path, and files of its arguments.
    let inputs = || options.command.iter().map(Path::new);
    let (path, output) = match &options.output {
        Some(path) => {
            refuse_input(path, inputs())?;
            (path.clone(), claim(path, options.force)?)
        }
        None => claim_free_name(&options.command[0])?,
    };
    let measured = options.measure.map(|rounds| measured(options, rounds));
    let measured = measured.transpose()?;
    let what = Options {
        engine: options.engine.into(),
        command: options.command.clone(),
        guest: options.machine(),
        grain: options.grain.into(),
        instructions: options.instructions,
        follow_children: options.follow_children,
        code: options.code,
        sites: options.sites,
        align: options.align.clone(),
        clock: options.clock(),
        windows,
        prepare: as_inherited,
        level: DEFAULT_LEVEL,
        recorder: recorder_name(options.engine.into()),
        measured,
    };
    // On a terminal, the output of the program and a bar would mix.
    let finished = record_to(output, &what, &path, !stdout().is_terminal())?;
    say!("{}", summary(&finished, &path));
    let of_guest = finished.guest.iter().flat_map(guest_lines);
    of_guest.for_each(|line| say!("{line}"));
    if let Some(cause) = finished.likely_cause {
        say!("warning: the recorder itself may have made the program fail. Likely cause: {cause}");
    }
    say!("next: {}", next_command(&finished, &path));
    if finished.status.signal() == Some(SIGSEGV) && options.engine == EngineChoice::Valgrind {
        say!(
            "broadleaf has no option --main-stacksize, which Valgrind may recommend above: if the \
            stack overflowed, raise its limit (ulimit -s) and record again"
        );
    }
    Ok(())
}

/// Starts a program as when its time was measured: it has no input, and its standard output is
/// thrown away.
pub(crate) fn unheard(command: &mut Command) {
    as_inherited(command);
    command.stdin(Stdio::null()).stdout(Stdio::null());
}

/// Runs the program with base pages and with huge pages, and prints the difference.
fn measured(options: &RecordArgs, rounds: NonZero<u32>) -> Result<MeasuredEnds, Failure> {
    let measured = ends_of(&options.command, rounds)?;
    say!("measured: {}", measured_sentence(&measured));
    Ok(measured)
}

/// Runs a command with base pages and with huge pages.
pub(crate) fn ends_of(command: &[OsString], rounds: NonZero<u32>) -> Result<MeasuredEnds, Failure> {
    let end = measure_ends(&EndsRequest {
        command,
        rounds,
        signals: &PROGRAM_SIGNALS,
        watch: &Bars,
    })?;
    match end {
        EndsEnd::Measured(measured) => Ok(measured),
        EndsEnd::Interrupted(status) => Err(as_program(status)),
    }
}

/// Starts the program with the signals and closed streams that this command was started with.
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

/// Records to an output, and shows a progress bar if `bar` is set.
pub(crate) fn record_to(
    mut output: Direct,
    what: &Options,
    path: &Path,
    bar: bool,
) -> Result<Finished<()>, Failure> {
    output.sync_now_and_then();
    let kept = output.kept();
    let bar = TaskBar::of_recording("recording", bar);
    let left = LeftToChild::starting();
    let mut show = |state: valgrind::RecordProgress| {
        left.begun(None);
        if let Some(window) = &state.window {
            bar.doing(doing(window));
        }
        bar.set(state.bytes, state.accesses);
    };
    let outcome = valgrind::record(what, output, &mut show);
    drop((left, bar));
    finish(outcome, path, &kept)
}

/// The recording's path and size, and the program's end.
fn summary(finished: &Finished<()>, path: &Path) -> String {
    format!("{}: {}", shown(path), size_and_end(finished, path))
}
