//! Traces of drmemtrace, written here from the documented layout: type (2 bytes), size (2 bytes)
//! and address or value (8 bytes), all little-endian. The numbers are those of DynamoRIO's
//! trace_entry.h, and not the importer's.

use std::fs;
use std::io::Write;
use std::path::Path;

use broadleaf_import::{
    Compression, Compressor, ImportError, ImportOptions, ImportSource, LeftOut, Taken,
};
use broadleaf_trace::{Event, Lead, Visit};
use broadleaf_units::{CoreId, ThreadId};

use crate::common::{Imported, OwnedItem, PAGES, import_bytes, import_source, named};

/// Writes records.
#[derive(Clone, Default)]
pub(crate) struct Pen(pub(crate) Vec<u8>);

impl Pen {
    pub(crate) fn record(mut self, kind: u16, size: u16, value: u64) -> Self {
        self.0.extend(kind.to_le_bytes());
        self.0.extend(size.to_le_bytes());
        self.0.extend(value.to_le_bytes());
        self
    }

    /// The head of a thread's file, up to the first time stamp.
    pub(crate) fn head(process: u64, thread: u64, time: u64) -> Self {
        Self::default()
            .record(25, 0, 7)
            .marker(12, 7)
            .marker(9, 0x40)
            .record(22, 8, thread)
            .record(24, 8, process)
            .marker(10, 64)
            .marker(18, 4096)
            .time(time)
    }

    pub(crate) fn marker(self, kind: u16, value: u64) -> Self {
        self.record(28, kind, value)
    }

    pub(crate) fn time(self, time: u64) -> Self {
        self.marker(2, time).marker(3, 1)
    }

    pub(crate) fn fetch(self, address: u64) -> Self {
        self.record(10, 4, address)
    }

    pub(crate) fn load(self, address: u64) -> Self {
        self.record(0, 8, address)
    }

    pub(crate) fn store(self, address: u64) -> Self {
        self.record(1, 8, address)
    }

    pub(crate) fn end(self, thread: u64) -> Vec<u8> {
        self.record(23, 8, thread).record(26, 0, 0).0
    }
}

pub(crate) fn import(bytes: &[u8]) -> Result<Imported, ImportError> {
    import_bytes(named("drmemtrace"), bytes, PAGES)
}

pub(crate) fn import_path(path: &Path) -> Result<Imported, ImportError> {
    let source = ImportSource::open(path, "the folder")?;
    import_source(named("drmemtrace").import.as_ref().unwrap(), source, PAGES)
}

pub(crate) fn one(unit: u64, stores: u32, instructions: u32) -> Visit {
    Visit {
        unit,
        loads: 1 - stores,
        stores,
        loads_before_store: 1 - stores,
        instructions,
        ..Visit::default()
    }
}

#[test]
fn the_sample_is_what_the_pen_writes() {
    let written = Pen::default()
        .record(25, 0, 7)
        .marker(12, 7)
        .marker(9, 0x240)
        .record(22, 8, 101)
        .record(24, 8, 100)
        .marker(10, 64)
        .marker(20, 10_000_000)
        .marker(18, 4096)
        .time(1000)
        .record(47, 3, 0x5d_8b48)
        .record(10, 3, 0x40_1000)
        .load(0x7ffd_1000)
        .record(47, 4, 0x5889_4c24)
        .record(10, 4, 0x40_1003)
        .record(1, 16, 0x7ffd_1ff8)
        .record(10, 2, 0x40_1007)
        .record(0, 1, 0x60_2000)
        .record(1, 1, 0x60_3000)
        .record(29, 2, 0x40_1007)
        .record(0, 1, 0x60_2001)
        .record(1, 1, 0x60_3001)
        .record(10, 7, 0x40_1009)
        .record(3, 1, 0x70_0000)
        .record(49, 2, 0x40_1010)
        .marker(25, 1)
        .time(2000)
        .record(12, 3, 0x40_1ffe)
        .load(0x60_2100)
        .end(101);
    assert_eq!(written, named("drmemtrace").sample);
    let imported = import(&written).unwrap();
    let thread = ThreadId(101);
    let start = Event::SpaceStart {
        pid: 100,
        parent: 0,
        command: Vec::new(),
    };
    let rest = Visit {
        unit: 0x7ffd2,
        lead: Lead::Store,
        ..Visit::default()
    };
    let stack = Visit {
        loads: 1,
        loads_before_store: 1,
        ..one(0x7ffd1, 1, 2)
    };
    let expected = [
        OwnedItem::Event(start),
        OwnedItem::Event(Event::ThreadStart(thread)),
        OwnedItem::Event(Event::ThreadSwitch(thread)),
        OwnedItem::Event(Event::CoreSwitch(CoreId(1))),
        OwnedItem::Visit(stack),
        OwnedItem::Visit(rest),
        OwnedItem::Visit(one(0x602, 0, 1)),
        OwnedItem::Visit(one(0x603, 1, 0)),
        OwnedItem::Visit(one(0x602, 0, 0)),
        OwnedItem::Visit(one(0x603, 1, 0)),
        OwnedItem::Visit(one(0x602, 0, 3)),
        OwnedItem::Event(Event::ThreadEnd(thread)),
    ];
    assert_eq!(imported.items, expected);
    let counts = imported.counts;
    assert_eq!((counts.records, counts.instructions), (32, 6));
    assert_eq!((counts.loads, counts.stores), (4, 3));
    let left = |count, what| LeftOut { count, what };
    let expected = [
        left(1, "prefetches"),
        left(2, "encodings of instructions"),
        left(1, "repeated iterations of string instructions"),
        left(4, "markers"),
    ];
    assert_eq!(imported.left_out, expected);
}

/// Two threads, whose stretches alternate by their time stamps.
pub(crate) fn two_threads() -> [(String, Vec<u8>); 2] {
    let first = Pen::head(7, 7, 100)
        .fetch(0x1000)
        .load(0xa000)
        .time(300)
        .fetch(0x1004)
        .load(0xb000)
        .time(300)
        .load(0xb000);
    let second = Pen::head(7, 8, 200)
        .fetch(0x2000)
        .store(0xc000)
        .time(300)
        .fetch(0x2004)
        .store(0xd000);
    [
        ("drmemtrace.app.7.1.trace".to_owned(), first.end(7)),
        ("drmemtrace.app.8.2.trace".to_owned(), second.end(8)),
    ]
}

pub(crate) fn folder_of(
    files: &[(String, Vec<u8>)],
    compression: Compression,
    ending: &str,
) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    fs::create_dir(&trace).unwrap();
    // What DynamoRIO writes beside them.
    fs::create_dir(folder.path().join("raw")).unwrap();
    fs::write(trace.join("serial_schedule.bin.gz"), b"\x1f\x8bno trace").unwrap();
    fs::write(trace.join("cpu_schedule.bin.zip"), b"PK no trace").unwrap();
    for (name, bytes) in files {
        let mut compressor = Compressor::new(Vec::new(), compression).unwrap();
        compressor.write_all(bytes).unwrap();
        let bytes = compressor.finish().unwrap();
        fs::write(trace.join(format!("{name}{ending}")), bytes).unwrap();
    }
    folder
}

#[test]
fn compressed_files_of_a_folder_give_the_same() {
    let plain = folder_of(&two_threads(), Compression::Plain, "");
    let plain = import_path(plain.path()).unwrap();
    for (compression, ending) in [
        (Compression::Gzip, ".gz"),
        (Compression::Zstd, ".zst"),
        (Compression::Lz4, ".lz4"),
        (Compression::Xz, ".xz"),
    ] {
        let folder = folder_of(&two_threads(), compression, ending);
        assert_eq!(import_path(folder.path()).unwrap(), plain, "{ending}");
    }
}

#[test]
fn the_kernel_and_other_kinds_are_counted_and_left_out() {
    let bytes = Pen::head(7, 7, 1)
        .fetch(0x1000)
        .marker(27, 1)
        .fetch(0xffff_8000)
        .load(0xffff_9000)
        .marker(28, 1)
        .record(10, 0, 0x1004)
        .record(20, 64, 0xa000)
        .record(30, 2, 0x1010)
        .record(30, 2, 0x1010)
        .record(17, 3, u64::from_le_bytes([2, 3, 4, 0, 0, 0, 0, 0]))
        .load(0xa000)
        .end(7);
    let imported = import(&bytes).unwrap();
    assert_eq!(imported.visits(), [one(0xa, 0, 5)]);
    let left: Vec<(u64, &str)> = imported
        .left_out
        .iter()
        .map(|left| (left.count, left.what))
        .collect();
    let expected = [
        (1, "cache flushes"),
        (1, "repeated iterations of string instructions"),
        (2, "references and instructions of the kernel"),
        (1, "instruction pointers without a fetch"),
        (4, "markers"),
    ];
    assert_eq!(left, expected);
    let fetches = ImportOptions {
        fetches: true,
        ..PAGES
    };
    let visits = import_bytes(named("drmemtrace"), &bytes, fetches)
        .unwrap()
        .visits();
    let fetch = Visit {
        unit: 1,
        instructions: 5,
        fetch: true,
        ..Visit::default()
    };
    assert_eq!(visits, [fetch, one(0xa, 0, 0)]);
}

/// A reference of no bytes is one of the byte at its address, among plain references and alone. The
/// note says that it is kept.
#[test]
fn references_of_no_bytes_are_counted() {
    let bytes = Pen::head(7, 7, 1)
        .record(0, 0, 0xa000)
        .load(0xb000)
        .store(0xb008)
        .record(1, 0, 0xbfff)
        .load(0xc000)
        .record(10, 0, 0x1004)
        .end(7);
    let imported = import(&bytes).unwrap();
    let units: Vec<u64> = imported.visits().iter().map(|visit| visit.unit).collect();
    assert_eq!(units, [0xa, 0xb, 0xc]);
    assert_eq!((imported.counts.loads, imported.counts.stores), (3, 2));
    let expected = Taken {
        count: 2,
        how: "references of no bytes, taken to be of 1 byte",
    };
    assert_eq!(imported.taken, [expected]);
    let of_no_bytes = |left: &LeftOut| left.what.contains("no bytes");
    assert!(!imported.left_out.iter().any(of_no_bytes));
}

#[test]
fn instructions_without_a_reference_are_kept() {
    let bytes = Pen::head(7, 7, 1).fetch(0x1000).fetch(0x1004).end(7);
    let imported = import(&bytes).unwrap();
    let instructions: u32 = imported
        .visits()
        .iter()
        .map(|visit| visit.instructions)
        .sum();
    assert_eq!((instructions, imported.counts.instructions), (2, 2));
}

#[test]
fn filtered_traces_say_so() {
    let bytes = Pen::default()
        .record(25, 0, 7)
        .marker(9, 0x180)
        .record(22, 8, 1)
        .record(24, 8, 1)
        .load(0xa000)
        .end(1);
    let notes = import(&bytes).unwrap().header.notes;
    assert!(
        notes.iter().any(|note| note.contains("filtered")),
        "{notes:?}"
    );
}
