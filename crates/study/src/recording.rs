//! Recordings: their names, their ends and their failures.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use broadleaf_record::system::GuestReport;
use broadleaf_record::valgrind::{
    Clock, Engine, Finished, MISSING_CHILDREN, Options, RecordError, UNRECORDED_CHILDREN,
};
use broadleaf_record::windows::WindowProgress;
use broadleaf_report::number::{grouped, size};
use broadleaf_report::signal;
use broadleaf_trace::{DEFAULT_LEVEL, Grain, Header, MeasuredEnds, TraceIndex, WriteError};

pub use broadleaf_units::PageSize;

use crate::failure::{Failure, reason};
use crate::foreign::is_imported;
use crate::output::{Access, ClaimRefused, Direct, KeptPath, Replace, argument, shown};
use crate::provenance::made_by;

/// A page size to align mappings to, as a user writes it.
///
/// # Errors
/// If the text is no such size.
pub fn size_to_align_to(text: &str) -> Result<PageSize, String> {
    let size = PageSize::from_short_name(text);
    size.filter(|size| (13..=40).contains(&size.shift()))
        .ok_or_else(|| format!("{text:?} is no page size above 4k; write 64k,2m"))
}

/// The name and version of an engine's recorder.
pub fn recorder_name(engine: Engine) -> String {
    made_by(match engine {
        Engine::Valgrind => "tool for Valgrind",
        Engine::Qemu => "plugin for QEMU",
        Engine::QemuSystem => "plugin for whole systems under QEMU",
    })
}

/// The refusal to record a process that runs already.
pub fn cannot_attach(pid: u32) -> Failure {
    Failure::Wrong(format!(
        "--attach {pid}: Valgrind and QEMU run a program from its start and cannot attach to a \
         running one: start it with `broadleaf record --skip N`, which records nothing until then. \
         `broadleaf top` and `broadleaf attach` observe running processes"
    ))
}

/// The place of a program in its windows, for a progress bar.
pub fn doing(window: &WindowProgress) -> String {
    let done = grouped(window.accesses);
    match (window.inside, window.number) {
        (true, number) => format!("recording window {number}, after {done} accesses:"),
        (false, number) => format!("before window {number}, after {done} accesses:"),
    }
}

/// The recording of a command and its children by page, with its run times at both ends. `prepare`
/// is called before the program starts.
pub fn plain_recording(
    command: &[OsString],
    ends: MeasuredEnds,
    prepare: fn(&mut Command),
) -> Options {
    Options {
        command: command.to_vec(),
        guest: None,
        engine: Engine::Valgrind,
        grain: Grain::Page,
        instructions: false,
        follow_children: true,
        code: false,
        sites: false,
        align: Vec::new(),
        clock: Clock::default(),
        windows: None,
        prepare,
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: Some(ends),
    }
}

/// Claims the name of a recording before anything is done.
///
/// # Errors
/// If the name is taken and `force` is not set, or if no file can be written there.
pub fn claim(path: &Path, force: bool) -> Result<Direct, ClaimRefused> {
    Direct::claim(path, force, Access::Owner, Replace::WhenWhole)
}

/// Claims `PROGRAM.bl` in this folder, or the first free name of `PROGRAM.1.bl`, `PROGRAM.2.bl` and
/// so on.
///
/// # Errors
/// If no name is free, or no file can be written there.
pub fn claim_free_name(program: &OsStr) -> Result<(PathBuf, Direct), Failure> {
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
            Err(ClaimRefused::Taken(_)) => {}
            claimed => return Ok((path, claimed?)),
        }
    }
    Err(Failure::wrong(
        "no name is free for the trace: give one with -o",
    ))
}

/// Completes the output of a recording. Warns if the program has processes that were not recorded,
/// and if its run times are those of all.
///
/// # Errors
/// If the recording failed, or the output cannot be completed. The message names the part of the
/// recording that was kept.
pub fn finish(
    outcome: Result<Finished<Direct>, RecordError>,
    path: &Path,
    kept: &KeptPath,
) -> Result<Finished<()>, Failure> {
    let finished = outcome.map_err(|error| explain(error, path, kept))?;
    let (output, finished) = finished.take_output();
    let failed = |error| explain(WriteError::Io(error).into(), path, kept);
    if let Some(head) = &finished.new_head {
        output.replace_start(head).map_err(failed)?;
    }
    // Of these two warnings, that on run times says more.
    if finished.new_note == Some(UNRECORDED_CHILDREN) {
        log::warn!("warning: {UNRECORDED_CHILDREN}");
    } else if let Some(lacking) = lacking_children(finished.unrecorded_children) {
        log::warn!("warning: {lacking}");
    }
    output.finish().map_err(failed)?;
    Ok(finished)
}

/// A sentence on the forked processes that a recording lacks; `None` if it lacks none.
fn lacking_children(count: u64) -> Option<String> {
    let lacked = match count {
        0 => return None,
        1 => "a child process".to_owned(),
        _ => format!("{} child processes", grouped(count)),
    };
    Some(format!(
        "the trace lacks {lacked}: --follow-children records them"
    ))
}

/// The size of a recording, and the program's end.
pub fn size_and_end(finished: &Finished<()>, path: &Path) -> String {
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

/// Returns the notes of a recording that each answer repeats: on its run times, and on an import.
pub(crate) fn repeated_notes(header: &Header) -> impl Iterator<Item = String> + use<> {
    let is_imported = is_imported(header);
    let notes = header.notes.clone().into_iter();
    let of_children = [UNRECORDED_CHILDREN, MISSING_CHILDREN];
    notes.filter(move |note| is_imported || of_children.contains(&note.as_str()))
}

/// The command that a user may type next.
pub fn next_command(finished: &Finished<()>, path: &Path) -> String {
    let of_system = finished.guest.as_ref().map(|_| " --policy guest,4k,greedy");
    let policies = of_system.unwrap_or_default();
    format!("broadleaf compare {}{policies}", argument(path))
}

/// Sentences on a guest: the end of its command, and its kernel's counters beside the trace's.
pub fn guest_lines(guest: &GuestReport) -> Vec<String> {
    let mut lines = vec![match guest.status {
        Some(status) => format!(
            "the guest's command {}",
            ending(ExitStatus::from_raw(status))
        ),
        None => "warning: the guest ended before its command".to_owned(),
    }];
    let beside = |what: &str, ours: u64, kernel: Option<u64>| {
        let kernel = kernel.map_or_else(|| "unknown".to_owned(), grouped);
        format!(
            "{what}: {} in the trace, {kernel} by the guest's counters",
            grouped(ours)
        )
    };
    lines.push(beside("page faults", guest.faults, guest.kernel_faults));
    let huge = guest.kernel_huge_pages;
    lines.push(beside("huge pages", guest.huge_pages, huge));
    if let Some(events) = guest.events {
        lines.push(format!("kernel events: {}", grouped(events.recorded)));
        for (count, what) in [
            (
                events.invalid,
                "stores to the page of kernel events are no events",
            ),
            (
                events.homeless,
                "kernel events are about unknown address spaces",
            ),
        ] {
            if count > 0 {
                lines.push(format!("warning: {} {what}", grouped(count)));
            }
        }
    }
    if guest.lacks_events {
        lines.push(
            "warning: the guest announced no page of kernel events, so the trace has none: load \
             its module before the recording begins, or remove the line on events from its file \
             of symbols"
                .to_owned(),
        );
    }
    if guest.has_fast_timers {
        lines.push(
            "warning: the guest's timers could not be made slower: they are four times as fast as \
             its clock"
                .to_owned(),
        );
    }
    if let Some(check) = guest.check {
        lines.push(format!(
            "translations: {} compared with QEMU's, {} different; {} references to devices",
            grouped(check.compared),
            grouped(check.different),
            grouped(check.devices)
        ));
    }
    if guest.untranslated > 0 {
        lines.push(format!(
            "warning: {} references had no translation",
            grouped(guest.untranslated)
        ));
    }
    lines
}

fn ending(status: ExitStatus) -> String {
    ending_of(status.code(), status.signal())
}

/// A sentence on the end of a program: its exit status, or the number of the signal that ended it.
pub fn program_end(code: Option<i32>, number: Option<i32>) -> String {
    format!("the program {}", ending_of(code, number))
}

fn ending_of(code: Option<i32>, number: Option<i32>) -> String {
    match (code, number) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(number)) => format!("was ended by {}", signal(number)),
        (None, None) => "ended".to_owned(),
    }
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

/// Converts an error to a message, which names the part of the recording that was kept.
fn explain(error: RecordError, path: &Path, kept: &KeptPath) -> Failure {
    let name = shown(path);
    match error {
        RecordError::NoProgram { program, error } => Failure::cannot_run(&program, &error),
        RecordError::NoCommand
        | RecordError::CannotRun { .. }
        | RecordError::NoGuest
        | RecordError::Guest { .. }
        | RecordError::EngineLacks(_)
        | RecordError::Path(_) => Failure::wrong(error),
        RecordError::NotBuilt
        | RecordError::QemuNotBuilt
        | RecordError::NoQemu(_)
        | RecordError::NoQemuSystem
        | RecordError::QemuVersion { .. }
        | RecordError::NoPlugins(_)
        | RecordError::NothingRecorded(_) => Failure::failed(error),
        RecordError::Folder { folder, error } => Failure::Failed(format!(
            "{}: cannot make the recorder's temporary files there: {}; TMPDIR can name another \
             folder",
            shown(&folder),
            reason(&error)
        )),
        RecordError::Io(error) => Failure::Failed(format!(
            "{name}: the recording failed: {}{}",
            reason(&error),
            left(kept)
        )),
        RecordError::Write(WriteError::Io(error)) => Failure::Failed(format!(
            "{name}: cannot write the trace: {}{}",
            reason(&error),
            left(kept)
        )),
        RecordError::Write(_) | RecordError::Tool(_) => {
            Failure::Failed(format!("{name}: {error}{}", left(kept)))
        }
    }
}

/// Describes the readable part of a failed recording, with its path.
fn left(kept: &KeptPath) -> String {
    let Some(path) = kept.at() else {
        return "; nothing of it was kept".to_owned();
    };
    let index = File::open(path)
        .ok()
        .and_then(|file| TraceIndex::read(BufReader::new(file)).ok());
    match index.map_or(0, |index| index.totals().accesses()) {
        0 => format!("; {} holds no whole chunk", shown(path)),
        saved => format!(
            "; {} holds the {} accesses written before, and --keep-going reads them",
            shown(path),
            grouped(saved)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::{Encoder, Grain, Header, Visit};

    fn full(path: &Path) -> String {
        let error = std::io::Error::from_raw_os_error(28);
        explain(WriteError::Io(error).into(), path, &KeptPath::in_file(path)).to_string()
    }

    #[test]
    fn a_full_disk_error_names_the_readable_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bl");
        let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).unwrap();
        let visit = Visit {
            unit: 7,
            loads: 1234,
            loads_before_store: 1234,
            ..Visit::default()
        };
        encoder.visits(&[visit]).unwrap();
        let bytes = encoder.finish().unwrap();
        // The disk had no room for the index.
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        let said = full(&path);
        assert!(
            said.ends_with(
                "x.bl holds the 1,234 accesses written before, and --keep-going reads them"
            ) && said.contains("x.bl: cannot write the trace: No space left on device; "),
            "{said}"
        );
        // The head alone, or less.
        for cut in [0, 10, 60] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let said = full(&path);
            assert!(said.ends_with("x.bl holds no whole chunk"), "{said}");
        }
    }

    #[test]
    fn a_process_that_executes_another_program_is_one_process() {
        assert_eq!(processes(1, 1), "");
        assert_eq!(processes(1, 7), " of a process that executed 7 programs");
        assert_eq!(processes(3, 5), " of 3 processes that executed 5 programs");
        assert_eq!(processes(3, 3), " of 3 processes");
    }
}
