//! A second encoder, as simple as the format's description, that can use every legal encoding.
#![allow(dead_code)]

use std::collections::BTreeMap;

use broadleaf_trace::{
    BlockDef, BlockItem, Event, EventEncoder, Lead, StreamChunk, Totals, TraceWriter, Visit,
};

use crate::common::TestItem;

/// The destination of one reference of an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TestTarget {
    Unit(u64),
    /// The first unit, and the number of further units.
    Reach(u64, u64),
    NotMade,
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

/// The tables and sections of the format's description, in simple form.
#[derive(Default)]
pub(crate) struct ReferenceEncoder {
    next: BTreeMap<Option<u32>, u32>,
    other: BTreeMap<Option<u32>, u32>,
    mask: BTreeMap<u32, u8>,
    last: BTreeMap<u32, u64>,
    recent: BTreeMap<usize, u64>,
    last_unit: u64,
    current: Option<u32>,
    run: u64,
    sections: [Vec<u8>; 6],
    events: EventEncoder,
    pub(crate) totals: Totals,
}

const HEADS: usize = 0;
const RUNS: usize = 1;
const PATTERNS: usize = 2;
const MASKS: usize = 3;
const UNITS: usize = 4;
const PLACES: usize = 5;

impl ReferenceEncoder {
    fn head(&mut self, path: u8, left: u8) {
        let run = std::mem::take(&mut self.run);
        self.sections[HEADS].push(path | left << 2 | (run.min(15) as u8) << 4);
        if run >= 15 {
            varint(&mut self.sections[RUNS], run - 15);
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        if self.run > 0 {
            self.head(3, 0);
        }
        let heads = self.sections[HEADS].len() as u64;
        self.events.push(heads, event).expect("an event");
    }

    /// Encodes one execution of a pattern whose references begin with `first`. The bits of `way`
    /// choose among legal encodings.
    pub(crate) fn execute(&mut self, number: u32, first: u32, targets: &[TestTarget], way: u32) {
        self.totals.executions += 1;
        let predicted = self.next.get(&self.current) == Some(&number);
        let moved: Vec<bool> = (first..)
            .zip(targets)
            .map(|(reference, target)| match target {
                TestTarget::Unit(unit) => self.last.get(&reference) != Some(unit),
                TestTarget::Reach(..) | TestTarget::NotMade => true,
            })
            .collect();
        if predicted && !moved.contains(&true) && way & 3 != 0 {
            self.run += 1;
            self.current = Some(number);
            return;
        }
        // A predicted pattern may be named; naming changes the tables.
        let path = if predicted && way & 4 == 0 {
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
        // An unmoved reference may be encoded.
        let encoded: Vec<bool> = moved
            .iter()
            .enumerate()
            .map(|(at, moved)| *moved || way >> (8 + at % 16) & 3 == 3)
            .collect();
        let masks: Vec<u8> = encoded
            .chunks(8)
            .map(|group| {
                (0..8)
                    .filter(|&at| group.get(at) == Some(&true))
                    .map(|at| 1 << at)
                    .sum()
            })
            .collect();
        let left = if !encoded.contains(&true) && way & 16 == 0 {
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
            if encoded[at] {
                self.unit(first + at as u32, *target, way >> (at % 7) & 64 != 0);
            }
        }
        self.head(path, left);
    }

    fn unit(&mut self, reference: u32, target: TestTarget, by_place: bool) {
        let (unit, reach) = match target {
            TestTarget::NotMade => {
                self.sections[UNITS].push(255);
                self.sections[PLACES].extend([1, 0]);
                return;
            }
            TestTarget::Unit(unit) => (unit, 0),
            TestTarget::Reach(unit, reach) => (unit, reach),
        };
        let place = place(unit);
        let recent = self.recent.get(&place).copied().unwrap_or(0);
        if reach == 0 && !by_place && unit == self.last_unit {
            self.sections[UNITS].push(0);
        } else if reach == 0 && !by_place && recent == unit {
            self.sections[UNITS].push(place as u8);
        } else {
            self.sections[UNITS].push(255);
            let distance = unit.wrapping_sub(self.last_unit) as i64;
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
        self.last_unit = unit;
    }

    pub(crate) fn finish(&mut self, process: u32, to: &mut TraceWriter<Vec<u8>>) {
        if self.run > 0 {
            self.head(3, 0);
        }
        let sections = std::array::from_fn(|at| self.sections[at].as_slice());
        let chunk = StreamChunk {
            totals: self.totals,
            clock: 0,
            sections,
            events: self.events.bytes(),
        };
        to.stream_chunk(process, &chunk).expect("it is written");
        *self = Self::default();
    }
}

/// A pattern in the form that the tests use.
pub(crate) struct TestPattern {
    pub(crate) first_reference: u32,
    pub(crate) items: Vec<BlockItem>,
}

pub(crate) fn patterns(blocks: &[BlockDef]) -> Vec<TestPattern> {
    let mut patterns = Vec::new();
    let mut first_reference = 0;
    for block in blocks {
        for (at, item) in block.items.iter().enumerate() {
            if *item == BlockItem::Exit {
                patterns.push(TestPattern {
                    first_reference,
                    items: block.items[..at].to_vec(),
                });
            }
        }
        first_reference += block.references() as u32;
    }
    patterns
}

/// Expands an execution into visits of one item each.
pub(crate) fn expand(
    pattern: &TestPattern,
    targets: &[TestTarget],
    fetches: bool,
    out: &mut Vec<TestItem>,
    totals: &mut Totals,
) {
    let mut targets = targets.iter();
    let mut code = 0;
    for item in &pattern.items {
        let mut instructions = |count: u32, unit| {
            totals.instructions += u64::from(count);
            out.push(TestItem::Visit(Visit {
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
            TestTarget::NotMade => continue,
            TestTarget::Unit(unit) => (*unit, 0),
            TestTarget::Reach(unit, reach) => (*unit, *reach),
        };
        totals.loads += u64::from(loads);
        totals.stores += u64::from(stores);
        out.push(TestItem::Visit(Visit {
            unit,
            loads,
            stores,
            loads_before_store,
            ..Visit::default()
        }));
        let lead = if stores == 0 { Lead::Load } else { Lead::Store };
        out.extend((1..=reach).map(|further| {
            TestItem::Visit(Visit {
                unit: unit + further,
                lead,
                ..Visit::default()
            })
        }));
    }
}
