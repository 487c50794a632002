//! Imports of bytes in memory, and what traces come to.

use std::io::{Cursor, Read};

use broadleaf_import::{
    ExportEntry, FOREIGN_FORMATS, ForeignFormat, ImportBatch, ImportCounts, ImportEntry,
    ImportError, ImportOptions, ImportSource, LeftOut, Taken,
};
use broadleaf_trace::{Encoder, Event, Grain, Header, Item, Lead, TraceReader, Visit};

/// The format of that name.
pub(crate) fn named(name: &str) -> &'static ForeignFormat {
    let mut all = FOREIGN_FORMATS.iter().copied();
    let found = all.find(|format| format.described.name == name);
    found.expect("it is in the catalogue")
}

/// Pages, without fetches.
pub(crate) const PAGES: ImportOptions = ImportOptions {
    grain: Grain::Page,
    fetches: false,
    physical: false,
};

/// All ways to import.
pub(crate) fn all_options() -> impl Iterator<Item = ImportOptions> {
    [Grain::Page, Grain::Line]
        .into_iter()
        .flat_map(|grain| [(grain, false), (grain, true)])
        .map(|(grain, fetches)| ImportOptions {
            grain,
            fetches,
            ..PAGES
        })
}

/// A piece of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedItem {
    Visit(Visit),
    Event(Event),
}

/// What an import came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) header: Header,
    pub(crate) items: Vec<OwnedItem>,
    pub(crate) counts: ImportCounts,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) taken: Vec<Taken>,
}

impl Imported {
    pub(crate) fn visits(&self) -> Vec<Visit> {
        let visits = self.items.iter().filter_map(|item| match item {
            OwnedItem::Visit(visit) => Some(*visit),
            OwnedItem::Event(_) => None,
        });
        visits.collect()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.items.iter().filter_map(|item| match item {
            OwnedItem::Visit(_) => None,
            OwnedItem::Event(event) => Some(event.clone()),
        });
        events.collect()
    }
}

pub(crate) fn import_source(
    entry: &ImportEntry,
    source: ImportSource,
    options: ImportOptions,
) -> Result<Imported, ImportError> {
    let mut importer = (entry.open)(source, &options)?;
    let mut header = Header::new(options.grain);
    importer.describe(&mut header);
    let (mut items, mut batch) = (Vec::new(), ImportBatch::default());
    while importer.read(&mut batch)? {
        for item in batch.items() {
            match item {
                Item::Visits(visits) => {
                    items.extend(visits.iter().copied().map(OwnedItem::Visit));
                }
                Item::Event(event) => items.push(OwnedItem::Event(event.clone())),
            }
        }
        batch.clear();
    }
    let left_out = importer.left_out();
    let taken = importer.taken();
    let has_notes = !left_out.is_empty() || !taken.is_empty();
    assert!(importer.may_leave_out() || !has_notes);
    Ok(Imported {
        header,
        items,
        counts: importer.counts(),
        left_out,
        taken,
    })
}

pub(crate) fn import_bytes(
    format: &ForeignFormat,
    bytes: &[u8],
    options: ImportOptions,
) -> Result<Imported, ImportError> {
    let entry = format.import.as_ref().expect("the format is read");
    let source = ImportSource::stream("x", Cursor::new(bytes.to_vec()));
    import_source(entry, source, options)
}

/// The trace that an import writes, read again.
pub(crate) fn through_a_trace(imported: &Imported) -> Vec<OwnedItem> {
    let mut encoder = Encoder::new(Vec::new(), &imported.header).expect("a header");
    for item in &imported.items {
        let written = match item {
            OwnedItem::Visit(visit) => encoder.visits(&[*visit]),
            OwnedItem::Event(event) => encoder.event(event),
        };
        written.expect("an importer makes what a trace can hold");
    }
    let bytes = encoder.finish().expect("memory does not fail");
    let mut reader = TraceReader::new(bytes.as_slice()).expect("a trace");
    let mut items = Vec::new();
    while let Some(item) = reader.next_item().expect("a whole trace") {
        match item {
            Item::Visits(visits) => items.extend(visits.iter().copied().map(OwnedItem::Visit)),
            Item::Event(event) => items.push(OwnedItem::Event(event.clone())),
        }
    }
    items
}

/// A source that gives a few bytes at a time, as a pipe may.
pub(crate) struct Trickle {
    pub(crate) bytes: Cursor<Vec<u8>>,
    pub(crate) most: usize,
}

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.most.min(into.len());
        self.bytes.read(&mut into[..count])
    }
}

/// References to one unit with no other data reference between them, or fetches from one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct References {
    pub(crate) unit: u64,
    pub(crate) loads: u64,
    pub(crate) stores: u64,
    pub(crate) loads_before_store: u64,
    /// Fetches: the number of instructions.
    pub(crate) fetched: u64,
}

/// The references of visits in order: each lead is a reference of its own, and visits of one unit
/// that follow each other are one. With `fetches`, fetches are included.
pub(crate) fn references<'a>(
    visits: impl IntoIterator<Item = &'a Visit>,
    fetches: bool,
) -> Vec<References> {
    let mut all: Vec<References> = Vec::new();
    for visit in visits {
        if visit.lookups() == 0 && (!visit.fetch || !fetches) {
            continue;
        }
        let is_same =
            |last: &&mut References| last.unit == visit.unit && (last.fetched > 0) == visit.fetch;
        if all.last_mut().filter(is_same).is_none() {
            all.push(References {
                unit: visit.unit,
                loads: 0,
                stores: 0,
                loads_before_store: 0,
                fetched: 0,
            });
        }
        let last = all.last_mut().expect("one was pushed");
        if visit.fetch {
            last.fetched += u64::from(visit.instructions);
            continue;
        }
        let mut add = |loads: u32, stores: u32| {
            if last.stores == 0 {
                last.loads_before_store += u64::from(loads);
            }
            last.loads += u64::from(loads);
            last.stores += u64::from(stores);
        };
        match visit.lead {
            Lead::None => {}
            Lead::Load => add(1, 0),
            Lead::Store => add(0, 1),
        }
        if visit.stores == 0 {
            add(visit.loads, 0);
        } else {
            add(visit.loads_before_store, 1);
            add(visit.loads - visit.loads_before_store, visit.stores - 1);
        }
    }
    all
}

/// What an exporter writes of these pieces.
pub(crate) fn export<'a>(
    entry: &ExportEntry,
    header: &Header,
    items: impl IntoIterator<Item = &'a OwnedItem>,
) -> (Vec<u8>, Vec<LeftOut>) {
    let mut bytes = Vec::new();
    let mut exporter = (entry.create)(&mut bytes, header);
    for item in items {
        let written = match item {
            OwnedItem::Visit(visit) => exporter.item(&Item::Visits(&[*visit])),
            OwnedItem::Event(event) => exporter.item(&Item::Event(event)),
        };
        written.expect("the piece has a form");
    }
    exporter.finish().expect("memory does not fail");
    let left_out = exporter.left_out();
    drop(exporter);
    (bytes, left_out)
}
