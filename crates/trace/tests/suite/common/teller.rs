//! Executions told as the format's description says, as simply as can be, and in any legal way.
#![allow(dead_code)]

use std::collections::BTreeMap;

use broadleaf_trace::{
    BlockDef, BlockItem, Event, EventEncoder, Lead, StreamChunk, Totals, TraceWriter, Visit,
};

use crate::common::Piece;

/// Where one reference of an execution goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Unit(u64),
    /// Into so many further units.
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

/// The page's tables and sections, kept as simply as can be.
#[derive(Default)]
pub(crate) struct Teller {
    next: BTreeMap<Option<u32>, u32>,
    other: BTreeMap<Option<u32>, u32>,
    mask: BTreeMap<u32, u8>,
    last: BTreeMap<u32, u64>,
    recent: BTreeMap<usize, u64>,
    last_told: u64,
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

impl Teller {
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

    /// One execution of a pattern whose references begin with `first`.
    pub(crate) fn execute(&mut self, number: u32, first: u32, targets: &[Target], way: u32) {
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

/// A pattern as the test sees it.
pub(crate) struct Pattern {
    pub(crate) first_reference: u32,
    pub(crate) items: Vec<BlockItem>,
}

pub(crate) fn patterns(blocks: &[BlockDef]) -> Vec<Pattern> {
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
pub(crate) fn expand(
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
