//! Shared test code: random traces, and a canonical form in which equivalent traces are equal.
#![allow(dead_code)]

mod random;
pub(crate) mod reference_encoder;

use std::io::Cursor;

use broadleaf_trace::{
    DEFAULT_LEVEL, Encoder, Event, Grain, Header, Item, Lead, Options, ReadOptions, Recoder,
    TraceError, TraceIndex, TraceReader, Visit, WindowPlan, WindowUnit,
};
use broadleaf_units::SpaceId;
use proptest::prelude::*;
pub(crate) use random::trace;

/// One item of a trace, with owned content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestItem {
    Visit(Visit),
    Event(Event),
}

/// Reads all items up to the end or an error, and returns both.
pub(crate) fn read_until_error(
    bytes: &[u8],
    options: ReadOptions,
) -> (Vec<TestItem>, Option<TraceError>) {
    let mut pieces = Vec::new();
    let mut reader = match TraceReader::with_options(Cursor::new(bytes), options) {
        Ok(reader) => reader,
        Err(error) => return (pieces, Some(error)),
    };
    loop {
        match reader.next_item() {
            Ok(Some(item)) => push(&mut pieces, &item),
            Ok(None) => return (pieces, None),
            Err(error) => return (pieces, Some(error)),
        }
    }
}

pub(crate) fn push(pieces: &mut Vec<TestItem>, item: &Item<'_>) {
    match item {
        Item::Visits(visits) => pieces.extend(visits.iter().copied().map(TestItem::Visit)),
        Item::Event(event) => pieces.push(TestItem::Event((*event).clone())),
    }
}

/// Reads all items of a whole trace.
pub(crate) fn read(bytes: &[u8]) -> Vec<TestItem> {
    let (pieces, error) = read_until_error(bytes, ReadOptions::default());
    assert!(error.is_none(), "{error:?}");
    pieces
}

/// Writes a trace of these items.
pub(crate) fn write(header: &Header, pieces: &[TestItem]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), header).expect("a head is written");
    for piece in pieces {
        match piece {
            TestItem::Visit(visit) => encoder.visits(std::slice::from_ref(visit)),
            TestItem::Event(event) => encoder.event(event),
        }
        .unwrap_or_else(|error| panic!("{piece:?}: {error}"));
    }
    encoder.finish().expect("a trace is written")
}

/// Converts a whole trace into version 2.
pub(crate) fn recode(bytes: &[u8]) -> Vec<u8> {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let header = reader.header().clone();
    let mut recoder = Recoder::new(&header, DEFAULT_LEVEL).expect("there is such a level");
    let mut writer = Recoder::writer(Vec::new(), &header).expect("a head is written");
    while let Some(part) = reader.next_part().expect("it is whole") {
        let recoded = recoder.recode(part).expect("it is whole");
        for chunk in recoded.chunks {
            writer.write(chunk).expect("a chunk is written");
        }
        reader.close(recoded.closed.expect("it was begun"));
    }
    assert!(reader.complete());
    writer.finish().expect("a trace is written")
}

/// Writes a trace of these items in version 2.
pub(crate) fn write_phrases(header: &Header, pieces: &[TestItem]) -> Vec<u8> {
    recode(&write(header, pieces))
}

/// A header for items of this grain, and for events of all kinds.
pub(crate) fn header(grain: Grain, instruction_pages: bool) -> Header {
    Header {
        options: Options {
            instruction_counts: true,
            instruction_pages,
            events: true,
            children: true,
            system: true,
            kernel_events: true,
            code: false,
        },
        windows: Some(WindowPlan {
            unit: WindowUnit::Accesses,
            skip: 0,
            length: 1,
            every: 1,
        }),
        ..Header::new(grain)
    }
}

/// Sets one byte of a chunk's body, and corrects the check.
pub(crate) fn damage_sealed(
    bytes: &mut [u8],
    index: &TraceIndex,
    at: &prop::sample::Index,
    value: u8,
) {
    let begin = index.chunks[at.index(index.chunks.len())].offset as usize;
    let length: [u8; 4] = bytes[begin + 12..begin + 16].try_into().expect("4 bytes");
    let length = u32::from_le_bytes(length) as usize;
    bytes[begin + 16 + at.index(length.max(1))] = value;
    let check = xxhash_rust::xxh3::xxh3_64(&bytes[begin..begin + 16 + length]);
    bytes[begin + 16 + length..begin + 24 + length].copy_from_slice(&check.to_le_bytes());
}

/// Returns the canonical form of a trace. Visits are maximal. Instructions without an access move
/// to the next reference of their space. Switches remain only before an item of another space.
pub(crate) fn canonical(pieces: &[TestItem]) -> Vec<TestItem> {
    let mut out = Vec::new();
    let mut carried = 0u64;
    let mut running = None;
    let mut selected = SpaceId(0);
    // The instructions left at the end of a space become a visit.
    let put_down = |out: &mut Vec<TestItem>, carried: &mut u64| {
        if *carried > 0 {
            let instructions = u32::try_from(*carried).expect("tests carry few");
            out.push(TestItem::Visit(Visit {
                instructions,
                ..Visit::default()
            }));
            *carried = 0;
        }
    };
    for piece in pieces {
        if let TestItem::Event(Event::SpaceSwitch(space)) = piece {
            selected = *space;
            continue;
        }
        let is_empty = |visit: &Visit| visit.lookups() == 0 && visit.instructions == 0;
        if matches!(piece, TestItem::Visit(visit) if is_empty(visit)) {
            continue;
        }
        if running != Some(selected) {
            running = Some(selected);
            put_down(&mut out, &mut carried);
            out.push(TestItem::Event(Event::SpaceSwitch(selected)));
        }
        match piece {
            TestItem::Visit(visit) => add(&mut out, &mut carried, visit),
            TestItem::Event(event) => {
                if matches!(event, Event::SpaceEnd { .. }) {
                    put_down(&mut out, &mut carried);
                }
                out.push(TestItem::Event(event.clone()));
            }
        }
    }
    put_down(&mut out, &mut carried);
    out
}

fn add(out: &mut Vec<TestItem>, carried: &mut u64, visit: &Visit) {
    let mut visit = *visit;
    if visit.stores == 0 {
        visit.loads_before_store = visit.loads;
    }
    if visit.fetch {
        if visit.instructions == 0 {
            return;
        }
    } else if visit.accesses() == 0 {
        *carried += u64::from(visit.instructions);
        visit.instructions = 0;
        if visit.lead == Lead::None {
            return;
        }
    } else {
        let sum = *carried + u64::from(visit.instructions);
        visit.instructions = u32::try_from(sum).expect("tests count few");
        *carried = 0;
    }
    if let Some(TestItem::Visit(last)) = out.last_mut()
        && last.unit == visit.unit
        && last.fetch == visit.fetch
        && visit.lead == Lead::None
        // A visit with instructions only does not grow.
        && (last.fetch || last.lookups() > 0)
    {
        if last.stores == 0 {
            last.loads_before_store += visit.loads_before_store;
        }
        last.loads += visit.loads;
        last.stores += visit.stores;
        last.instructions += visit.instructions;
        return;
    }
    out.push(TestItem::Visit(visit));
}
