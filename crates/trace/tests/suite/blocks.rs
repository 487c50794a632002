//! Blocks with many references and exits, told in every way that the format allows.

use crate::common::teller::{Pattern, Target, Teller, expand, patterns};
use crate::common::{Piece, canonical, header, read_until_error};
use broadleaf_trace::{BlockDef, BlockItem, Event, Grain, ReadOptions, TraceWriter};
use broadleaf_units::{SpaceId, ThreadId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Execution {
    pattern: prop::sample::Index,
    targets: Vec<Target>,
    /// Which of the legal ways to tell it is taken.
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
            // Behind each fetch, more of the same.
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

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        12 => (0u64..3).prop_map(Target::Unit),
        4 => (0u64..1 << 50).prop_map(Target::Unit),
        1 => (0u64..3, 1u64..4).prop_map(|(unit, reach)| Target::Reach(unit, reach)),
        1 => Just(Target::NotMade),
    ]
}

/// A body that runs several times over, so that much is foretold.
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

/// A reference of several accesses cannot reach further.
fn targets_of(pattern: &Pattern, execution: &Execution) -> Vec<Target> {
    let references = pattern.items.iter().filter(|item| item.is_reference());
    references
        .zip(&execution.targets)
        .map(|(item, target)| match (item, target) {
            (BlockItem::Several { loads, stores, .. }, Target::Reach(unit, _))
                if loads + stores > 1 =>
            {
                Target::Unit(*unit)
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
    let mut teller = Teller::default();
    let mut expected = vec![Piece::Event(Event::SpaceSwitch(SpaceId(4)))];
    for (at, execution) in executions.iter().enumerate() {
        if at % chunk == chunk - 1 {
            teller.finish(4, &mut writer);
        }
        if execution.event {
            let event = Event::ThreadSwitch(ThreadId(at as u32));
            teller.event(&event);
            expected.push(Piece::Event(event));
        }
        let number = execution.pattern.index(patterns.len());
        let pattern = &patterns[number];
        let targets = targets_of(pattern, execution);
        expand(
            pattern,
            &targets,
            fetches,
            &mut expected,
            &mut teller.totals,
        );
        teller.execute(
            number as u32,
            pattern.first_reference,
            &targets,
            execution.way,
        );
    }
    teller.finish(4, &mut writer);
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
    fn blocks_told_in_any_way_come_back(
        blocks in prop::collection::vec(block(false), 1..6),
        executions in executions(),
        chunk in 20usize..400,
    ) {
        round_trip(&blocks, &executions, chunk, false, false);
    }

    #[test]
    fn blocks_with_instruction_pages_come_back(
        blocks in prop::collection::vec(block(true), 1..6),
        executions in executions(),
        fetches: bool,
    ) {
        round_trip(&blocks, &executions, 1000, true, fetches);
    }
}
