//! Version 2 of a trace has the content of version 1.

use std::io::Cursor;

use crate::common::reference_encoder::{ReferenceEncoder, TestTarget};
use crate::common::{TestItem, canonical, header, read, read_until_error, recode, trace, write};
use broadleaf_trace::{
    BlockDef, BlockItem, ChunkKind, DEFAULT_LEVEL, Event, Grain, PartItem, PartReader, ReadOptions,
    RecodeError, Recoder, Totals, TraceIndex, TraceReader, TraceWriter, Visit,
};
use broadleaf_units::SpaceId;
use proptest::prelude::*;

fn index(bytes: &[u8]) -> TraceIndex {
    let index = TraceIndex::read(Cursor::new(bytes)).expect("an index");
    assert!(index.complete);
    index
}

/// Reads a trace in parts, with visits as words. Also returns the number of items of words.
fn by_words(bytes: &[u8], fetches: bool) -> (Vec<TestItem>, usize) {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let mut parts = PartReader::new(reader.header().grain, fetches);
    let (mut pieces, mut phrased) = (Vec::new(), 0);
    while let Some(part) = reader.next_part().expect("it is whole") {
        parts.begin(part);
        while let Some(item) = parts.next_part_item().expect("it is whole") {
            match item {
                PartItem::Visits(visits) => {
                    pieces.extend(visits.iter().copied().map(TestItem::Visit))
                }
                PartItem::Phrased(words) => {
                    phrased += 1;
                    assert!(words.vocabulary.is_sorted_by_key(|visit| visit.unit));
                    pieces.extend(words.visits().map(TestItem::Visit));
                }
                PartItem::Event(event) => pieces.push(TestItem::Event(event.clone())),
            }
        }
        reader.close(parts.close().expect("it was begun"));
    }
    assert!(reader.complete());
    assert_eq!(reader.totals(), index(bytes).totals());
    (pieces, phrased)
}

/// The loads, stores and instructions in the index. The reader compares them with the visits.
fn counts(bytes: &[u8]) -> [u64; 3] {
    let totals = index(bytes).totals();
    [totals.loads, totals.stores, totals.instructions]
}

/// Recodes a trace, and compares both.
fn recoded_is_the_same(bytes: &[u8]) -> Vec<u8> {
    let phrases = recode(bytes);
    let reader = TraceReader::new(&phrases[..]).expect("a trace");
    let before = TraceReader::new(bytes).expect("a trace").version();
    assert_eq!(reader.version(), before.max(2));
    assert_eq!(*reader.header(), index(bytes).header);
    let chunks = index(&phrases).chunks;
    assert!(chunks.iter().all(|chunk| chunk.kind == ChunkKind::Phrases));
    let pieces = read(bytes);
    assert!(read(&phrases) == pieces);
    assert_eq!(counts(&phrases), counts(bytes));
    let visits = pieces
        .iter()
        .filter(|piece| matches!(piece, TestItem::Visit(_)));
    let visits = visits.count() as u64;
    assert_eq!(index(&phrases).totals().executions, visits);
    let (found, phrased) = by_words(&phrases, true);
    assert!(found == pieces);
    assert_eq!(phrased > 0, visits > 0);
    // Recoding version 2 changes nothing.
    assert!(read(&recode(&phrases)) == pieces);
    phrases
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_trace_recoded_is_the_same(pieces in trace(false), line: bool) {
        let grain = if line { Grain::Line } else { Grain::Page };
        recoded_is_the_same(&write(&header(grain, false), &pieces));
    }

    #[test]
    fn any_trace_with_fetches_recoded_is_the_same(pieces in trace(true)) {
        let bytes = write(&header(Grain::Page, true), &pieces);
        let phrases = recoded_is_the_same(&bytes);
        let options = ReadOptions { fetches: false, ..ReadOptions::default() };
        let (found, error) = read_until_error(&phrases, options);
        prop_assert!(error.is_none(), "{error:?}");
        let (expected, _) = read_until_error(&bytes, options);
        prop_assert_eq!(canonical(&found), canonical(&expected));
        prop_assert_eq!(by_words(&phrases, false).0, found);
    }
}

fn load(unit: u64) -> Visit {
    Visit {
        unit,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }
}

/// The decoder adds the counts of a phrase in 32 bits if they fit, and otherwise one by one.
#[test]
fn counts_of_any_size_are_added() {
    let fits = u32::MAX / 2048;
    // The counts are a little above the limit, and the maximum.
    for count in [fits, fits + fits / 50, u32::MAX] {
        let references = BlockItem::Several {
            loads: count,
            stores: count,
            loads_before_store: count / 3,
        };
        let block = [BlockItem::Instructions(count), references, BlockItem::Exit];
        let header = header(Grain::Page, false);
        let mut writer = TraceWriter::new(Vec::new(), &header).expect("a head");
        writer
            .definitions(0, 0, &[BlockDef::new(block)])
            .expect("a block");
        let mut encoder = ReferenceEncoder::default();
        for at in 0..10_000 {
            encoder.execute(0, 0, &[TestTarget::Unit(7 + at % 2)], 0);
        }
        let all = 10_000 * u64::from(count);
        encoder.totals = Totals {
            loads: all,
            stores: all,
            instructions: all,
            ..encoder.totals
        };
        encoder.finish(0, &mut writer);
        let phrases = recoded_is_the_same(&writer.finish().expect("a trace"));
        assert_eq!(counts(&phrases), [all; 3]);
    }
}

/// The visits of a damaged part have no effect on other parts.
#[test]
fn a_damaged_part_has_no_effect_on_the_next() {
    let block = BlockDef::new([BlockItem::Load { bytes: 8 }, BlockItem::Exit]);
    let header = header(Grain::Page, false);
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("a head");
    writer.definitions(0, 0, &[block]).expect("a block");
    for (unit, loads) in [(5, 7), (6, 1)] {
        let mut encoder = ReferenceEncoder::default();
        encoder.execute(0, 0, &[TestTarget::Unit(unit)], 0);
        encoder.event(&Event::Fork { child: 3 });
        encoder.totals.loads = loads;
        encoder.finish(0, &mut writer);
    }
    let bytes = writer.finish().expect("a trace");
    let mut reader = TraceReader::new(&bytes[..]).expect("a trace");
    let mut next = || reader.next_part().expect("checks agree").expect("a part");
    let [damaged, whole] = [next(), next()];
    let mut recoder = Recoder::new(&header, DEFAULT_LEVEL).expect("there is such a level");
    assert!(matches!(recoder.recode(damaged), Err(RecodeError::Read(_))));
    let mut to = Recoder::writer(Vec::new(), &header).expect("a head");
    for chunk in recoder.recode(whole).expect("it is whole").chunks {
        to.write(chunk).expect("a chunk");
    }
    let expected = [
        TestItem::Event(Event::SpaceSwitch(SpaceId(0))),
        TestItem::Visit(load(6)),
        TestItem::Event(Event::Fork { child: 3 }),
    ];
    assert_eq!(read(&to.finish().expect("a trace")), expected);
}

/// A decoder without fetches keeps all instructions of fetches before a visit.
#[test]
fn instructions_of_many_fetches_are_not_lost() {
    let mut pieces = Vec::new();
    for round in 0..10u64 {
        pieces.extend((0..5).map(|at| {
            TestItem::Visit(Visit {
                unit: 100 + at % 2,
                instructions: u32::MAX,
                fetch: true,
                ..Visit::default()
            })
        }));
        if round % 2 == 0 {
            pieces.push(TestItem::Visit(load(round)));
        }
    }
    pieces.push(TestItem::Event(Event::SpaceEnd { status: None }));
    let phrases = recoded_is_the_same(&write(&header(Grain::Page, true), &pieces));
    let options = ReadOptions {
        fetches: false,
        ..ReadOptions::default()
    };
    let (found, error) = read_until_error(&phrases, options);
    assert!(error.is_none(), "{error:?}");
    let instructions = found.iter().map(|piece| match piece {
        TestItem::Visit(visit) => {
            assert!(!visit.fetch);
            u64::from(visit.instructions)
        }
        TestItem::Event(_) => 0,
    });
    assert_eq!(instructions.sum::<u64>(), 50 * u64::from(u32::MAX));
    // The end of the space comes after all visits of the space.
    assert!(matches!(
        found.last(),
        Some(TestItem::Event(Event::SpaceEnd { .. }))
    ));
}

/// The number of chunks with visits, in both versions.
fn chunks(bytes: &[u8], phrases: &[u8]) -> (usize, usize) {
    let of = |bytes| {
        let chunks = index(bytes).chunks;
        let hold = chunks.iter().filter(|chunk| chunk.kind.holds_visits());
        hold.count()
    };
    (of(bytes), of(phrases))
}

#[test]
fn a_part_of_more_visits_than_a_chunk_has_becomes_several() {
    // Visits repeat, with some events, also at the end of a chunk.
    let mut pieces = Vec::new();
    for at in 0..1_200_000u64 {
        if at.is_multiple_of(1 << 18) || at % 99_991 == 5 {
            pieces.push(TestItem::Event(Event::Fork { child: at as u32 }));
        }
        pieces.push(TestItem::Visit(load(at % 3 + 10 * (at / 1000 % 2))));
    }
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    let (before, after) = chunks(&bytes, &phrases);
    assert!(before == 1 && after > 1, "{before} and {after}");
    assert!(canonical(&read(&phrases)) == canonical(&pieces));
}

#[test]
fn a_part_of_more_distinct_visits_than_a_chunk_has_becomes_several() {
    let pieces: Vec<TestItem> = (0..100_000u64)
        .map(|at| TestItem::Visit(load(at * 7919 % 100_003)))
        .collect();
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    let (before, after) = chunks(&bytes, &phrases);
    assert!(before == 1 && after > 3, "{before} and {after}");
}

/// A chunk has more phrases than codes: the oldest phrases are replaced.
#[test]
fn replaced_phrases_round_trip() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    // Half of all codes are words, and most sequences of visits are new.
    let mut units: Vec<u64> = (0..16_000).collect();
    units.extend((0..400_000).map(|_| random(16_000)));
    for _ in 0..500 {
        let from = random(units.len() as u64 - 100) as usize;
        units.extend_from_within(from..from + 100);
    }
    let pieces: Vec<TestItem> = units
        .into_iter()
        .map(|unit| TestItem::Visit(load(unit)))
        .collect();
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    assert_eq!(chunks(&bytes, &phrases), (1, 1));
}

/// Only the head of a chunk holds its process.
#[test]
fn switches_keep_their_places() {
    let switch = |space| TestItem::Event(Event::SpaceSwitch(SpaceId(space)));
    let mut pieces = Vec::new();
    for round in 0..40u64 {
        pieces.push(switch((round % 3) as u32));
        pieces.extend((0..round % 5).map(|at| TestItem::Visit(load(at))));
    }
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    assert_eq!(canonical(&read(&phrases)), canonical(&pieces));
    assert_eq!(index(&phrases).processes(), 3);
}
