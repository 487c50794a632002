//! Encodes executions as the streams of a trace, which hold only what a reader cannot predict.
//!
//! The book describes the tables under "The trace format". The tool has a copy of one of them: the
//! unit of each reference. With this copy, the tool can leave out the bases of executions in which
//! no reference left its unit.

use broadleaf_trace::{Event, Totals};

use super::paths::{BATCH, NO_PATTERN, Path, Paths, Surprise};
use super::places::PlaceTable;
use super::stack::Stack;
use super::streams::Streams;
use super::totals::ChunkTotals;
use super::wire::{LEFT, PATTERN, WireItem};

const LEFT_SAME: u8 = 1 << 2;
const LEFT_MASK: u8 = 2 << 2;
const LONG_RUN: u64 = 15;
/// The size at which a chunk ends. In smaller chunks, pattern names take a larger share: a
/// recording of gcc is 6 percent smaller at twice this size. With larger chunks, an interrupted
/// recording loses more, and threads share the few chunks less evenly.
const ENOUGH_BYTES: usize = 8 << 20;
const ENOUGH_EXECUTIONS: u64 = 64 << 20;

/// The references of a pattern, and the mask of those that left their unit.
#[derive(Clone, Copy, Default)]
struct PatternState {
    first_reference: u32,
    steps: u16,
    bases: u16,
    /// The latest mask of references that left their unit in this chunk. Only patterns of up to 8
    /// references use it.
    mask: u8,
    /// True if the pattern was executed in this chunk.
    ran: bool,
}

impl PatternState {
    /// Returns the index of the first reference, and the number of references.
    #[inline]
    fn references(&self) -> (usize, usize) {
        (self.first_reference as usize, self.steps.into())
    }
}

/// Executions that contradict the earlier ones.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum BadExecution {
    #[error("the recorder wrote an execution of pattern {0}, which it never described")]
    Unknown(u32),
    #[error("the recorder wrote an execution of pattern {0} without all of its addresses")]
    Short(u32),
    #[error("the recorder wrote that references of pattern {0} stayed where they never were")]
    Nowhere(u32),
}

/// Encodes the executions of one process.
pub(super) struct ExecutionEncoder {
    paths: Paths,
    /// The patterns by number. Entry 0 is no pattern.
    patterns: Vec<PatternState>,
    places: PlaceTable,
    totals: ChunkTotals,
    /// The number of predicted executions since the last head.
    run: u64,
    streams: Streams,
}

impl ExecutionEncoder {
    pub(super) fn new(unit_shift: u32) -> Self {
        Self {
            paths: Paths::new(),
            patterns: vec![PatternState::default()],
            places: PlaceTable::new(unit_shift),
            totals: ChunkTotals::new(),
            run: 0,
            streams: Streams::default(),
        }
    }

    /// Sets the range of the stack.
    pub(super) const fn set_stack(&mut self, stack: Stack) {
        self.places.stack = stack;
    }

    /// Returns the range of the stack.
    pub(super) const fn stack(&self) -> Stack {
        self.places.stack
    }

    /// Takes a block that the tool describes. Its patterns and references get the next numbers.
    pub(super) fn block(
        &mut self,
        items: impl Iterator<Item = WireItem>,
    ) -> Result<(), BadExecution> {
        let mut pattern = PatternState {
            first_reference: self.places.references(),
            ..PatternState::default()
        };
        let mut made = Totals::default();
        for item in items {
            match item {
                WireItem::Instruction(_) => made.instructions += 1,
                WireItem::Code(..) => {}
                WireItem::Reference(reference) => {
                    self.places.add(&reference);
                    pattern.steps += 1;
                    let bases = reference.base.map_or(0, |base| base.saturating_add(1));
                    pattern.bases = pattern.bases.max(bases);
                    *if reference.store {
                        &mut made.stores
                    } else {
                        &mut made.loads
                    } += 1;
                }
                WireItem::Exit => {
                    let number = self.patterns.len() as u32;
                    self.totals
                        .pattern(number, made)
                        .ok_or(BadExecution::Unknown(number))?;
                    self.patterns.push(pattern);
                    self.paths.add();
                }
            }
        }
        Ok(())
    }

    /// Returns the streams so far, with all executions.
    pub(super) fn streams(&mut self) -> &mut Streams {
        if self.run > 0 {
            let run = self.short_run();
            self.streams.heads.push(Path::NONE.0 | run);
        }
        &mut self.streams
    }

    /// Returns the run's part of a head and starts a new run. The rest of a long run goes to its
    /// own stream.
    #[inline]
    fn short_run(&mut self) -> u8 {
        let run = std::mem::take(&mut self.run);
        if run >= LONG_RUN {
            self.streams.runs.varint(run - LONG_RUN);
        }
        (run.min(LONG_RUN) as u8) << 4
    }

    /// Encodes executions in order. Their bases are taken from the end of `numbers`. A growth of
    /// the stack goes to `event`, with the number of heads before it.
    pub(super) fn executions(
        &mut self,
        words: &[u32],
        numbers: &mut &[u64],
        event: &mut dyn FnMut(usize, &Event),
    ) -> Result<(), BadExecution> {
        for words in words.chunks(BATCH) {
            self.totals.executions(words);
            let before = self.paths.current();
            let found = self.paths.look(words);
            self.surprises(before, words, found, numbers, event)?;
        }
        Ok(())
    }

    /// Encodes the surprises of a batch: executions that were not predicted, or in which a
    /// reference may have left its unit. `before` ran before the batch.
    fn surprises(
        &mut self,
        before: u32,
        words: &[u32],
        found: usize,
        numbers: &mut &[u64],
        event: &mut dyn FnMut(usize, &Event),
    ) -> Result<(), BadExecution> {
        let mut ends = Ends::of(&mut self.streams, found);
        let mut done = 0;
        for which in 0..found {
            let Surprise { at, predicted } = self.paths.surprise(which);
            let at = at as usize;
            self.run += (at - done) as u64;
            done = at + 1;
            let word = words[at];
            let before = at.checked_sub(1).map_or(before, |at| words[at]) & PATTERN;
            let number = word & PATTERN;
            // A predicted pattern was a surprise once, so every pattern passes this check.
            if number as usize >= self.patterns.len() || number == NO_PATTERN {
                return Err(BadExecution::Unknown(number));
            }
            let path = self.paths.path(before, predicted, number);
            let named = path == Path::NAMED;
            // The file numbers patterns from 0.
            let name = number.wrapping_sub(1).to_le_bytes();
            self.streams
                .patterns
                .put_if(&mut ends.patterns, named, [name[0], name[1], name[2]]);
            let pattern = &self.patterns[number as usize];
            let bases = if word & LEFT == 0 {
                None
            } else {
                let at = numbers.len().checked_sub(pattern.bases.into());
                let (rest, bases) = numbers.split_at(at.ok_or(BadExecution::Short(number))?);
                *numbers = rest;
                Some(bases)
            };
            // A pattern that ran earlier in this chunk was named then.
            let left = if named && !pattern.ran {
                self.first(number, bases, found, &mut ends)?
            } else if let Some(bases) = bases {
                if pattern.steps <= 8 {
                    self.left(number, bases, &mut ends)
                } else {
                    self.left_many(number, bases, found, &mut ends)
                }
            } else {
                0
            };
            if self.places.stack_grew {
                self.places.stack_grew = false;
                if self.run > 0 {
                    let run = self.short_run();
                    self.streams
                        .heads
                        .put_if(&mut ends.heads, true, [Path::NONE.0 | run]);
                }
                event(ends.heads, &self.places.stack.event());
            }
            let head = path.0 | left;
            if head == 0 {
                self.run += 1; // The prediction was right after all.
            } else {
                let run = self.short_run();
                self.streams
                    .heads
                    .put_if(&mut ends.heads, true, [head | run]);
            }
        }
        self.run += (words.len() - done) as u64;
        ends.put_back(&mut self.streams);
        Ok(())
    }

    /// Encodes an execution of up to eight references of which some may have left their unit.
    /// Returns the head's bits.
    #[inline(always)]
    fn left(&mut self, number: u32, bases: &[u64], ends: &mut Ends) -> u8 {
        let (first, steps) = self.patterns[number as usize].references();
        let mask = self.places.left(
            first,
            steps,
            bases,
            &mut ends.units,
            &mut self.streams,
            &mut self.totals,
        );
        self.write_mask(number, mask, ends)
    }

    /// Encodes an execution of more than eight references.
    #[inline(never)]
    fn left_many(&mut self, number: u32, bases: &[u64], found: usize, ends: &mut Ends) -> u8 {
        let (first, steps) = self.patterns[number as usize].references();
        ends.make_room(&mut self.streams, found, steps);
        let (masks, mut any) = (ends.masks, 0);
        for from in (0..steps).step_by(8) {
            let mask = self.places.left(
                first + from,
                8.min(steps - from),
                bases,
                &mut ends.units,
                &mut self.streams,
                &mut self.totals,
            );
            self.streams.masks.put_if(&mut ends.masks, true, [mask]);
            any |= mask;
        }
        if any == 0 {
            ends.masks = masks;
            return 0;
        }
        LEFT_MASK
    }

    /// Encodes the first execution of a pattern in this chunk.
    #[inline(never)]
    fn first(
        &mut self,
        number: u32,
        bases: Option<&[u64]>,
        found: usize,
        ends: &mut Ends,
    ) -> Result<u8, BadExecution> {
        let pattern = &mut self.patterns[number as usize];
        pattern.ran = true;
        let (first, steps) = pattern.references();
        ends.make_room(&mut self.streams, found, steps);
        let mut masks = Vec::with_capacity(steps.div_ceil(8));
        for from in (0..steps).step_by(8) {
            let mask = self.places.first(
                first + from,
                8.min(steps - from),
                bases,
                &mut ends.units,
                &mut self.streams,
                &mut self.totals,
            );
            masks.push(mask.ok_or(BadExecution::Nowhere(number))?);
        }
        Ok(match masks[..] {
            [mask] => self.write_mask(number, mask, ends),
            _ if masks.iter().all(|&mask| mask == 0) => 0,
            _ => {
                for mask in masks {
                    self.streams.masks.put_if(&mut ends.masks, true, [mask]);
                }
                LEFT_MASK
            }
        })
    }

    /// Writes the mask of up to eight references that left their unit. Returns the head's bits.
    #[inline]
    fn write_mask(&mut self, number: u32, mask: u8, ends: &mut Ends) -> u8 {
        let last = &mut self.patterns[number as usize].mask;
        let (any, same) = (mask != 0, mask == *last);
        self.streams
            .masks
            .put_if(&mut ends.masks, any & !same, [mask]);
        *last = if any { mask } else { *last };
        let left = if same { LEFT_SAME } else { LEFT_MASK };
        if any { left } else { 0 }
    }

    /// Returns true if the chunk is large enough.
    pub(super) fn is_enough(&self) -> bool {
        let bytes: usize = self.streams.sections().iter().map(|s| s.len()).sum();
        bytes >= ENOUGH_BYTES || self.totals.sum().executions >= ENOUGH_EXECUTIONS
    }

    /// Returns the totals of this chunk.
    pub(super) const fn totals(&self) -> Totals {
        self.totals.sum()
    }

    /// Ends a chunk. Only the descriptions of blocks remain.
    pub(super) fn forget(&mut self) {
        self.streams.clear();
        self.paths.forget();
        for pattern in &mut self.patterns {
            pattern.mask = 0;
            pattern.ran = false;
        }
        self.places.forget();
        self.totals.forget();
        self.run = 0;
    }
}

/// The ends of the streams that a batch of surprises appends to.
struct Ends {
    heads: usize,
    patterns: usize,
    masks: usize,
    units: usize,
}

impl Ends {
    /// Returns the ends of the streams, with room for this many surprises.
    fn of(streams: &mut Streams, surprises: usize) -> Self {
        let mut ends = Self {
            heads: streams.heads.end(),
            patterns: streams.patterns.end(),
            masks: streams.masks.end(),
            units: streams.units.end(),
        };
        // An event may need a head of its own before it.
        streams.heads.make_room(ends.heads, 2 * surprises);
        streams.patterns.make_room(ends.patterns, 3 * surprises);
        ends.make_room(streams, surprises, 0);
        ends
    }

    /// Makes room for an execution with `references` references, and for `surprises` executions of
    /// up to eight.
    fn make_room(&mut self, streams: &mut Streams, surprises: usize, references: usize) {
        let masks = surprises + references.div_ceil(8);
        streams.masks.make_room(self.masks, masks);
        streams
            .units
            .make_room(self.units, 8 * surprises + references);
    }

    fn put_back(self, streams: &mut Streams) {
        streams.heads.set_end(self.heads);
        streams.patterns.set_end(self.patterns);
        streams.masks.set_end(self.masks);
        streams.units.set_end(self.units);
    }
}
