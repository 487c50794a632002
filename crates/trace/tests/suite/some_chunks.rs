//! Ranges of chunks, each read without the chunks before, together equal the trace.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test reads recordings"
)]

use std::io::Cursor;
use std::ops::Range;

use crate::common::reference_encoder::{ReferenceEncoder, TestTarget};
use crate::common::{TestItem, header, push, read, recode, trace};
use broadleaf_trace::{
    BlockDef, BlockItem, Encoder, Event, Grain, Header, TraceError, TraceIndex, TraceReader,
    TraceWriter,
};
use proptest::prelude::*;

fn index(bytes: &[u8]) -> TraceIndex {
    TraceIndex::read(Cursor::new(bytes)).expect("an index")
}

/// Reads some chunks of a trace.
fn some(bytes: &[u8], chunks: Range<usize>) -> Result<Vec<TestItem>, TraceError> {
    let index = index(bytes);
    let mut reader = TraceReader::of_chunks(Cursor::new(bytes), &index, chunks, true)?;
    let mut items = Vec::new();
    while let Some(item) = reader.next_item()? {
        push(&mut items, &item);
    }
    assert!(reader.complete());
    Ok(items)
}

/// Reads a trace in ranges that end at these chunks, and at the last.
fn in_ranges(bytes: &[u8], ends: &[usize]) -> Vec<TestItem> {
    let mut ends = [ends, &[index(bytes).chunks.len()]].concat();
    ends.sort_unstable();
    let mut start = 0;
    let ranges = ends.into_iter().map(|end| {
        let range = start..end;
        start = end;
        some(bytes, range).expect("it is whole")
    });
    ranges.flatten().collect()
}

/// A trace of these items, in several chunks.
fn written(header: &Header, items: &[TestItem], each: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), header).expect("a head");
    for some in items.chunks(each) {
        for item in some {
            match item {
                TestItem::Visit(visit) => encoder.visits(std::slice::from_ref(visit)),
                TestItem::Event(event) => encoder.event(event),
            }
            .expect("an item");
        }
        encoder.flush().expect("a chunk");
    }
    encoder.finish().expect("a trace")
}

#[test]
fn recordings_read_in_ranges_are_the_recordings() {
    for name in ["blocks", "children", "sort"] {
        let path = format!(
            "{}/../../tests/golden/{name}.bl",
            env!("CARGO_MANIFEST_DIR")
        );
        let recorded = std::fs::read(path).expect("a recording");
        for bytes in [recode(&recorded), recorded] {
            let all = read(&bytes);
            for end in 0..=index(&bytes).chunks.len() {
                assert!(in_ranges(&bytes, &[end]) == all, "{name} {end}");
            }
            assert!(in_ranges(&bytes, &[0, 1, 1, 2]) == all, "{name}");
        }
    }
}

/// The chunks before a range are read only if they hold definitions that the range needs.
#[test]
fn only_needed_definitions_are_read() {
    let block = |bytes| BlockDef::new([BlockItem::Load { bytes }, BlockItem::Exit]);
    let mut writer = TraceWriter::new(Vec::new(), &header(Grain::Page, false)).expect("a head");
    for (process, number) in [(4, 0), (9, 0), (4, 1)] {
        writer
            .definitions(process, number, &[block(8)])
            .expect("blocks");
        let mut encoder = ReferenceEncoder::default();
        encoder.execute(number, number, &[TestTarget::Unit(5)], 0);
        encoder.totals.loads += 1;
        encoder.finish(process, &mut writer);
    }
    let bytes = writer.finish().expect("a trace");
    let chunks = index(&bytes).chunks;
    assert_eq!(chunks.len(), 6);
    let last = some(&bytes, 5..6).expect("it is whole");
    // Damage before the range matters in definitions of the range's process alone.
    for (damaged, matters) in [(0, true), (1, false), (2, false), (3, false), (4, true)] {
        let mut bytes = bytes.clone();
        bytes[chunks[damaged].offset as usize + 17] ^= 4;
        match some(&bytes, 5..6) {
            Ok(items) => assert!(!matters && items == last, "{damaged}"),
            Err(error) => assert!(matters, "{damaged}: {error}"),
        }
        assert!(some(&bytes, 0..6).is_err());
    }
    // Definitions that begin anew replace those of a space that ended.
    let mut writer = TraceWriter::new(Vec::new(), &header(Grain::Page, false)).expect("a head");
    for loads in [1, 2] {
        let loads = std::iter::repeat_n(BlockItem::Load { bytes: 8 }, loads);
        let block = BlockDef::new(loads.chain([BlockItem::Exit]));
        writer.definitions(4, 0, &[block]).expect("blocks");
        let mut encoder = ReferenceEncoder::default();
        encoder.event(&Event::SpaceEnd { status: Some(0) });
        encoder.finish(4, &mut writer);
    }
    let bytes = writer.finish().expect("a trace");
    assert!(in_ranges(&bytes, &[1, 2, 3]) == read(&bytes));
}

/// A range is refused if its chunks differ from the index.
#[test]
fn an_index_of_another_file_is_refused() {
    let header = header(Grain::Page, false);
    let visit = |unit| {
        TestItem::Visit(broadleaf_trace::Visit {
            unit,
            loads: 1,
            loads_before_store: 1,
            ..Default::default()
        })
    };
    let items: Vec<TestItem> = (0..400).map(visit).collect();
    let [bytes, other] = [100, 90].map(|each| written(&header, &items, each));
    let index = index(&other);
    for chunks in [0..2, 1..3, 2..index.chunks.len()] {
        let reader = TraceReader::of_chunks(Cursor::new(&bytes), &index, chunks, true);
        let error = reader.and_then(|mut reader| {
            while reader.next_item()?.is_some() {}
            Ok(())
        });
        assert!(error.is_err());
    }
    let cut = &bytes[..bytes.len() - 1];
    let index = TraceIndex::read(Cursor::new(cut)).expect("the heads of chunks");
    assert!(TraceReader::of_chunks(Cursor::new(cut), &index, 0..1, true).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_trace_read_in_ranges_is_the_trace(
        items in trace(true),
        phrases: bool,
        each in 1usize..30,
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut bytes = written(&header(Grain::Page, true), &items, each);
        if phrases {
            bytes = recode(&bytes);
        }
        let chunks = index(&bytes).chunks.len();
        let ends: Vec<usize> = ends.iter().map(|end| end.index(chunks + 1)).collect();
        prop_assert!(in_ranges(&bytes, &ends) == read(&bytes));
    }
}
