//! Blocks with many references and exits, told in every way that the format allows.

mod common;

use std::collections::BTreeMap;

use broadleaf_trace::{
    BlockDef, BlockItem, Event, Grain, Lead, ReadOptions, StreamChunk, Totals, TraceWriter, Visit,
};
use broadleaf_units::{SpaceId, ThreadId};
use common::{Piece, canonical, header, read_until_error};
use proptest::prelude::*;

/// Where one reference of an execution goes.
#[derive(Clone, Copy, Debug)]
enum Target {
    Unit(u64),
    /// Into so many further units.
    Reach(u64, u64),
    NotMade,
}

#[derive(Clone, Debug)]
struct Execution {
    pattern: prop::sample::Index,
    targets: Vec<Target>,
    /// Which of the legal ways to tell it is taken.
    way: u32,
    event: bool,
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn place(unit: u64) -> usize {
    (1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32)) as usize
}

/// The page's tables and sections, kept as simply as can be.
#[derive(Default)]
struct Teller {
    next: BTreeMap<Option<u32>, u32>,
    other: BTreeMap<Option<u32>, u32>,
    mask: BTreeMap<u32, u8>,
    last: BTreeMap<u32, u64>,
    recent: BTreeMap<usize, u64>,
    last_told: u64,
    current: Option<u32>,
    run: u64,
    sections: [Vec<u8>; 6],
    events: Vec<u8>,
    heads_at_event: usize,
    totals: Totals,
}

const HEADS: usize = 0;
const RUNS: usize = 1;
const PATTERNS: usize = 2;
const MASKS: usize = 3;
const UNITS: usize = 4;
const PLACES: usize = 5;

impl Teller {
    fn head(&mut self, path: u8, left: u8) {
        let run = std::mem::take(&mut self.run);
        self.sections[HEADS].push(path | left << 2 | (run.min(15) as u8) << 4);
        if run >= 15 {
            varint(&mut self.sections[RUNS], run - 15);
        }
    }

    fn event(&mut self, thread: u8) {
        if self.run > 0 {
            self.head(3, 0);
        }
        let heads = self.sections[HEADS].len();
        varint(&mut self.events, (heads - self.heads_at_event) as u64);
        self.events.extend([15, 1, thread]);
        self.heads_at_event = heads;
    }

    /// One execution of a pattern whose references begin with `first`.
    fn execute(&mut self, number: u32, first: u32, targets: &[Target], way: u32) {
        self.totals.executions += 1;
        let foretold = self.next.get(&self.current) == Some(&number);
        let moved: Vec<bool> = (first..)
            .zip(targets)
            .map(|(reference, target)| match target {
                Target::Unit(unit) => self.last.get(&reference) != Some(unit),
                Target::Reach(..) | Target::NotMade => true,
            })
            .collect();
        if foretold && !moved.contains(&true) && way & 3 != 0 {
            self.run += 1;
            self.current = Some(number);
            return;
        }
        // What was foretold may be named all the same; then it changes the tables.
        let path = if foretold && way & 4 == 0 {
            0
        } else if self.other.get(&self.current) == Some(&number) && way & 8 == 0 {
            1
        } else {
            self.sections[PATTERNS].extend(&number.to_le_bytes()[..3]);
            2
        };
        if path != 0 {
            match self.next.insert(self.current, number) {
                Some(old) => self.other.insert(self.current, old),
                None => self.other.remove(&self.current),
            };
        }
        self.current = Some(number);
        // What stayed may be told all the same.
        let told: Vec<bool> = moved
            .iter()
            .enumerate()
            .map(|(at, moved)| *moved || way >> (8 + at % 16) & 3 == 3)
            .collect();
        let masks: Vec<u8> = told
            .chunks(8)
            .map(|group| {
                (0..8)
                    .filter(|&at| group.get(at) == Some(&true))
                    .map(|at| 1 << at)
                    .sum()
            })
            .collect();
        let left = if !told.contains(&true) && way & 16 == 0 {
            0
        } else if masks.len() == 1
            && self.mask.get(&number).unwrap_or(&0) == &masks[0]
            && way & 32 == 0
        {
            1
        } else if targets.is_empty() {
            0
        } else {
            self.sections[MASKS].extend(&masks);
            if masks.len() == 1 {
                self.mask.insert(number, masks[0]);
            }
            2
        };
        for (at, target) in targets.iter().enumerate() {
            if told[at] {
                self.tell(first + at as u32, *target, way >> (at % 7) & 64 != 0);
            }
        }
        self.head(path, left);
    }

    fn tell(&mut self, reference: u32, target: Target, by_place: bool) {
        let (unit, reach) = match target {
            Target::NotMade => {
                self.sections[UNITS].push(255);
                self.sections[PLACES].extend([1, 0]);
                return;
            }
            Target::Unit(unit) => (unit, 0),
            Target::Reach(unit, reach) => (unit, reach),
        };
        let place = place(unit);
        let recent = self.recent.get(&place).copied().unwrap_or(0);
        if reach == 0 && !by_place && unit == self.last_told {
            self.sections[UNITS].push(0);
        } else if reach == 0 && !by_place && recent == unit {
            self.sections[UNITS].push(place as u8);
        } else {
            self.sections[UNITS].push(255);
            let distance = unit.wrapping_sub(self.last_told) as i64;
            let zigzag = ((distance << 1) ^ (distance >> 63)) as u64;
            varint(
                &mut self.sections[PLACES],
                zigzag << 1 | u64::from(reach > 0),
            );
            if reach > 0 {
                varint(&mut self.sections[PLACES], reach);
            }
        }
        self.recent.insert(place, unit);
        self.last.insert(reference, unit);
        self.last_told = unit;
    }

    fn finish(&mut self, process: u32, to: &mut TraceWriter<Vec<u8>>) {
        if self.run > 0 {
            self.head(3, 0);
        }
        let sections = std::array::from_fn(|at| self.sections[at].as_slice());
        let chunk = StreamChunk {
            totals: self.totals,
            clock: 0,
            sections,
            events: &self.events,
        };
        to.stream_chunk(process, &chunk).expect("it is written");
        *self = Self::default();
    }
}

/// A pattern as the test sees it.
struct Pattern {
    first_reference: u32,
    items: Vec<BlockItem>,
}

fn patterns(blocks: &[BlockDef]) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    let mut first_reference = 0;
    for block in blocks {
        for (at, item) in block.items.iter().enumerate() {
            if *item == BlockItem::Exit {
                patterns.push(Pattern {
                    first_reference,
                    items: block.items[..at].to_vec(),
                });
            }
        }
        first_reference += block.references() as u32;
    }
    patterns
}

/// What an execution does, item by item, as visits of one thing each.
fn expand(
    pattern: &Pattern,
    targets: &[Target],
    fetches: bool,
    out: &mut Vec<Piece>,
    totals: &mut Totals,
) {
    let mut targets = targets.iter();
    let mut code = 0;
    for item in &pattern.items {
        let mut instructions = |count: u32, unit| {
            totals.instructions += u64::from(count);
            out.push(Piece::Visit(Visit {
                unit,
                instructions: count,
                fetch: fetches,
                ..Visit::default()
            }));
        };
        let (loads, stores, loads_before_store) = match *item {
            BlockItem::Instructions(count) => {
                instructions(count, 0);
                continue;
            }
            BlockItem::Fetch { unit } => {
                code = unit;
                instructions(1, code);
                continue;
            }
            BlockItem::FetchAgain(count) => {
                instructions(count, code);
                continue;
            }
            BlockItem::Load { .. } => (1, 0, 1),
            BlockItem::Store { .. } => (0, 1, 0),
            BlockItem::Several {
                loads,
                stores,
                loads_before_store,
            } => (loads, stores, loads_before_store),
            BlockItem::Exit => continue,
        };
        let (unit, reach) = match targets.next().expect("a target for each reference") {
            Target::NotMade => continue,
            Target::Unit(unit) => (*unit, 0),
            Target::Reach(unit, reach) => (*unit, *reach),
        };
        totals.loads += u64::from(loads);
        totals.stores += u64::from(stores);
        out.push(Piece::Visit(Visit {
            unit,
            loads,
            stores,
            loads_before_store,
            ..Visit::default()
        }));
        let lead = if stores == 0 { Lead::Load } else { Lead::Store };
        out.extend((1..=reach).map(|further| {
            Piece::Visit(Visit {
                unit: unit + further,
                lead,
                ..Visit::default()
            })
        }));
    }
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
            teller.event(at as u8 & 0x7f);
            let thread = ThreadId(at as u32 & 0x7f);
            expected.push(Piece::Event(Event::ThreadSwitch(thread)));
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
