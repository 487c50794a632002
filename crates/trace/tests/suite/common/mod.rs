//! What several tests of traces need: random traces, and a form in which two that mean the same are equal.
#![allow(dead_code)]

pub(crate) mod teller;

use std::io::Cursor;

use broadleaf_trace::{
    Advice, Backing, DEFAULT_LEVEL, Encoder, Event, Grain, Header, Item, KernelTouch, Lead,
    Mapping, Options, Protection, Range, ReadOptions, Recoder, TouchOrigin, TraceError, TraceIndex,
    TraceReader, Visit,
};
use broadleaf_units::{FileId, SpaceId, ThreadId, VirtAddr};
use proptest::prelude::*;

/// One piece of a trace that owns what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Visit(Visit),
    Event(Event),
}

/// Every piece that a reader finds, and the error that ended it.
pub(crate) fn read_until_error(
    bytes: &[u8],
    options: ReadOptions,
) -> (Vec<Piece>, Option<TraceError>) {
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

pub(crate) fn push(pieces: &mut Vec<Piece>, item: &Item<'_>) {
    match item {
        Item::Visits(visits) => pieces.extend(visits.iter().copied().map(Piece::Visit)),
        Item::Event(event) => pieces.push(Piece::Event((*event).clone())),
    }
}

/// Every piece of a trace that is whole.
pub(crate) fn read(bytes: &[u8]) -> Vec<Piece> {
    let (pieces, error) = read_until_error(bytes, ReadOptions::default());
    assert!(error.is_none(), "{error:?}");
    pieces
}

/// A trace of these pieces.
pub(crate) fn write(header: &Header, pieces: &[Piece]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), header).expect("a head is written");
    for piece in pieces {
        match piece {
            Piece::Visit(visit) => encoder.visits(std::slice::from_ref(visit)),
            Piece::Event(event) => encoder.event(event),
        }
        .unwrap_or_else(|error| panic!("{piece:?}: {error}"));
    }
    encoder.finish().expect("a trace is written")
}

/// Version 2 of a trace that is whole.
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

/// A trace of these pieces in version 2.
pub(crate) fn write_phrases(header: &Header, pieces: &[Piece]) -> Vec<u8> {
    recode(&write(header, pieces))
}

/// A header for pieces of this grain.
pub(crate) fn header(grain: Grain, instruction_pages: bool) -> Header {
    Header {
        options: Options {
            instruction_counts: true,
            instruction_pages,
            events: true,
            children: true,
        },
        ..Header::new(grain)
    }
}

/// Sets one byte of a chunk's body, and puts its check right.
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

/// The same trace with visits as long as they can be, instructions without an access moved to the next reference of their space,
/// and switches only where the space that runs changes something.
pub(crate) fn canonical(pieces: &[Piece]) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut carried = 0u64;
    let mut running = None;
    let mut wanted = SpaceId(0);
    // What is left of a space's instructions stands in a visit of its own.
    let put_down = |out: &mut Vec<Piece>, carried: &mut u64| {
        if *carried > 0 {
            let instructions = u32::try_from(*carried).expect("tests carry few");
            out.push(Piece::Visit(Visit {
                instructions,
                ..Visit::default()
            }));
            *carried = 0;
        }
    };
    for piece in pieces {
        if let Piece::Event(Event::SpaceSwitch(space)) = piece {
            wanted = *space;
            continue;
        }
        if matches!(piece, Piece::Visit(visit) if visit.lookups() == 0 && visit.instructions == 0) {
            continue;
        }
        if running != Some(wanted) {
            running = Some(wanted);
            put_down(&mut out, &mut carried);
            out.push(Piece::Event(Event::SpaceSwitch(wanted)));
        }
        match piece {
            Piece::Visit(visit) => add(&mut out, &mut carried, visit),
            Piece::Event(event) => {
                if matches!(event, Event::SpaceEnd { .. }) {
                    put_down(&mut out, &mut carried);
                }
                out.push(Piece::Event(event.clone()));
            }
        }
    }
    put_down(&mut out, &mut carried);
    out
}

fn add(out: &mut Vec<Piece>, carried: &mut u64, visit: &Visit) {
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
    if let Some(Piece::Visit(last)) = out.last_mut()
        && last.unit == visit.unit
        && last.fetch == visit.fetch
        && visit.lead == Lead::None
        // A visit of instructions only is not one that grows.
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
    out.push(Piece::Visit(visit));
}

// ---- random traces ----

fn range() -> impl Strategy<Value = Range> {
    (0u64..1 << 35, 0u64..1 << 20).prop_map(|(start, len)| Range {
        start: VirtAddr(start << 12),
        len: len << 12,
    })
}

fn protection() -> impl Strategy<Value = Protection> {
    any::<(bool, bool, bool)>().prop_map(|(read, write, execute)| Protection {
        read,
        write,
        execute,
    })
}

fn backing() -> impl Strategy<Value = Backing> {
    prop_oneof![
        Just(Backing::Anonymous),
        Just(Backing::Heap),
        Just(Backing::Stack),
        Just(Backing::SharedMemory),
        any::<(u32, u64)>().prop_map(|(file, offset)| Backing::File {
            file: FileId(file),
            offset
        }),
        Just(Backing::Kernel),
    ]
}

fn advice() -> impl Strategy<Value = Advice> {
    prop_oneof![
        Just(Advice::DontNeed),
        Just(Advice::Free),
        Just(Advice::Remove),
        Just(Advice::HugePage),
        Just(Advice::NoHugePage),
        prop_oneof![Just(-1), Just(0), Just(25), Just(i32::MAX)].prop_map(Advice::Other),
    ]
}

fn populate() -> impl Strategy<Value = Event> {
    use KernelTouch::{AsMapped, Collapse, Load, Store};
    let touch = prop_oneof![Just(Load), Just(Store), Just(AsMapped), Just(Collapse)];
    let origin = prop_oneof![Just(TouchOrigin::Request), Just(TouchOrigin::Buffer)];
    (range(), touch, origin).prop_map(|(range, touch, origin)| Event::Populate {
        range: Range {
            len: range.len.min(Event::MOST_POPULATED),
            ..range
        },
        touch,
        origin,
    })
}

/// Any event but a switch of spaces.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let text = "[a-zé/ ]{0,12}";
    prop_oneof![
        (range(), protection(), any::<bool>(), backing()).prop_map(
            |(range, protection, shared, backing)| Event::Map(Mapping {
                range,
                protection,
                shared,
                backing
            })
        ),
        range().prop_map(Event::Unmap),
        (range(), protection()).prop_map(|(range, protection)| Event::Protect(range, protection)),
        (range(), range()).prop_map(|(from, to)| Event::Remap { from, to }),
        (range(), advice()).prop_map(|(range, advice)| Event::Advise(range, advice)),
        populate(),
        range().prop_map(Event::Brk),
        range().prop_map(Event::StackGrow),
        (any::<u32>(), any::<u64>(), text).prop_map(|(id, size, path)| Event::File {
            id: FileId(id),
            size,
            path
        }),
        (range(), any::<u64>()).prop_map(|(at, native)| Event::Misplaced {
            at,
            native: VirtAddr(native)
        }),
        (
            any::<u32>(),
            any::<u32>(),
            prop::collection::vec(text, 0..4)
        )
            .prop_map(|(pid, parent, command)| Event::SpaceStart {
                pid,
                parent,
                command
            }),
        any::<u32>().prop_map(|child| Event::Fork { child }),
        text.prop_map(|path| Event::Exec { path }),
        any::<Option<i32>>().prop_map(|status| Event::SpaceEnd { status }),
        any::<u32>().prop_map(|thread| Event::ThreadStart(ThreadId(thread))),
        any::<u32>().prop_map(|thread| Event::ThreadSwitch(ThreadId(thread))),
        any::<u32>().prop_map(|thread| Event::ThreadEnd(ThreadId(thread))),
    ]
}

/// Mostly few units, so that what was foretold often comes true.
fn unit() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0u64..6,
        2 => 0u64..5000,
        1 => 0u64..1 << 51,
        1 => Just((1 << 52) - 8),
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..3, 2 => 0u32..40, 1 => 0u32..100_000]
}

/// A visit without a lead. It may hold no access.
fn visit(instruction_pages: bool) -> impl Strategy<Value = Visit> {
    (unit(), count(), count(), count(), any::<u32>()).prop_map(
        move |(unit, loads, stores, instructions, seed)| Visit {
            unit,
            loads,
            stores,
            loads_before_store: match stores {
                0 => loads,
                _ => seed % (loads + 1),
            },
            instructions: if instruction_pages { 0 } else { instructions },
            ..Visit::default()
        },
    )
}

/// A visit whose last access reaches into further units.
fn straddling(instruction_pages: bool) -> impl Strategy<Value = Vec<Visit>> {
    (
        visit(instruction_pages),
        1u64..4,
        any::<bool>(),
        visit(instruction_pages),
    )
        .prop_map(|(mut first, reach, store, after)| {
            let lead = if store {
                first.stores += 1;
                if first.stores == 1 {
                    first.loads_before_store = first.loads;
                }
                Lead::Store
            } else {
                first.loads += 1;
                if first.stores == 0 {
                    first.loads_before_store = first.loads;
                }
                Lead::Load
            };
            // A load that comes last comes behind the first store.
            if !store && first.stores > 0 {
                first.loads_before_store = first.loads_before_store.min(first.loads - 1);
            }
            let mut visits = vec![first];
            visits.extend((1..=reach).map(|further| Visit {
                unit: first.unit + further,
                lead,
                ..Visit::default()
            }));
            let last = visits.last_mut().expect("there is one");
            *last = Visit {
                unit: last.unit,
                lead,
                ..after
            };
            visits
        })
}

fn fetches() -> impl Strategy<Value = Visit> {
    (unit(), count()).prop_map(|(unit, instructions)| Visit {
        unit,
        instructions,
        fetch: true,
        ..Visit::default()
    })
}

fn some_visits(instruction_pages: bool) -> BoxedStrategy<Vec<Visit>> {
    let one = visit(instruction_pages).prop_map(|visit| vec![visit]);
    let straddling = straddling(instruction_pages);
    // Loops are what traces are made of.
    let inner = prop_oneof![6 => one, 1 => straddling].boxed();
    let inner = if instruction_pages {
        prop_oneof![1 => inner, 1 => fetches().prop_map(|visit| vec![visit])].boxed()
    } else {
        inner
    };
    let looped = (prop::collection::vec(inner.clone(), 1..6), 1usize..40)
        .prop_map(|(body, times)| body.concat().repeat(times));
    prop_oneof![3 => inner, 2 => looped].boxed()
}

/// A trace of any pieces.
pub(crate) fn trace(instruction_pages: bool) -> BoxedStrategy<Vec<Piece>> {
    let visits = some_visits(instruction_pages)
        .prop_map(|visits| visits.into_iter().map(Piece::Visit).collect::<Vec<_>>());
    let event = event().prop_map(|event| vec![Piece::Event(event)]);
    let switch = (0u32..3).prop_map(|space| vec![Piece::Event(Event::SpaceSwitch(SpaceId(space)))]);
    let pieces = prop_oneof![6 => visits, 1 => event, 1 => switch];
    prop::collection::vec(pieces, 0..40)
        .prop_map(|pieces| pieces.concat())
        .boxed()
}
