use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use broadleaf_machine::machine;
use broadleaf_trace::{Backing, Encoder, Event, Grain, Header, Mapping, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};

use super::{DOING, TracePlaces, of_events, places};
use crate::cache::{CachedPass, TraceCache};
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::{Task, Unwatched, Watch, Work};

const START: u64 = 0x1000_0000;

/// A recording of `command`, which stores to `pages` pages in turn. The filter leaves all visits in
/// if the pages exceed the TLB.
fn recording(command: &str, pages: u64) -> Vec<u8> {
    let mut header = Header::new(Grain::Page);
    header.options.events = true;
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    let started = Event::SpaceStart {
        pid: 41,
        parent: 1,
        command: vec![command.to_owned()],
    };
    let mapped = Event::Map(Mapping {
        range: Range {
            start: VirtAddr(START),
            len: pages << 12,
        },
        protection: Rights {
            read: true,
            write: true,
            execute: false,
        },
        shared: false,
        backing: Backing::Anonymous,
    });
    let visit = |number: u64| Visit {
        // Successive pages are far apart, so that no superpage covers them.
        unit: (START >> 12) + number * 1009 % pages,
        stores: 1,
        ..Visit::default()
    };
    encoder.event(&started).expect("an event");
    encoder.event(&mapped).expect("an event");
    let visits: Vec<Visit> = (0..60_000).map(visit).collect();
    encoder.visits(&visits).expect("visits");
    encoder.finish().expect("a trace")
}

/// Notes what is begun. Replaces a file when the first task begins.
#[derive(Debug, Default)]
struct NotingWatch {
    begun: Mutex<Vec<String>>,
    replaced: Option<(PathBuf, Vec<u8>)>,
}

impl Watch for NotingWatch {
    fn begin(&self, doing: &str, work: Work) -> Box<dyn Task> {
        let mut begun = self.begun.lock().expect("a list");
        if let Some((path, bytes)) = &self.replaced
            && begun.is_empty()
        {
            let new = path.with_extension("new");
            fs::write(&new, bytes).expect("a file");
            fs::rename(&new, path).expect("a replaced file");
        }
        begun.push(doing.to_owned());
        Unwatched.begin(doing, work)
    }
}

fn reading() -> TraceReading {
    TraceReading {
        passes: PassCount::Several,
        ..TraceReading::default()
    }
}

/// The trace, read to its end, and its places.
fn read(path: &Path) -> (Trace, TracePlaces) {
    let mut trace = Trace::open(path, reading(), Whole::Advice).expect("a trace");
    let places = of_events(&mut trace, &Unwatched).expect("events");
    (trace, places)
}

fn pass<'a>(path: &'a Path, cache: &'a TraceCache, watch: &'a dyn Watch) -> CachedPass<'a> {
    CachedPass {
        path,
        reading: reading(),
        machine: machine("skylake").expect("a machine"),
        threads: 2,
        cache: Some(cache),
        doing: DOING,
        watch,
    }
}

/// The pass that may keep a reduced form also collects the events, whether or not a form is worth
/// an entry.
#[test]
fn the_mappings_take_one_reading() {
    for (pages, entries) in [(20, 1), (30_000, 0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.bl");
        fs::write(&path, recording("program", pages)).expect("a trace");
        let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
        let (mut trace, expected) = read(&path);
        assert!(format!("{expected:?}").contains("program"));
        let watch = NotingWatch::default();
        let found = places(&mut trace, &pass(&path, &cache, &watch)).expect("places");
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        assert_eq!(*watch.begun.lock().unwrap(), [DOING], "{pages} pages");
        assert_eq!(cache.entries().len(), entries, "{pages} pages");
    }
}

/// Another file takes the place of the trace before the last pass. The places are those of the
/// trace that was replayed.
#[test]
fn a_replaced_file_gives_no_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, recording("program", 20)).expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    let (mut trace, expected) = read(&path);
    let watch = NotingWatch {
        replaced: Some((path.clone(), recording("another", 30))),
        ..NotingWatch::default()
    };
    let found = places(&mut trace, &pass(&path, &cache, &watch)).expect("places");
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    assert_eq!(*watch.begun.lock().unwrap(), [DOING; 2]);
}
