//! Programs to record, and recordings read back.

use std::ffi::OsString;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use broadleaf_record::valgrind::{Clock, Options, RecordError, record};
use broadleaf_trace::{Event, Grain, Item, Lead, Totals, TraceReader, Visit};

/// Whether programs can be recorded here; says why where they cannot.
pub(crate) fn can_record() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| match trace(&["true"]) {
        Ok(_) => true,
        Err(error @ (RecordError::NoValgrind | RecordError::NotBuilt)) => {
            eprintln!("skipped: {error}");
            false
        }
        Err(error) => panic!("a recording of `true` failed: {error}"),
    })
}

/// Whether a program is installed; says so where it is not.
pub(crate) fn has(program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A program of this folder's `programs`, compiled with these flags into `folder`. `None`, with the reason told, without a compiler.
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

/// A folder that goes when the test ends.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("broadleaf-test-")
        .tempdir()
        .expect("a folder for temporary files")
}

/// Options for recording `command` at page grain.
pub(crate) fn options<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> Options {
    Options {
        command: command.iter().map(OsString::from).collect(),
        grain: Grain::Page,
        instructions: false,
        follow_children: false,
        clock: Clock::default(),
        prepare: |_| (),
        level: 1,
        recorder: "test".into(),
    }
}

/// A recording, in memory.
pub(crate) struct Recording {
    pub(crate) bytes: Vec<u8>,
    pub(crate) totals: Totals,
    pub(crate) processes: u32,
    pub(crate) spaces: u32,
    pub(crate) status: ExitStatus,
    pub(crate) likely_cause: Option<&'static str>,
}

pub(crate) fn trace_with(options: &Options) -> Result<Recording, RecordError> {
    let finished = record(options, Cursor::new(Vec::new()), &mut |_| {})?;
    Ok(Recording {
        bytes: finished.output.into_inner(),
        totals: finished.totals,
        spaces: finished.spaces,
        processes: finished.processes,
        status: finished.status,
        likely_cause: finished.likely_cause,
    })
}

pub(crate) fn trace<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> Result<Recording, RecordError> {
    trace_with(&options(command))
}

/// Records and expects that it works.
pub(crate) fn recorded<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> Recording {
    trace(command).expect("the recording works")
}

/// One piece of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Visit(Visit),
    Event(Event),
}

impl Recording {
    /// Calls `each` with every visit and every event of process `space`, in order.
    pub(crate) fn each(&self, mut each: impl FnMut(u32, Piece)) {
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
                        each(space, Piece::Visit(*visit));
                    }
                }
                Item::Event(Event::SpaceSwitch(to)) => space = to.0,
                Item::Event(event) => each(space, Piece::Event(event.clone())),
            }
        }
        assert!(reader.complete(), "the trace has its end");
        assert_eq!(
            (totals.loads, totals.stores),
            (self.totals.loads, self.totals.stores),
            "the visits are those that the totals count"
        );
    }

    /// The visits of one process, each run of references to a unit one visit. Instructions that a chunk's end parts from the reference behind
    /// them go with it: where chunks end depends on how busy the machine is.
    pub(crate) fn visits(&self, of: u32) -> Vec<Visit> {
        let (mut visits, mut carried) = (Vec::new(), None::<Visit>);
        self.each(|space, piece| {
            let (true, Piece::Visit(mut visit)) = (space == of, piece) else {
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

    /// The events of one process.
    pub(crate) fn events(&self, of: u32) -> Vec<Event> {
        let mut events = Vec::new();
        self.each(|space, piece| {
            if let (true, Piece::Event(event)) = (space == of, piece) {
                events.push(event);
            }
        });
        events
    }
}

/// Appends a visit, or adds it to the last where that is of the same unit: runs may be split anywhere.
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

/// Loads, stores and instructions of visits.
pub(crate) fn totals(visits: &[Visit]) -> Totals {
    let sum = |of: fn(&Visit) -> u32| visits.iter().map(|v| u64::from(of(v))).sum();
    Totals {
        loads: sum(|v| v.loads),
        stores: sum(|v| v.stores),
        instructions: sum(|v| v.instructions),
        ..Totals::default()
    }
}
