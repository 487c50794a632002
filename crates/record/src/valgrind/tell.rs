//! From executions to the streams of a trace: what a reader cannot foretell.
//!
//! The tables are those that the format describes (see the book, "The trace format"). The tool has a copy of one of them, the unit of each
//! reference, which spares it the addresses of executions in which no reference left its unit.

use super::wire::{ABSENT, item};

const PATH_NEXT: u8 = 0;
const PATH_OTHER: u8 = 1;
const PATH_NAMED: u8 = 2;
const PATH_NONE: u8 = 3;
const LEFT_SAME: u8 = 1 << 2;
const LEFT_MASK: u8 = 2 << 2;
const LONG_RUN: u64 = 15;
const PLACE: u8 = 255;
/// No unit has this number.
const NOWHERE: u64 = u64::MAX;

/// No pattern has this number.
const NO_PATTERN: u32 = u32::MAX;

/// A pattern, as far as its executions are told.
#[derive(Clone, Copy)]
struct Pattern {
    /// The patterns that followed this one: the last, and one before.
    next: u32,
    other: u32,
    first_reference: u32,
    steps: u16,
    /// References that left their unit when some last did, in this chunk; for patterns of up to 8.
    mask: u8,
    /// How often it ran, in this chunk.
    executions: u64,
}

/// Of one execution of a pattern.
#[derive(Clone, Copy, Default)]
struct Counts {
    loads: u32,
    stores: u32,
    instructions: u32,
}

/// What a chunk holds in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) executions: u64,
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) instructions: u64,
}

#[derive(Clone, Copy)]
struct Reference {
    /// The unit of the last one, in this chunk.
    unit: u64,
    /// How many bytes it touches behind its first.
    last_byte: u32,
    store: bool,
}

/// The six streams of executions of one chunk, in the order of the format.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) heads: Vec<u8>,
    pub(super) runs: Vec<u8>,
    pub(super) patterns: Vec<u8>,
    pub(super) masks: Vec<u8>,
    pub(super) units: Vec<u8>,
    pub(super) places: Vec<u8>,
}

impl Streams {
    pub(super) fn sections(&self) -> [&[u8]; 6] {
        [
            &self.heads,
            &self.runs,
            &self.patterns,
            &self.masks,
            &self.units,
            &self.places,
        ]
    }

    fn clear(&mut self) {
        for stream in [
            &mut self.heads,
            &mut self.runs,
            &mut self.patterns,
            &mut self.masks,
            &mut self.units,
            &mut self.places,
        ] {
            stream.clear();
        }
    }
}

/// A word that does not fit what was told before.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the recorder wrote an execution of pattern {0}, which it never described")]
pub(super) struct UnknownPattern(u32);

/// Executions of one process on their way to a chunk.
pub(super) struct Teller {
    unit_shift: u32,
    /// The first stands for "no pattern yet": pattern `p` is at `p + 1`.
    patterns: Vec<Pattern>,
    counts: Vec<Counts>,
    references: Vec<Reference>,
    recent: [u64; 256],
    last_told: u64,
    /// Where the pattern that ran last stands in `patterns`.
    current: usize,
    /// Executions since the last head that were foretold.
    run: u64,
    streams: Streams,
    /// Loads and stores of this chunk that were not made.
    absent_loads: u64,
    absent_stores: u64,
}

const fn pattern(first_reference: u32, steps: u16) -> Pattern {
    Pattern {
        next: NO_PATTERN,
        other: NO_PATTERN,
        first_reference,
        steps,
        mask: 0,
        executions: 0,
    }
}

fn varint(stream: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        stream.push(value as u8 | 0x80);
        value >>= 7;
    }
    stream.push(value as u8);
}

/// Where a unit stands in the table of recent ones: 1 to 254.
fn place_of(unit: u64) -> u8 {
    (1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32)) as u8
}

impl Teller {
    pub(super) fn new(unit_shift: u32) -> Self {
        Self {
            unit_shift,
            patterns: vec![pattern(0, 0)],
            counts: vec![Counts::default()],
            references: Vec::new(),
            recent: [0; 256],
            last_told: 0,
            current: 0,
            run: 0,
            streams: Streams::default(),
            absent_loads: 0,
            absent_stores: 0,
        }
    }

    /// A block that the tool describes: its patterns and references get the next numbers.
    pub(super) fn block(&mut self, items: &[u64]) {
        let first_reference = self.references.len() as u32;
        let mut counts = Counts::default();
        for word in items {
            match word & 0xff {
                what @ (item::LOAD | item::STORE) => {
                    let (bytes, store) = ((word >> 8) as u32, what == item::STORE);
                    let last_byte = bytes.saturating_sub(1);
                    self.references.push(Reference {
                        unit: NOWHERE,
                        last_byte,
                        store,
                    });
                    *if store {
                        &mut counts.stores
                    } else {
                        &mut counts.loads
                    } += 1;
                }
                item::INSTRUCTION => counts.instructions += 1,
                item::EXIT => {
                    self.patterns.push(pattern(
                        first_reference,
                        (counts.loads + counts.stores) as u16,
                    ));
                    self.counts.push(counts);
                }
                _ => {}
            }
        }
    }

    /// How many references an execution of a pattern makes.
    pub(super) fn steps(&self, pattern: u32) -> Result<usize, UnknownPattern> {
        self.patterns
            .get(pattern as usize + 1)
            .map(|p| p.steps.into())
            .ok_or(UnknownPattern(pattern))
    }

    /// The streams so far. Everything that ran is in them.
    pub(super) fn streams(&mut self) -> &Streams {
        if self.run > 0 {
            let head = PATH_NONE | self.short_run();
            self.streams.heads.push(head);
        }
        &self.streams
    }

    /// The run's part of a head, with the rest where it is long; the run begins anew.
    fn short_run(&mut self) -> u8 {
        let run = std::mem::take(&mut self.run);
        if run >= LONG_RUN {
            varint(&mut self.streams.runs, run - LONG_RUN);
        }
        (run.min(LONG_RUN) as u8) << 4
    }

    /// An execution in which every reference stayed in its unit. `number` is the pattern's.
    #[inline]
    pub(super) fn stayed(&mut self, number: u32) -> Result<(), UnknownPattern> {
        let at = number as usize + 1;
        let Some(ran) = self.patterns.get_mut(at) else {
            return Err(UnknownPattern(number));
        };
        ran.executions += 1;
        if self.patterns[self.current].next == number {
            self.run += 1;
        } else {
            let head = self.path(number) | self.short_run();
            self.streams.heads.push(head);
        }
        self.current = at;
        Ok(())
    }

    /// By which path `number` follows the pattern that ran last, which is noted.
    fn path(&mut self, number: u32) -> u8 {
        let before = &mut self.patterns[self.current];
        if before.next == number {
            return PATH_NEXT;
        }
        let path = if before.other == number {
            PATH_OTHER
        } else {
            PATH_NAMED
        };
        before.other = before.next;
        before.next = number;
        if path == PATH_NAMED {
            self.streams
                .patterns
                .extend_from_slice(&number.to_le_bytes()[..3]);
        }
        path
    }

    /// An execution in which some references left their unit. `addresses` are those of all, as many as the pattern has.
    pub(super) fn left(&mut self, number: u32, addresses: &[u64]) {
        let head = self.path(number) | self.short_run();
        let at = number as usize + 1;
        self.current = at;
        self.patterns[at].executions += 1;
        let Pattern {
            first_reference,
            mask: last_mask,
            ..
        } = self.patterns[at];
        let first = first_reference as usize;
        let masks = self.streams.masks.len();
        for (group, addresses) in addresses.chunks(8).enumerate() {
            let mask = self.places(first + 8 * group, addresses);
            self.streams.masks.push(mask);
        }
        let left = if addresses.len() > 8 {
            LEFT_MASK
        } else {
            match self.streams.masks.get(masks).copied().unwrap_or(0) {
                0 => {
                    self.streams.masks.truncate(masks);
                    0
                }
                mask if mask == last_mask => {
                    self.streams.masks.truncate(masks);
                    LEFT_SAME
                }
                mask => {
                    self.patterns[at].mask = mask;
                    LEFT_MASK
                }
            }
        };
        self.streams.heads.push(head | left);
    }

    /// Tells where those of up to eight references went that left their unit. Answers which did.
    #[inline]
    fn places(&mut self, first: usize, addresses: &[u64]) -> u8 {
        let shift = self.unit_shift;
        let references = &mut self.references[first..first + addresses.len()];
        // Which they are is found out first, without a branch for each: it cannot be foreseen.
        let mut mask = 0;
        for (i, (&address, reference)) in addresses.iter().zip(&*references).enumerate() {
            let last = address.wrapping_add(u64::from(reference.last_byte)) >> shift;
            let left = ((address >> shift) ^ reference.unit) | (last ^ reference.unit) != 0;
            mask |= u8::from(left) << i;
        }
        let streams = &mut self.streams;
        let mut rest = mask;
        while rest != 0 {
            let i = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (address, reference) = (addresses[i], &mut references[i]);
            let unit = address >> shift;
            let reach =
                (address.wrapping_add(u64::from(reference.last_byte)) >> shift).wrapping_sub(unit);
            let place = place_of(unit);
            let same = unit == self.last_told;
            let known = same | (self.recent[usize::from(place)] == unit);
            if known & (reach == 0) {
                streams.units.push(if same { 0 } else { place });
            } else if address == ABSENT {
                *if reference.store {
                    &mut self.absent_stores
                } else {
                    &mut self.absent_loads
                } += 1;
                streams.units.push(PLACE);
                streams.places.extend_from_slice(&[1, 0]);
                continue;
            } else {
                let delta = unit.wrapping_sub(self.last_told) as i64;
                let zigzag = ((delta << 1) ^ (delta >> 63)) as u64;
                streams.units.push(PLACE);
                varint(&mut streams.places, zigzag << 1 | u64::from(reach != 0));
                if reach != 0 {
                    varint(&mut streams.places, reach);
                }
            }
            reference.unit = unit;
            self.recent[usize::from(place)] = unit;
            self.last_told = unit;
        }
        mask
    }

    /// What ran in this chunk.
    pub(super) fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for (pattern, counts) in self.patterns.iter().zip(&self.counts) {
            all.executions += pattern.executions;
            all.loads += pattern.executions * u64::from(counts.loads);
            all.stores += pattern.executions * u64::from(counts.stores);
            all.instructions += pattern.executions * u64::from(counts.instructions);
        }
        all.loads -= self.absent_loads;
        all.stores -= self.absent_stores;
        all
    }

    /// The end of a chunk: everything is forgotten but what the blocks are.
    pub(super) fn forget(&mut self) {
        self.streams.clear();
        for p in &mut self.patterns {
            *p = pattern(p.first_reference, p.steps);
        }
        self.references.iter_mut().for_each(|r| r.unit = NOWHERE);
        self.recent = [0; 256];
        self.last_told = 0;
        self.current = 0;
        self.run = 0;
        self.absent_loads = 0;
        self.absent_stores = 0;
    }
}
