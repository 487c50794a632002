//! Programs to record, and recordings read back.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use broadleaf_record::valgrind::{Clock, Engine, Options, RecordError, record};
use broadleaf_trace::{Event, Grain, Item, Lead, Totals, TraceReader, Visit};

thread_local! {
    /// The engine of this thread's recordings.
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::Valgrind) };
}

/// Runs a test with recordings by QEMU.
pub(crate) fn with_qemu(test: fn()) {
    ENGINE.set(Engine::Qemu);
    test();
    ENGINE.set(Engine::Valgrind);
}

/// Returns true if this thread's recordings are made by QEMU.
pub(crate) fn is_emulated() -> bool {
    ENGINE.get() != Engine::Valgrind
}

/// Returns true if programs can be recorded here. Otherwise it prints the reason.
pub(crate) fn can_record() -> bool {
    static VALGRIND: OnceLock<bool> = OnceLock::new();
    static QEMU: OnceLock<bool> = OnceLock::new();
    let can = match ENGINE.get() {
        Engine::Valgrind => &VALGRIND,
        Engine::Qemu | Engine::QemuSystem => &QEMU,
    };
    *can.get_or_init(|| match trace(&["true"]) {
        Ok(_) => true,
        Err(
            error @ (RecordError::NotBuilt | RecordError::QemuNotBuilt | RecordError::NoQemu(_)),
        ) => {
            eprintln!("skipped: {error}");
            false
        }
        Err(error) => panic!("a recording of `true` failed: {error}"),
    })
}

/// Returns true if a program is installed. Otherwise it prints a note.
pub(crate) fn has(program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// Compiles a program of this folder's `programs` with these flags into `folder`. Returns `None`
/// and prints the reason without a compiler.
pub(crate) fn compiled(name: &str, flags: &[&str], folder: &Path) -> Option<PathBuf> {
    if !has("gcc") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recorder/programs")
        .join(name)
        .with_extension("c");
    let program = folder.join(name);
    let output = Command::new("gcc")
        .args(["-O1", "-Wall", "-o"])
        .arg(&program)
        .arg(&source)
        .args(flags)
        .output()
        .expect("gcc starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {words}");
    Some(program)
}

/// Creates a folder that is removed at the end of the test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("broadleaf-test-")
        .tempdir()
        .expect("a folder for temporary files")
}

/// Removes the variables of the tests' own environment. Their length would move the stack.
pub(crate) fn plain_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name != "PATH" && name != "HOME" {
            command.env_remove(name);
        }
    }
}

/// Returns options for recording `command` at page grain.
pub(crate) fn options<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> Options {
    Options {
        guest: None,
        engine: ENGINE.get(),
        command: command.iter().map(OsString::from).collect(),
        grain: Grain::Page,
        instructions: false,
        follow_children: false,
        code: false,
        sites: false,
        align: Vec::new(),
        windows: None,
        clock: Clock::default(),
        prepare: plain_environment,
        level: 1,
        recorder: "test".into(),
        measured: None,
    }
}

/// A recording, in memory.
pub(crate) struct TestRecording {
    pub(crate) bytes: Vec<u8>,
    pub(crate) totals: Totals,
    pub(crate) processes: u32,
    pub(crate) spaces: u32,
    pub(crate) status: ExitStatus,
    pub(crate) likely_cause: Option<&'static str>,
}

pub(crate) fn trace_with(options: &Options) -> Result<TestRecording, RecordError> {
    let finished = record(options, Cursor::new(Vec::new()), &mut |_| {})?;
    Ok(TestRecording {
        bytes: finished.output.into_inner(),
        totals: finished.totals,
        spaces: finished.spaces,
        processes: finished.processes,
        status: finished.status,
        likely_cause: finished.likely_cause,
    })
}

pub(crate) fn trace<S: AsRef<std::ffi::OsStr>>(
    command: &[S],
) -> Result<TestRecording, RecordError> {
    trace_with(&options(command))
}

/// Records a program and expects success.
pub(crate) fn recorded<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> TestRecording {
    trace(command).expect("the recording works")
}

/// One piece of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordingPiece {
    Visit(Visit),
    Event(Event),
}

impl TestRecording {
    /// Calls `each` with every visit and every event of process `space`, in order.
    pub(crate) fn each(&self, mut each: impl FnMut(u32, RecordingPiece)) {
        let mut reader = TraceReader::new(&self.bytes[..]).expect("it is a trace");
        let mut space = 0;
        let mut totals = Totals::default();
        while let Some(item) = reader.next_item().expect("it can be read") {
            match item {
                Item::Visits(visits) => {
                    for visit in visits {
                        totals.loads += u64::from(visit.loads);
                        totals.stores += u64::from(visit.stores);
                        totals.instructions += u64::from(visit.instructions);
                        each(space, RecordingPiece::Visit(*visit));
                    }
                }
                Item::Event(Event::SpaceSwitch(to)) => space = to.0,
                Item::Event(event) => each(space, RecordingPiece::Event(event.clone())),
            }
        }
        assert!(reader.complete(), "the trace has its end");
        assert_eq!(
            (totals.loads, totals.stores),
            (self.totals.loads, self.totals.stores),
            "the visits are those that the totals count"
        );
    }

    /// Returns the visits of one process, with one visit for each run of references to a unit. A
    /// chunk's end may separate instructions from the next reference. They are added to that
    /// reference, because the ends of chunks depend on the load of the machine.
    pub(crate) fn visits(&self, of: u32) -> Vec<Visit> {
        let (mut visits, mut carried) = (Vec::new(), None::<Visit>);
        self.each(|space, piece| {
            let (true, RecordingPiece::Visit(mut visit)) = (space == of, piece) else {
                return;
            };
            if let Some(before) = carried.take() {
                visit.instructions += before.instructions;
            }
            if visit.lookups() == 0 && !visit.fetch {
                carried = Some(visit);
            } else {
                merge(&mut visits, visit);
            }
        });
        visits.extend(carried);
        visits
    }

    /// Returns the events of one process.
    pub(crate) fn events(&self, of: u32) -> Vec<Event> {
        let mut events = Vec::new();
        self.each(|space, piece| {
            if let (true, RecordingPiece::Event(event)) = (space == of, piece) {
                events.push(event);
            }
        });
        events
    }
}

/// Appends a visit, or adds it to a last visit of the same unit, because runs may be split
/// anywhere.
pub(crate) fn merge(visits: &mut Vec<Visit>, visit: Visit) {
    if visit.fetch || visit.accesses() == 0 && visit.lead == Lead::None {
        visits.push(visit);
        return;
    }
    match visits.last_mut() {
        Some(last) if last.unit == visit.unit && visit.lead == Lead::None && !last.fetch => {
            if last.stores == 0 {
                last.loads_before_store = last.loads + visit.loads_before_store;
            }
            last.loads += visit.loads;
            last.stores += visit.stores;
            last.instructions += visit.instructions;
        }
        _ => visits.push(visit),
    }
}

/// Returns the loads, stores and instructions of visits.
pub(crate) fn totals(visits: &[Visit]) -> Totals {
    let sum = |of: fn(&Visit) -> u32| visits.iter().map(|v| u64::from(of(v))).sum();
    Totals {
        loads: sum(|v| v.loads),
        stores: sum(|v| v.stores),
        instructions: sum(|v| v.instructions),
        ..Totals::default()
    }
}
