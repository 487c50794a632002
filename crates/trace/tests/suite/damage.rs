//! Readers refuse damaged and cut traces with an offset, or read them as far as possible.

use crate::common;
use std::io::Cursor;

use crate::common::{
    TestItem, canonical, damage_sealed, header, read, read_until_error, recode, trace, write,
    write_phrases,
};
use broadleaf_trace::VisitEnds;
use broadleaf_trace::{
    ChunkKind, Event, Grain, Header, Item, ReadOptions, Section, TraceError, TraceIndex,
    TraceReader, Visit,
};
use broadleaf_units::{SpaceId, ThreadId};
use proptest::prelude::*;

const KEEP_GOING: ReadOptions = ReadOptions {
    ends: VisitEnds::Units,
    keep_going: true,
    fetches: true,
};

fn visit(unit: u64) -> TestItem {
    TestItem::Visit(Visit {
        unit,
        loads: 2,
        stores: 1,
        loads_before_store: 1,
        instructions: 5,
        ..Visit::default()
    })
}

fn switch(space: u32) -> TestItem {
    TestItem::Event(Event::SpaceSwitch(SpaceId(space)))
}

/// Three chunks of executions in two spaces.
fn pieces() -> Vec<TestItem> {
    let mut pieces: Vec<TestItem> = (0..50).map(|at| visit(at % 7)).collect();
    pieces.push(TestItem::Event(Event::ThreadStart(ThreadId(3))));
    pieces.push(switch(1));
    pieces.extend((0..40).map(|at| visit(at * at)));
    pieces.push(switch(0));
    pieces.extend((0..30).map(|at| visit(at % 5)));
    pieces
}

fn small() -> (Vec<u8>, TraceIndex) {
    let bytes = write(&header(Grain::Page, false), &pieces());
    let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
    (bytes, index)
}

/// The small trace in each version of the format.
fn small_of_each() -> [(Vec<u8>, TraceIndex); 2] {
    let (bytes, index) = small();
    let phrases = recode(&bytes);
    let of_phrases = TraceIndex::read(Cursor::new(&phrases)).expect("an index");
    [(bytes, index), (phrases, of_phrases)]
}

/// The offsets of all chunks, including the index, and the end of the last chunk.
fn boundaries(bytes: &[u8], index: &TraceIndex) -> Vec<u64> {
    let mut all: Vec<u64> = index.chunks.iter().map(|chunk| chunk.offset).collect();
    let trailer = bytes.len() - 16;
    let at: [u8; 8] = bytes[trailer..trailer + 8].try_into().expect("8 bytes");
    all.push(u64::from_le_bytes(at));
    all.push(trailer as u64);
    all
}

/// The offset in an error.
fn offset(error: &TraceError) -> Option<u64> {
    match error {
        TraceError::Truncated { offset, .. }
        | TraceError::BadCheck { offset }
        | TraceError::BadContent { offset, .. } => Some(*offset),
        _ => None,
    }
}

#[test]
fn every_flipped_bit_is_refused_where_it_is() {
    for (bytes, index) in small_of_each() {
        let whole = read(&bytes);
        let boundaries = boundaries(&bytes, &index);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let (pieces, error) = read_until_error(&bytes, ReadOptions::default());
                let error =
                    error.unwrap_or_else(|| panic!("bit {bit} of byte {at} went unnoticed"));
                assert!(whole.starts_with(&pieces), "byte {at}");
                let begins = boundaries.iter().rev().find(|&&begin| begin <= at as u64);
                match offset(&error) {
                    Some(offset) => {
                        assert_eq!(offset, begins.copied().unwrap_or(0), "byte {at}: {error}")
                    }
                    None => assert!(at < 12, "byte {at}: {error}"),
                }
            }
        }
    }
}

#[test]
fn a_trace_cut_at_any_byte_is_read_to_its_last_whole_chunk() {
    for (bytes, index) in small_of_each() {
        let whole = read(&bytes);
        let boundaries = boundaries(&bytes, &index);
        let first = boundaries[0] as usize;
        for size in 0..bytes.len() {
            let cut = &bytes[..size];
            let (pieces, error) = read_until_error(cut, ReadOptions::default());
            assert!(whole.starts_with(&pieces), "{size} bytes");
            let end = boundaries.iter().rev().find(|&&begin| begin <= size as u64);
            match error {
                None => {
                    assert_eq!(end, Some(&(size as u64)), "only whole chunks are a trace");
                    // The trailer alone is missing there.
                    assert!(size as u64 != *boundaries.last().expect("there are some"));
                }
                Some(TraceError::Empty) => assert_eq!(size, 0),
                Some(TraceError::TooShort { size: known }) => {
                    assert_eq!(known, size as u64);
                    assert!(size < 16);
                }
                Some(TraceError::Truncated {
                    offset,
                    size: known,
                }) => {
                    assert_eq!(known, size as u64);
                    assert_eq!(offset, end.copied().unwrap_or(0), "{size} bytes");
                }
                Some(error) => panic!("{size} bytes: {error}"),
            }
            if size < first {
                continue;
            }
            let mut reader = TraceReader::with_options(cut, KEEP_GOING).expect("the head is whole");
            let mut kept = Vec::new();
            while let Some(item) = reader.next_item().expect("it keeps going") {
                common::push(&mut kept, &item);
            }
            assert_eq!(kept, pieces, "{size} bytes");
            let end = end.copied().unwrap_or(0);
            assert_eq!(reader.lost().bytes, size as u64 - end, "{size} bytes");
            let index = TraceIndex::read(Cursor::new(cut)).expect("the head is whole");
            assert!(!index.complete);
            assert_eq!((index.size, index.cut), (size as u64, size as u64 - end));
            assert_eq!(index.totals(), reader.totals(), "{size} bytes");
        }
    }
}

#[test]
fn chunks_after_a_damaged_chunk_are_read() {
    for (bytes, index) in small_of_each() {
        let all = pieces();
        let spaces: Vec<&[TestItem]> = vec![&all[..51], &all[51..92], &all[92..]];
        let streams: Vec<_> = index
            .chunks
            .iter()
            .filter(|chunk| chunk.kind.holds_visits())
            .collect();
        assert_eq!(streams.len(), spaces.len());
        for (lost, chunk) in streams.iter().enumerate() {
            let mut bytes = bytes.clone();
            bytes[chunk.offset as usize + 20] ^= 4;
            let mut reader =
                TraceReader::with_options(bytes.as_slice(), KEEP_GOING).expect("a head");
            let mut kept = Vec::new();
            while let Some(item) = reader.next_item().expect("it keeps going") {
                common::push(&mut kept, &item);
            }
            let without: Vec<TestItem> = (0..3)
                .filter(|space| *space != lost)
                .flat_map(|space| spaces[space].to_vec())
                .collect();
            // The trace begins in space 0 without a switch.
            let without = [vec![switch(0)], without].concat();
            assert_eq!(
                canonical(&kept),
                canonical(&without),
                "without chunk {lost}"
            );
            let report = reader.lost();
            assert_eq!(report.places, 1);
            assert_eq!(report.totals, Some(chunk.totals), "the index knows");
            assert!(reader.complete());
            let next = index
                .chunks
                .iter()
                .find(|other| other.offset > chunk.offset);
            if let Some(next) = next {
                assert_eq!(report.bytes, next.offset - chunk.offset);
            }
        }
    }
}

#[test]
fn lost_definitions_cost_their_chunks_alone() {
    let (bytes, index) = small();
    let definitions = index
        .chunks
        .iter()
        .find(|chunk| chunk.kind == ChunkKind::Definitions && chunk.process == 1);
    let mut bytes = bytes;
    bytes[definitions.expect("there is one").offset as usize + 17] ^= 1;
    let (kept, error) = read_until_error(&bytes, KEEP_GOING);
    assert!(error.is_none());
    let all = pieces();
    let expected = canonical(&[&all[..51], &[switch(1), switch(0)], &all[92..]].concat());
    let kept: Vec<TestItem> = canonical(&kept);
    assert_eq!(kept, expected);
}

#[test]
fn rubbish_between_chunks_is_skipped() {
    let (bytes, index) = small();
    let at = index.chunks[2].offset as usize;
    // The rubbish includes bytes that look like chunks.
    let mut rubbish =
        b"BLCKBLCK\x02\0\0\0\0\0\0\0\xff\xff\0\0 BLCK\x01\0\0\0\0\0\0\0\x04\0\0\0".to_vec();
    rubbish.extend([0; 40]);
    let damaged = [&bytes[..at], &rubbish, &bytes[at..]].concat();
    let (_, error) = read_until_error(&damaged, ReadOptions::default());
    assert_eq!(error.as_ref().and_then(offset), Some(at as u64));
    let (kept, error) = read_until_error(&damaged, KEEP_GOING);
    assert!(error.is_none());
    assert_eq!(kept, read(&bytes));
}

#[test]
fn a_file_that_is_not_a_trace_is_refused() {
    let refused = |bytes: &[u8]| {
        let index = TraceIndex::read(Cursor::new(bytes))
            .expect_err("no index")
            .to_string();
        let error = TraceReader::new(bytes).err().expect("no trace");
        assert_eq!(index, error.to_string());
        error
    };
    assert!(matches!(refused(b""), TraceError::Empty));
    assert!(matches!(refused(b"0123456789"), TraceError::NotATrace));
    assert!(matches!(
        refused(b"I  04016930,3\n L 1ffe,8\n"),
        TraceError::NotATrace
    ));
    assert!(matches!(
        refused(b"BROADLEAF\0"),
        TraceError::TooShort { size: 10 }
    ));
    let mut future = write(&Header::new(Grain::Page), &[]);
    future[10] = 9;
    match refused(&future) {
        TraceError::Version { version: 9 } => {}
        error => panic!("{error}"),
    }
    assert!(
        refused(&future).to_string().contains("upgrade"),
        "{}",
        refused(&future)
    );
}

#[test]
fn bytes_after_the_end_are_refused() {
    let (mut bytes, _) = small();
    let size = bytes.len() as u64;
    bytes.push(0);
    let (_, error) = read_until_error(&bytes, ReadOptions::default());
    match error {
        Some(TraceError::BadContent {
            offset,
            section: Section::End,
            ..
        }) => {
            assert_eq!(offset, size - 16);
        }
        error => panic!("{error:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A chunk with a valid check may hold anything. A reader returns items or an error.
    #[test]
    fn sealed_rubbish_is_refused_or_read(
        pieces in trace(false),
        at: prop::sample::Index,
        value: u8,
        keep_going: bool,
    ) {
        let mut bytes = write(&header(Grain::Page, false), &pieces);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        prop_assume!(!index.chunks.is_empty());
        damage_sealed(&mut bytes, &index, &at, value);
        let options = ReadOptions { ends: VisitEnds::Units, keep_going, fetches: true };
        let mut reader = TraceReader::with_options(bytes.as_slice(), options).expect("a head");
        let mut accesses = 0;
        // A run lengthened by damage can be very long.
        for _ in 0..1000 {
            match reader.next_item() {
                Ok(Some(Item::Visits(visits))) => {
                    accesses += visits.iter().map(Visit::accesses).sum::<u64>();
                }
                Ok(Some(Item::Event(_))) => {}
                Ok(None) => break,
                Err(error) => {
                    prop_assert!(!keep_going, "{}", error);
                    // The totals include all visits returned before the error.
                    prop_assert_eq!(reader.totals().accesses(), accesses);
                    break;
                }
            }
        }
    }

    /// A chunk of phrases has a bounded number of visits, so the test reads each to its end. An
    /// error is in the damaged chunk, or in the index, which holds the chunk's old totals.
    #[test]
    fn sealed_rubbish_in_phrases_is_refused_or_read(
        pieces in trace(true),
        at: prop::sample::Index,
        value: u8,
        fetches: bool,
        keep_going: bool,
    ) {
        let mut bytes = write_phrases(&header(Grain::Page, true), &pieces);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        prop_assume!(!index.chunks.is_empty());
        let whole = bytes.clone();
        damage_sealed(&mut bytes, &index, &at, value);
        let options = ReadOptions { ends: VisitEnds::Units, keep_going, fetches };
        let mut reader = TraceReader::with_options(bytes.as_slice(), options).expect("a head");
        let mut found = Vec::new();
        let error = loop {
            match reader.next_item() {
                Ok(Some(item)) => common::push(&mut found, &item),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let accesses = found.iter().map(|piece| match piece {
            TestItem::Visit(visit) => visit.accesses(),
            TestItem::Event(_) => 0,
        });
        prop_assert_eq!(reader.totals().accesses(), accesses.sum::<u64>());
        if let Some(error) = error {
            prop_assert!(!keep_going, "{}", error);
            let differs = whole.iter().zip(&bytes).position(|(one, other)| one != other);
            let differs = differs.expect("a trace that was not changed is whole") as u64;
            let boundaries = boundaries(&whole, &index);
            let chunk = boundaries.iter().rev().find(|&&begin| begin <= differs);
            let index = boundaries[boundaries.len() - 2];
            let offset = offset(&error);
            prop_assert!(offset == chunk.copied() || offset == Some(index), "{}", error);
        }
    }

    #[test]
    fn any_bytes_after_a_head_are_refused_or_read(
        rubbish in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = write(&header(Grain::Page, false), &[]);
        let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
        bytes.truncate(boundaries(&bytes, &index)[0] as usize);
        bytes.extend(rubbish);
        let _ = read_until_error(&bytes, ReadOptions::default());
        let (_, error) = read_until_error(&bytes, KEEP_GOING);
        prop_assert!(error.is_none());
        let _ = TraceIndex::read(Cursor::new(&bytes));
    }
}
