//! Threads, processes and cores of drmemtrace.

use broadleaf_import::Compression;
use broadleaf_trace::{Event, Visit};
use broadleaf_units::{CoreId, SpaceId, ThreadId};

use crate::common::{OwnedItem, PAGES, export, import_bytes, named};
use crate::drmemtrace::{Pen, folder_of, import, import_path, one, two_threads};

#[test]
fn threads_are_interleaved_by_their_time_stamps() {
    let folder = folder_of(&two_threads(), Compression::Plain, "");
    let imported = import_path(folder.path()).unwrap();
    let (a, b) = (ThreadId(7), ThreadId(8));
    let start = Event::SpaceStart {
        pid: 7,
        parent: 0,
        command: Vec::new(),
    };
    let last = Visit {
        loads: 2,
        loads_before_store: 2,
        ..one(0xb, 0, 1)
    };
    // At 300 the second thread runs on, since it runs already.
    let expected = [
        OwnedItem::Event(start),
        OwnedItem::Event(Event::ThreadStart(a)),
        OwnedItem::Event(Event::ThreadSwitch(a)),
        OwnedItem::Event(Event::CoreSwitch(CoreId(1))),
        OwnedItem::Visit(one(0xa, 0, 1)),
        OwnedItem::Event(Event::ThreadStart(b)),
        OwnedItem::Event(Event::ThreadSwitch(b)),
        OwnedItem::Event(Event::CoreSwitch(CoreId(1))),
        OwnedItem::Visit(one(0xc, 1, 1)),
        OwnedItem::Visit(one(0xd, 1, 1)),
        OwnedItem::Event(Event::ThreadEnd(b)),
        OwnedItem::Event(Event::ThreadSwitch(a)),
        OwnedItem::Visit(last),
        OwnedItem::Event(Event::ThreadEnd(a)),
    ];
    assert_eq!(imported.items, expected);
    assert!(!imported.header.options.children);
    // The folder of the files, too.
    assert_eq!(import_path(&folder.path().join("trace")).unwrap(), imported);
}

#[test]
fn processes_are_address_spaces() {
    let files = [
        (
            "a.trace".to_owned(),
            Pen::head(7, 7, 100)
                .load(0xa000)
                .time(300)
                .load(0xa000)
                .end(7),
        ),
        (
            "b.trace".to_owned(),
            Pen::head(9, 9, 200).load(0xa000).end(9),
        ),
    ];
    let folder = folder_of(&files, Compression::Plain, "");
    let imported = import_path(folder.path()).unwrap();
    let switches: Vec<Event> = imported
        .events()
        .into_iter()
        .filter(|event| matches!(event, Event::SpaceSwitch(_)))
        .collect();
    let to = |number| Event::SpaceSwitch(SpaceId(number));
    assert_eq!(switches, [to(1), to(0)]);
    assert!(imported.header.options.children);
    // Visits of two processes are not one, though the page has the same number.
    assert_eq!(imported.visits(), [one(0xa, 0, 0); 3]);
}

/// An export is one file, which holds the threads, processes and cores of the trace.
#[test]
fn an_export_keeps_threads_processes_and_cores() {
    let processes = [
        (
            "a.trace".to_owned(),
            Pen::head(7, 7, 100)
                .fetch(0x40_0000)
                .load(0xa000)
                .time(300)
                .store(0xa000)
                .end(7),
        ),
        (
            "b.trace".to_owned(),
            Pen::head(9, 9, 200).marker(3, 5).load(0xa000).end(9),
        ),
    ];
    for files in [two_threads().to_vec(), processes.to_vec()] {
        let folder = folder_of(&files, Compression::Plain, "");
        let first = import_path(folder.path()).unwrap();
        let format = named("drmemtrace");
        let entry = format.export.as_ref().expect("the format is written");
        let (bytes, left_out) = export(entry, &first.header, &first.items);
        assert!(left_out.is_empty(), "{left_out:?}");
        let again = import_bytes(format, &bytes, PAGES).unwrap();
        assert_eq!(again.items, first.items);
        assert_eq!(again.counts.accesses(), first.counts.accesses());
    }
}

/// A thread that moves to another core says so; markers that repeat a core do not cut visits.
#[test]
fn cores_are_events_of_their_thread() {
    let bytes = Pen::head(7, 7, 1)
        .load(0xa000)
        .marker(2, 2)
        .marker(3, 1)
        .load(0xa000)
        .marker(3, 5)
        .load(0xa000)
        .marker(3, u64::MAX)
        .load(0xa000)
        .record(22, 8, 8)
        .record(24, 8, 7)
        .load(0xb000)
        .end(8);
    let imported = import(&bytes).unwrap();
    let cores: Vec<Event> = imported.events();
    let cores = cores.into_iter().filter_map(|event| match event {
        Event::CoreSwitch(core) => Some(core.0),
        _ => None,
    });
    assert_eq!(cores.collect::<Vec<_>>(), [1, 5]);
    let loads: Vec<u32> = imported.visits().iter().map(|visit| visit.loads).collect();
    assert_eq!(loads, [2, 2, 1]);
}

/// A file of a core: threads take turns in it.
#[test]
fn a_file_may_hold_several_threads() {
    let bytes = Pen::head(7, 7, 1)
        .load(0xa000)
        .record(22, 8, u64::MAX)
        .marker(33, 1)
        .record(22, 8, 8)
        .record(24, 8, 7)
        .load(0xa000)
        .record(22, 8, 7)
        .load(0xa000)
        .end(7);
    let imported = import(&bytes).unwrap();
    let switches: Vec<Event> = imported.events();
    let expected = [7, 8, 7].map(|thread| Event::ThreadSwitch(ThreadId(thread)));
    let found = switches
        .into_iter()
        .filter(|event| matches!(event, Event::ThreadSwitch(_)));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
