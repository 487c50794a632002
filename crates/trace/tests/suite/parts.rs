//! A trace read in parts, in any order and several at once, equals the trace read in order.

use std::io::Cursor;
use std::thread;

use crate::common::reference_encoder::{ReferenceEncoder, TestTarget};
use crate::common::{TestItem, damage_sealed, header, push, recode, trace, write};
use broadleaf_trace::VisitEnds;
use broadleaf_trace::{
    BlockDef, BlockItem, Event, Grain, Header, Lead, Lost, Part, PartReader, ReadOptions, Totals,
    TraceError, TraceIndex, TraceReader, TraceWriter, Visit,
};
use broadleaf_units::SpaceId;
use proptest::prelude::*;

/// The content of a trace and its reader's final state. Errors compare by their text.
#[derive(Debug, PartialEq)]
struct ReadResult {
    pieces: Vec<TestItem>,
    error: Option<String>,
    totals: Totals,
    complete: bool,
    lost: Lost,
}

/// The maximum number of items that a test reads. A run lengthened by damage can be very long.
const MOST_ITEMS: usize = 2000;

fn reader(bytes: &[u8], options: ReadOptions) -> TraceReader<&[u8]> {
    TraceReader::with_options(bytes, options).expect("a head")
}

/// Reads item by item. Returns `None` if there are too many items.
fn in_order(bytes: &[u8], options: ReadOptions) -> Option<ReadResult> {
    let mut reader = reader(bytes, options);
    let mut pieces = Vec::new();
    for _ in 0..MOST_ITEMS {
        let error = match reader.next_item() {
            Ok(Some(item)) => {
                push(&mut pieces, &item);
                continue;
            }
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        return Some(ReadResult {
            pieces,
            error,
            totals: reader.totals(),
            complete: reader.complete(),
            lost: reader.lost(),
        });
    }
    None
}

/// Reads one part to its end.
fn read_part(reader: &mut PartReader, pieces: &mut Vec<TestItem>) -> Option<TraceError> {
    loop {
        match reader.next_item() {
            Ok(Some(item)) => push(pieces, &item),
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// Reads one part after the other, and closes each before the next.
fn part_by_part(bytes: &[u8], options: ReadOptions) -> ReadResult {
    let mut reader = reader(bytes, options);
    let mut parts = PartReader::new(reader.header().grain, options.fetches);
    let mut pieces = Vec::new();
    let error = loop {
        match reader.next_part() {
            Ok(Some(part)) => parts.begin(part),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        let error = read_part(&mut parts, &mut pieces);
        reader.close(parts.close().expect("it was begun"));
        if error.is_some() && !options.keep_going {
            break error;
        }
    };
    read_result(&mut reader, pieces, error)
}

fn read_result(
    reader: &mut TraceReader<&[u8]>,
    pieces: Vec<TestItem>,
    error: Option<TraceError>,
) -> ReadResult {
    assert!(matches!(reader.next_part(), Ok(None)));
    ReadResult {
        pieces,
        error: error.map(|error| error.to_string()),
        totals: reader.totals(),
        complete: reader.complete(),
        lost: reader.lost(),
    }
}

/// A part with its reader.
struct OpenPart {
    reader: PartReader,
    at: usize,
}

/// Takes all parts first, then reads several at a time. `order` chooses the part that continues.
fn in_any_order(bytes: &[u8], options: ReadOptions, readers: usize, order: &[u8]) -> ReadResult {
    let mut reader = reader(bytes, options);
    let mut parts: Vec<Option<Part>> = Vec::new();
    let mut error = loop {
        match reader.next_part() {
            Ok(Some(part)) => parts.push(Some(part)),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(parts.is_empty() || !reader.complete(), "they are not read");
    let grain = reader.header().grain;
    let mut order = order.iter().cycle().map(|&choice| usize::from(choice));
    let mut choose = move |of: usize| order.next().expect("a choice") % of;
    let mut idle: Vec<PartReader> = (0..readers)
        .map(|_| PartReader::new(grain, options.fetches))
        .collect();
    let mut busy: Vec<OpenPart> = Vec::new();
    let mut waiting: Vec<usize> = (0..parts.len()).collect();
    let mut read: Vec<(Vec<TestItem>, Option<TraceError>)> = Vec::new();
    read.resize_with(parts.len(), Default::default);
    let mut closed: Vec<_> = (0..parts.len()).map(|_| None).collect();
    while !(waiting.is_empty() && busy.is_empty()) {
        if !waiting.is_empty()
            && let Some(mut reader) = idle.pop()
        {
            let at = waiting.remove(choose(waiting.len()));
            reader.begin(parts[at].take().expect("each is read once"));
            assert_eq!(reader.made(), Totals::default());
            busy.push(OpenPart { reader, at });
            continue;
        }
        let chosen = choose(busy.len());
        let OpenPart { reader, at } = &mut busy[chosen];
        let (pieces, error) = &mut read[*at];
        match reader.next_item() {
            Ok(Some(item)) => {
                push(pieces, &item);
                continue;
            }
            Ok(None) => {}
            Err(found) => *error = Some(found),
        }
        let after = reader.next_item().expect("there is nothing after");
        assert!(after.is_none());
        closed[*at] = reader.close();
        assert!(closed[*at].is_some() && reader.close().is_none());
        assert!(reader.next_item().expect("no part").is_none());
        idle.push(busy.swap_remove(chosen).reader);
    }
    // Only items before the first damage count.
    let mut pieces = Vec::new();
    let mut before = Vec::new();
    for ((some, damage), closed) in read.into_iter().zip(closed) {
        pieces.extend(some);
        before.push(closed.expect("it was read"));
        if damage.is_some() {
            error = damage;
            break;
        }
    }
    while !before.is_empty() {
        reader.close(before.swap_remove(choose(before.len())));
    }
    read_result(&mut reader, pieces, error)
}

const GOLDEN: [&[u8]; 3] = [
    include_bytes!("../../../../tests/golden/blocks.bl"),
    include_bytes!("../../../../tests/golden/children.bl"),
    include_bytes!("../../../../tests/golden/sort.bl"),
];

#[test]
fn recordings_read_in_parts_are_the_recordings() {
    let phrases = GOLDEN.map(recode);
    for bytes in GOLDEN.into_iter().chain(phrases.iter().map(Vec::as_slice)) {
        for fetches in [true, false] {
            let options = ReadOptions {
                fetches,
                ..ReadOptions::default()
            };
            let mut in_order = TraceReader::with_options(bytes, options).expect("a head");
            let mut pieces = Vec::new();
            while let Some(item) = in_order.next_item().expect("it is whole") {
                push(&mut pieces, &item);
            }
            for readers in [1, 2, 5] {
                let found = in_any_order(bytes, options, readers, &[3, 0, 7, 1, 1, 250, 4]);
                assert!(found.pieces == pieces);
                assert_eq!((found.error, found.complete), (None, true));
                assert_eq!(found.totals, in_order.totals());
            }
        }
    }
}

#[test]
fn threads_read_parts() {
    let phrases = GOLDEN.map(recode);
    for bytes in GOLDEN.into_iter().chain(phrases.iter().map(Vec::as_slice)) {
        let mut reader = TraceReader::new(bytes).expect("a head");
        let grain = reader.header().grain;
        let mut closed = Vec::new();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            while let Some(part) = reader.next_part().expect("it is whole") {
                threads.push(scope.spawn(move || {
                    let mut reader = PartReader::new(grain, true);
                    reader.begin(part);
                    while reader.next_item().expect("it is whole").is_some() {}
                    reader.close().expect("a part was begun")
                }));
            }
            for thread in threads {
                closed.push(thread.join().expect("it does not panic"));
            }
        });
        for part in closed {
            assert!(!reader.complete());
            reader.close(part);
        }
        assert!(reader.complete());
        let index = TraceIndex::read(Cursor::new(bytes)).expect("an index");
        assert_eq!(reader.totals(), index.totals());
    }
}

/// The definitions of a space end with the space, however far the reader is ahead.
#[test]
fn the_definitions_of_an_ended_space_are_discarded() {
    let block = BlockDef::new([BlockItem::Load { bytes: 8 }, BlockItem::Exit]);
    let mut writer = TraceWriter::new(Vec::new(), &header(Grain::Page, false)).expect("a head");
    writer.definitions(4, 0, &[block]).expect("blocks");
    for ends in [true, false] {
        let mut encoder = ReferenceEncoder::default();
        for unit in [5, 6] {
            encoder.execute(0, 0, &[TestTarget::Unit(unit)], 0);
            encoder.totals.loads += 1;
        }
        if ends {
            encoder.event(&Event::SpaceEnd { status: Some(0) });
        }
        encoder.finish(4, &mut writer);
    }
    let bytes = writer.finish().expect("a trace");
    let found = in_order(&bytes, ReadOptions::default()).expect("it is short");
    let error = found.error.as_deref().expect("the second chunk's patterns");
    assert!(error.contains("an executed pattern is not defined"));
    assert_eq!(found.totals.loads, 2);
    for order in [[0], [1]] {
        assert_eq!(
            found,
            in_any_order(&bytes, ReadOptions::default(), 2, &order)
        );
    }
}

/// Leading visits of an abandoned part have no effect on the next part.
#[test]
fn an_abandoned_part_has_no_effect_on_the_next() {
    let load = |unit, lead| {
        TestItem::Visit(Visit {
            unit,
            loads: 1,
            loads_before_store: 1,
            lead,
            ..Visit::default()
        })
    };
    let straddling = [
        load(1, Lead::None),
        load(2, Lead::Load),
        load(4, Lead::None),
    ];
    let plain: Vec<TestItem> = (0..40).map(|at| load(7 + at % 2, Lead::None)).collect();
    let switch = TestItem::Event(Event::SpaceSwitch(SpaceId(1)));
    let pieces = [&straddling[..], &[switch], &plain].concat();
    let bytes = write(&header(Grain::Page, false), &pieces);
    let mut reader = TraceReader::new(&bytes[..]).expect("a head");
    let mut parts = PartReader::new(Grain::Page, true);
    let mut next = || reader.next_part().expect("it is whole").expect("a part");
    parts.begin(next());
    for _ in 0..2 {
        assert!(parts.next_item().expect("it is whole").is_some());
    }
    parts.begin(next());
    let mut found = Vec::new();
    assert!(read_part(&mut parts, &mut found).is_none());
    assert!(found[1..] == plain);
}

#[test]
fn a_part_has_the_index_entry_of_its_chunk() {
    let bytes = GOLDEN[1];
    let index = TraceIndex::read(Cursor::new(bytes)).expect("an index");
    let mut reader = TraceReader::new(bytes).expect("a head");
    let mut streams = index
        .chunks
        .iter()
        .filter(|chunk| chunk.totals.executions > 0);
    let mut before = None;
    while let Some(part) = reader.next_part().expect("it is whole") {
        let process = part.info().process;
        assert_eq!(part.switches(), before != Some(process));
        before = Some(process);
        if part.info().totals.executions > 0 {
            assert_eq!(Some(part.info()), streams.next());
        }
        let mut parts = PartReader::new(reader.header().grain, true);
        let switches = part.switches();
        parts.begin(part);
        let mut pieces = Vec::new();
        push(
            &mut pieces,
            &parts.next_item().expect("it is whole").expect("an item"),
        );
        let switch = TestItem::Event(Event::SpaceSwitch(SpaceId(process)));
        assert_eq!(pieces == [switch], switches);
    }
    assert!(streams.next().is_none());
}

/// Writes a trace of either version.
fn written(header: &Header, pieces: &[TestItem], phrases: bool) -> Vec<u8> {
    let bytes = write(header, pieces);
    if phrases { recode(&bytes) } else { bytes }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_trace_read_in_parts_is_the_trace(
        pieces in trace(true),
        phrases: bool,
        fetches: bool,
        readers in 1usize..5,
        order in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let bytes = written(&header(Grain::Page, true), &pieces, phrases);
        let options = ReadOptions { fetches, ..ReadOptions::default() };
        let found = in_order(&bytes, options);
        prop_assume!(found.is_some());
        prop_assert_eq!(found, Some(in_any_order(&bytes, options, readers, &order)));
    }

    /// Errors and lost data are equal as well.
    #[test]
    fn any_damaged_trace_read_in_parts_is_the_trace(
        pieces in trace(false),
        phrases: bool,
        at: prop::sample::Index,
        value: u8,
        sealed: bool,
        cut: Option<prop::sample::Index>,
        keep_going: bool,
        order in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let mut bytes = written(&header(Grain::Page, false), &pieces, phrases);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        prop_assume!(!index.chunks.is_empty());
        let first = index.chunks[0].offset as usize;
        if sealed {
            damage_sealed(&mut bytes, &index, &at, value);
        } else {
            let length = bytes.len() - first;
            bytes[first + at.index(length)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(first + cut.index(bytes.len() - first));
        }
        let options = ReadOptions { ends: VisitEnds::Units, keep_going, fetches: true };
        let found = in_order(&bytes, options);
        prop_assume!(found.is_some());
        prop_assert_eq!(&found, &Some(part_by_part(&bytes, options)));
        if !keep_going {
            prop_assert_eq!(found, Some(in_any_order(&bytes, options, 3, &order)));
        }
    }
}
