//! Recordings of real programs on this machine, made on demand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use broadleaf_record::system::{GuestFile, GuestMachine};
use broadleaf_record::valgrind::{Clock, Engine, Options};
use broadleaf_trace::{DEFAULT_LEVEL, Grain, VisitEnds};

use super::PaperSetting;
use crate::failure::{Failure, reason};
use crate::output::shown;
use crate::provenance::made_by;
use crate::recording::guest_lines;
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};

/// Returns true if the program exists. Otherwise a note says that it is left out.
pub(crate) fn is_here(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if !found {
        log::info!("{program} is not on this machine: left out");
    }
    found
}

/// The recording of a command in the folder `work`, with its number of accesses. The recording is
/// in the folder of the setting, if there is one.
pub(crate) fn recording(
    setting: &PaperSetting,
    name: &str,
    command: impl IntoIterator<Item = OsString>,
    work: &Path,
) -> Result<(Trace, u64), Failure> {
    open(&recorded(
        setting,
        RecordedDetail::Pages,
        name,
        command,
        work,
    )?)
}

/// The detail of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedDetail {
    /// The pages of data.
    Pages,
    /// The cache lines of data and of instructions, and the code.
    Lines,
}

/// Records a command in the folder `work`, unless its recording exists already. Returns the path of
/// the recording. A recording has its name only when it is whole, so an interrupted one is made
/// again.
pub(crate) fn recorded(
    setting: &PaperSetting,
    detail: RecordedDetail,
    name: &str,
    command: impl IntoIterator<Item = OsString>,
    work: &Path,
) -> Result<PathBuf, Failure> {
    let folder = setting.folder.as_deref().unwrap_or(work);
    let ending = match detail {
        RecordedDetail::Pages => "bl",
        RecordedDetail::Lines => "code.bl",
    };
    let path = folder.join(format!("{name}.{ending}"));
    if path.exists() {
        log::info!("{name} is recorded already");
        return Ok(path);
    }
    log::info!("recording {name} ...");
    let options = Options {
        grain: match detail {
            RecordedDetail::Pages => Grain::Page,
            RecordedDetail::Lines => Grain::Line,
        },
        instructions: detail == RecordedDetail::Lines,
        code: detail == RecordedDetail::Lines,
        ..options(silently_in(work, command))
    };
    record_once(setting, name, &options, folder, &path)?;
    Ok(path)
}

/// Records a command in a guest that has these files in its folder `/root`, unless its recording
/// exists already. Returns the path of the recording.
pub(crate) fn recorded_in_guest(
    setting: &PaperSetting,
    guest: &Path,
    name: &str,
    command: impl IntoIterator<Item = OsString>,
    files: Vec<GuestFile>,
    work: &Path,
) -> Result<PathBuf, Failure> {
    let folder = setting.folder.as_deref().unwrap_or(work);
    let path = folder.join(format!("{name}.bl"));
    if path.exists() {
        log::info!("{name} is recorded already");
        return Ok(path);
    }
    log::info!("recording {name} in a guest ...");
    let script =
        format!("cd /root && (echo 1 >{RESERVATIONS}) 2>/dev/null; exec \"$0\" \"$@\" >/dev/null");
    let inside = ["sh", "-c", &script];
    let words = inside.map(OsString::from).into_iter().chain(command);
    let options = Options {
        engine: Engine::QemuSystem,
        guest: Some(GuestMachine {
            folder: guest.to_owned(),
            qemu: None,
            memory: GUEST_MEMORY,
            processors: 1,
            check: false,
            files,
            keeps_console: true,
        }),
        recorder: made_by("plugin for whole systems under QEMU"),
        ..options(words.collect())
    };
    record_once(setting, name, &options, folder, &path)?;
    Ok(path)
}

/// The switch of the guest's module that emits reservations.
const RESERVATIONS: &str = "/sys/module/broadleaf_events/parameters/reservations";

/// The memory of guests. Linux makes huge pages by itself from 1 GiB on.
const GUEST_MEMORY: u64 = 2 << 30;

fn options(command: Vec<OsString>) -> Options {
    Options {
        guest: None,
        engine: Engine::Valgrind,
        command,
        grain: Grain::Page,
        instructions: false,
        follow_children: true,
        code: false,
        sites: false,
        align: Vec::new(),
        windows: None,
        clock: Clock::default(),
        prepare: |_| (),
        level: DEFAULT_LEVEL,
        recorder: made_by("tool for Valgrind"),
        measured: None,
    }
}

/// Records to a file beside `path`, and names the recording when it is whole.
fn record_once(
    setting: &PaperSetting,
    name: &str,
    options: &Options,
    folder: &Path,
    path: &Path,
) -> Result<(), Failure> {
    let unfinished = folder.join(format!("{name}.unfinished.bl"));
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("{}: {}", shown(&unfinished), reason(&error)))
    };
    // An interrupted run left it.
    if unfinished.exists() {
        std::fs::remove_file(&unfinished).map_err(failed)?;
    }
    let finished = (setting.record)(options, &unfinished)?;
    if !finished.status.success() {
        return Err(Failure::Failed(format!(
            "{name} failed while it was recorded"
        )));
    }
    if let Some(guest) = &finished.guest
        && guest.status != Some(0)
    {
        return Err(Failure::Failed(format!(
            "{name} failed in the guest: {}. Build the guest as the book's page of zhu2018 says. The \
             guest's console:\n{}",
            guest_lines(guest).swap_remove(0),
            guest.console.trim()
        )));
    }
    std::fs::rename(&unfinished, path).map_err(failed)
}

/// The command, run in a folder without its output, which must not appear between tables.
pub(crate) fn silently_in(
    folder: &Path,
    command: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let inside = ["env", "-C"].map(OsString::from).into_iter();
    let silently = ["sh", "-c", "exec \"$0\" \"$@\" >/dev/null"].map(OsString::from);
    let words = inside.chain([folder.into()]).chain(silently);
    words.chain(command).collect()
}

/// Opens a recording. Returns its number of accesses too.
pub(crate) fn open(path: &Path) -> Result<(Trace, u64), Failure> {
    let reading = TraceReading {
        ends: VisitEnds::Units,
        passes: PassCount::Several,
        keep_going: false,
        fetches: false,
        max_accesses: None,
    };
    let trace = Trace::open(path, reading, Whole::Work)?;
    let accesses = match trace.work() {
        crate::watch::Work::Accesses(accesses) => accesses,
        _ => 0,
    };
    Ok((trace, accesses))
}
