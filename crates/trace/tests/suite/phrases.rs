//! Version 2 of a trace says what version 1 does.

use std::io::Cursor;

use crate::common::teller::{Target, Teller};
use crate::common::{Piece, canonical, header, read, read_until_error, recode, trace, write};
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

/// What a reader finds in its parts, where visits stand by their words. Also how many items were told so.
fn by_words(bytes: &[u8], fetches: bool) -> (Vec<Piece>, usize) {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let mut parts = PartReader::new(reader.header().grain, fetches);
    let (mut pieces, mut phrased) = (Vec::new(), 0);
    while let Some(part) = reader.next_part().expect("it is whole") {
        parts.begin(part);
        while let Some(item) = parts.next_part_item().expect("it is whole") {
            match item {
                PartItem::Visits(visits) => pieces.extend(visits.iter().copied().map(Piece::Visit)),
                PartItem::Phrased(words) => {
                    phrased += 1;
                    assert!(words.vocabulary.is_sorted_by_key(|visit| visit.unit));
                    pieces.extend(words.visits().map(Piece::Visit));
                }
                PartItem::Event(event) => pieces.push(Piece::Event(event.clone())),
            }
        }
        reader.close(parts.close().expect("it was begun"));
    }
    assert!(reader.complete());
    assert_eq!(reader.totals(), index(bytes).totals());
    (pieces, phrased)
}

/// Loads, stores and instructions of a trace as its index says, which its reader holds against what it reads.
fn counts(bytes: &[u8]) -> [u64; 3] {
    let totals = index(bytes).totals();
    [totals.loads, totals.stores, totals.instructions]
}

/// Recodes a trace, and holds the one against the other.
fn recoded_is_the_same(bytes: &[u8]) -> Vec<u8> {
    let phrases = recode(bytes);
    let reader = TraceReader::new(&phrases[..]).expect("a trace");
    assert_eq!(reader.version(), 2);
    assert_eq!(*reader.header(), index(bytes).header);
    let chunks = index(&phrases).chunks;
    assert!(chunks.iter().all(|chunk| chunk.kind == ChunkKind::Phrases));
    let pieces = read(bytes);
    assert!(read(&phrases) == pieces);
    assert_eq!(counts(&phrases), counts(bytes));
    let visits = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Visit(_)));
    let visits = visits.count() as u64;
    assert_eq!(index(&phrases).totals().executions, visits);
    let (found, phrased) = by_words(&phrases, true);
    assert!(found == pieces);
    assert_eq!(phrased > 0, visits > 0);
    // Recoding that again changes nothing.
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

/// Those of a phrase are added up in 32 bits where they fit, and one by one where they may not.
#[test]
fn counts_are_added_up_however_large() {
    let fits = u32::MAX / 2048;
    // A little more than fits, and as much as there may be.
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
        let mut teller = Teller::default();
        for at in 0..10_000 {
            teller.execute(0, 0, &[Target::Unit(7 + at % 2)], 0);
        }
        let all = 10_000 * u64::from(count);
        teller.totals = Totals {
            loads: all,
            stores: all,
            instructions: all,
            ..teller.totals
        };
        teller.finish(0, &mut writer);
        let phrases = recoded_is_the_same(&writer.finish().expect("a trace"));
        assert_eq!(counts(&phrases), [all; 3]);
    }
}

/// What was read of a part that turned out to be damaged is in no other.
#[test]
fn a_part_that_was_damaged_is_forgotten() {
    let block = BlockDef::new([BlockItem::Load { bytes: 8 }, BlockItem::Exit]);
    let header = header(Grain::Page, false);
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("a head");
    writer.definitions(0, 0, &[block]).expect("a block");
    for (unit, loads) in [(5, 7), (6, 1)] {
        let mut teller = Teller::default();
        teller.execute(0, 0, &[Target::Unit(unit)], 0);
        teller.event(&Event::Fork { child: 3 });
        teller.totals.loads = loads;
        teller.finish(0, &mut writer);
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
        Piece::Event(Event::SpaceSwitch(SpaceId(0))),
        Piece::Visit(load(6)),
        Piece::Event(Event::Fork { child: 3 }),
    ];
    assert_eq!(read(&to.finish().expect("a trace")), expected);
}

/// Instructions of fetches that are left out, as many as there are before a visit.
#[test]
fn instructions_of_fetches_are_not_lost_however_many() {
    let mut pieces = Vec::new();
    for round in 0..10u64 {
        pieces.extend((0..5).map(|at| {
            Piece::Visit(Visit {
                unit: 100 + at % 2,
                instructions: u32::MAX,
                fetch: true,
                ..Visit::default()
            })
        }));
        if round % 2 == 0 {
            pieces.push(Piece::Visit(load(round)));
        }
    }
    pieces.push(Piece::Event(Event::SpaceEnd { status: None }));
    let phrases = recoded_is_the_same(&write(&header(Grain::Page, true), &pieces));
    let options = ReadOptions {
        fetches: false,
        ..ReadOptions::default()
    };
    let (found, error) = read_until_error(&phrases, options);
    assert!(error.is_none(), "{error:?}");
    let instructions = found.iter().map(|piece| match piece {
        Piece::Visit(visit) => {
            assert!(!visit.fetch);
            u64::from(visit.instructions)
        }
        Piece::Event(_) => 0,
    });
    assert_eq!(instructions.sum::<u64>(), 50 * u64::from(u32::MAX));
    // The end of the space comes behind all that it did.
    assert!(matches!(
        found.last(),
        Some(Piece::Event(Event::SpaceEnd { .. }))
    ));
}

/// How many chunks hold visits, in both versions.
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
    // What repeats, with an event now and then, also where a chunk ends.
    let mut pieces = Vec::new();
    for at in 0..1_200_000u64 {
        if at.is_multiple_of(1 << 18) || at % 99_991 == 5 {
            pieces.push(Piece::Event(Event::Fork { child: at as u32 }));
        }
        pieces.push(Piece::Visit(load(at % 3 + 10 * (at / 1000 % 2))));
    }
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    let (before, after) = chunks(&bytes, &phrases);
    assert!(before == 1 && after > 1, "{before} and {after}");
    assert!(canonical(&read(&phrases)) == canonical(&pieces));
}

#[test]
fn a_part_of_more_distinct_visits_than_a_chunk_has_becomes_several() {
    let pieces: Vec<Piece> = (0..100_000u64)
        .map(|at| Piece::Visit(load(at * 7919 % 100_003)))
        .collect();
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    let (before, after) = chunks(&bytes, &phrases);
    assert!(before == 1 && after > 3, "{before} and {after}");
}

/// More phrases than there are codes for: the oldest give way.
#[test]
fn phrases_that_give_way_are_read_as_they_are_written() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    // Half of all codes are words, and most rows of visits are new.
    let mut units: Vec<u64> = (0..16_000).collect();
    units.extend((0..400_000).map(|_| random(16_000)));
    for _ in 0..500 {
        let from = random(units.len() as u64 - 100) as usize;
        units.extend_from_within(from..from + 100);
    }
    let pieces: Vec<Piece> = units
        .into_iter()
        .map(|unit| Piece::Visit(load(unit)))
        .collect();
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    assert_eq!(chunks(&bytes, &phrases), (1, 1));
}

/// Which process a chunk is about stands in its head alone.
#[test]
fn switches_stand_where_they_stood() {
    let switch = |space| Piece::Event(Event::SpaceSwitch(SpaceId(space)));
    let mut pieces = Vec::new();
    for round in 0..40u64 {
        pieces.push(switch((round % 3) as u32));
        pieces.extend((0..round % 5).map(|at| Piece::Visit(load(at))));
    }
    let bytes = write(&header(Grain::Page, false), &pieces);
    let phrases = recoded_is_the_same(&bytes);
    assert_eq!(canonical(&read(&phrases)), canonical(&pieces));
    assert_eq!(index(&phrases).processes(), 3);
}
