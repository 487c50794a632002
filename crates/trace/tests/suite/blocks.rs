//! Blocks with many references and exits, in every legal encoding.

use crate::common::reference_encoder::{
    ReferenceEncoder, TestPattern, TestTarget, expand, patterns,
};
use crate::common::{TestItem, canonical, header, read_until_error};
use broadleaf_trace::{BlockDef, BlockItem, Event, Grain, ReadOptions, TraceWriter};
use broadleaf_units::{SpaceId, ThreadId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Execution {
    pattern: prop::sample::Index,
    targets: Vec<TestTarget>,
    /// Bits that choose among legal encodings.
    way: u32,
    event: bool,
}

fn block(pages: bool) -> impl Strategy<Value = BlockDef> {
    let several = (0u32..4, 0u32..3, any::<u32>()).prop_filter_map("no access", |(l, s, b)| {
        (l + s > 0).then(|| BlockItem::Several {
            loads: l,
            stores: s,
            loads_before_store: if s == 0 { l } else { b % (l + 1) },
        })
    });
    let instruction = if pages {
        (0u64..4).prop_map(|unit| BlockItem::Fetch { unit }).boxed()
    } else {
        (1u32..4).prop_map(BlockItem::Instructions).boxed()
    };
    let item = prop_oneof![
        3 => instruction,
        3 => (1u32..9).prop_map(|bytes| BlockItem::Load { bytes }),
        2 => (1u32..9).prop_map(|bytes| BlockItem::Store { bytes }),
        1 => several,
        1 => Just(BlockItem::Exit),
    ];
    (prop::collection::vec(item, 0..30), any::<bool>()).prop_map(move |(mut items, again)| {
        if pages && again {
            // More instructions of the same unit follow each fetch.
            items = items
                .into_iter()
                .flat_map(|item| {
                    let again = matches!(item, BlockItem::Fetch { .. });
                    [Some(item), again.then_some(BlockItem::FetchAgain(2))]
                })
                .flatten()
                .collect();
        }
        items.push(BlockItem::Exit);
        BlockDef::new(items)
    })
}

fn target() -> impl Strategy<Value = TestTarget> {
    prop_oneof![
        12 => (0u64..3).prop_map(TestTarget::Unit),
        4 => (0u64..1 << 50).prop_map(TestTarget::Unit),
        1 => (0u64..3, 1u64..4).prop_map(|(unit, reach)| TestTarget::Reach(unit, reach)),
        1 => Just(TestTarget::NotMade),
    ]
}

/// A body that runs several times, so that predictions come true.
fn executions() -> impl Strategy<Value = Vec<Execution>> {
    let one = (
        any::<prop::sample::Index>(),
        prop::collection::vec(target(), 31),
        any::<u32>(),
        prop::bool::weighted(0.05),
    )
        .prop_map(|(pattern, targets, way, event)| Execution {
            pattern,
            targets,
            way,
            event,
        });
    let body = (prop::collection::vec(one, 1..5), 1usize..30).prop_map(|(body, times)| {
        std::iter::repeat_n(body, times)
            .flatten()
            .collect::<Vec<_>>()
    });
    prop::collection::vec(body, 0..8).prop_map(|bodies| bodies.concat())
}

/// Returns the targets, without reaches for references of several accesses.
fn targets_of(pattern: &TestPattern, execution: &Execution) -> Vec<TestTarget> {
    let references = pattern.items.iter().filter(|item| item.is_reference());
    references
        .zip(&execution.targets)
        .map(|(item, target)| match (item, target) {
            (BlockItem::Several { loads, stores, .. }, TestTarget::Reach(unit, _))
                if loads + stores > 1 =>
            {
                TestTarget::Unit(*unit)
            }
            _ => *target,
        })
        .collect()
}

fn round_trip(
    blocks: &[BlockDef],
    executions: &[Execution],
    chunk: usize,
    pages: bool,
    fetches: bool,
) {
    let mut writer = TraceWriter::new(Vec::new(), &header(Grain::Page, pages)).expect("a head");
    let patterns = patterns(blocks);
    let (first, second) = blocks.split_at(blocks.len() / 2);
    writer.definitions(4, 0, first).expect("blocks");
    let known = first.iter().map(BlockDef::patterns).sum::<usize>();
    writer.definitions(4, known as u32, second).expect("blocks");
    let mut encoder = ReferenceEncoder::default();
    let mut expected = vec![TestItem::Event(Event::SpaceSwitch(SpaceId(4)))];
    for (at, execution) in executions.iter().enumerate() {
        if at % chunk == chunk - 1 {
            encoder.finish(4, &mut writer);
        }
        if execution.event {
            let event = Event::ThreadSwitch(ThreadId(at as u32));
            encoder.event(&event);
            expected.push(TestItem::Event(event));
        }
        let number = execution.pattern.index(patterns.len());
        let pattern = &patterns[number];
        let targets = targets_of(pattern, execution);
        expand(
            pattern,
            &targets,
            fetches,
            &mut expected,
            &mut encoder.totals,
        );
        encoder.execute(
            number as u32,
            pattern.first_reference,
            &targets,
            execution.way,
        );
    }
    encoder.finish(4, &mut writer);
    let bytes = writer.finish().expect("a trace");
    let options = ReadOptions {
        fetches,
        ..ReadOptions::default()
    };
    let (found, error) = read_until_error(&bytes, options);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(canonical(&found), canonical(&expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn blocks_in_any_encoding_round_trip(
        blocks in prop::collection::vec(block(false), 1..6),
        executions in executions(),
        chunk in 20usize..400,
    ) {
        round_trip(&blocks, &executions, chunk, false, false);
    }

    #[test]
    fn blocks_with_instruction_pages_round_trip(
        blocks in prop::collection::vec(block(true), 1..6),
        executions in executions(),
        fetches: bool,
    ) {
        round_trip(&blocks, &executions, 1000, true, fetches);
    }
}
