use std::fs;
use std::path::Path;

use broadleaf_machine::machine;
use broadleaf_model::Source;
use broadleaf_trace::{Encoder, Event, Visit};

use super::{DOING, TracePlaces, of_events, places};
use crate::cache::{CachedPass, TraceCache};
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};
use crate::testing::{NotingWatch, START, header, mapped, range, recording, started};
use crate::watch::{Unwatched, Watch};

/// Pages to touch in turn. Successive pages are far apart, so that no superpage covers them.
fn spread(pages: u64) -> impl Iterator<Item = u64> {
    (0..60_000).map(move |number| number * 1009 % pages)
}

/// A recording of several chunks, whose first mapping comes after visits.
fn recording_in_chunks() -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), &header()).expect("a head");
    encoder.event(&started("program")).expect("an event");
    for number in 0..20 {
        let visit = |page: u64| Visit {
            unit: (START >> 12) + page % 5,
            stores: 1 << 14,
            ..Visit::default()
        };
        let visits: Vec<Visit> = (0..2000).map(visit).collect();
        encoder.visits(&visits).expect("visits");
        let place = range(START, 10 + number);
        encoder.event(&mapped(place)).expect("an event");
        if number % 3 > 0 {
            encoder.event(&Event::Unmap(place)).expect("an event");
        }
    }
    // If events came twice, this mapping would move the earlier ones.
    let last = mapped(range(START + (1 << 30), 50));
    encoder.event(&last).expect("an event");
    encoder.finish().expect("a trace")
}

fn reading() -> TraceReading {
    TraceReading {
        passes: PassCount::Several,
        max_accesses: Some(u64::MAX),
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
        fs::write(&path, recording("program", spread(pages))).expect("a trace");
        let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
        let (mut trace, expected) = read(&path);
        assert!(format!("{expected:?}").contains("program"));
        let watch = NotingWatch::default();
        let found = places(&mut trace, &pass(&path, &cache, &watch)).expect("places");
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        assert_eq!(watch.begun(), [DOING], "{pages} pages");
        assert_eq!(cache.entries().len(), entries, "{pages} pages");
    }
}

/// Another file takes the place of the trace before the last pass. The places are those of the
/// trace that was replayed.
#[test]
fn a_replaced_file_gives_no_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, recording("program", spread(20))).expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    let (mut trace, expected) = read(&path);
    // The trace stays open. A new file takes its path.
    let new = path.with_extension("new");
    fs::write(&new, recording("another", spread(30))).expect("a file");
    fs::rename(&new, &path).expect("a replaced file");
    let watch = NotingWatch::default();
    let found = places(&mut trace, &pass(&path, &cache, &watch)).expect("places");
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    assert_eq!(watch.begun(), [DOING; 2]);
}

/// The events of chunks that threads read come in the order of the trace. A replay that begins anew
/// because mappings come late passes each event on once.
#[test]
fn events_of_chunks_keep_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.bl");
    fs::write(&path, recording_in_chunks()).expect("a trace");
    let cache = TraceCache::new(folder.path().join("caches"), 1 << 20);
    let (mut trace, expected) = read(&path);
    trace.rewind().expect("a second pass");
    let mut parts = 0;
    while let Some(part) = trace.next_part().expect("a part") {
        parts += 1;
        let _ = trace.close(part).expect("a whole part");
    }
    assert!(parts > 10, "{parts} parts");
    let (mut trace, _) = read(&path);
    let watch = NotingWatch::default();
    let found = places(&mut trace, &pass(&path, &cache, &watch)).expect("places");
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    assert_eq!(watch.begun(), [DOING]);
}
