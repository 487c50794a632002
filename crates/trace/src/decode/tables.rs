//! What a reader foretells from: the tables that are empty at the start of each chunk.

use crate::definitions::{Definitions, Pattern};
use crate::visit::Visit;

/// No pattern.
pub(super) const NO_PATTERN: u32 = u32::MAX;
/// No unit. Units are addresses without their lowest bits, so none is that large.
pub(super) const NO_UNIT: u64 = u64::MAX;
/// How many recent units there are.
const RECENT: usize = 256;
/// How many visits of executions are remembered in a chunk: 32 MiB. What does not fit is put together anew each time.
const MOST_REMEMBERED: usize = 1 << 20;
/// Visits are copied so many at a time.
pub(super) const STRIDE: usize = 4;

/// What is known of a pattern in this chunk: which ones followed it, and the visits that an execution makes if every reference
/// stays where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) next: u32,
    pub(super) other: u32,
    /// The version of the block that the visits are of; 0 where there are none.
    version: u32,
    block: u32,
    /// Where the visits begin.
    at: u32,
    pub(super) count: u32,
    pub(super) tail: u32,
    pub(super) cost: u32,
}

const NOTHING: Known = Known {
    next: NO_PATTERN,
    other: NO_PATTERN,
    version: 0,
    block: 0,
    at: u32::MAX,
    count: 0,
    tail: 0,
    cost: 0,
};

/// The tables. What was entered is noted, so that emptying them takes as long as filling them did, however large they are.
#[derive(Debug)]
pub(super) struct Tables {
    /// By pattern; the one behind the last is the state before any.
    pub(super) known: Vec<Known>,
    pub(super) masks: Vec<u8>,
    /// By reference: the unit that it went to last.
    pub(super) last: Vec<u64>,
    /// By place.
    pub(super) recent: [u64; RECENT],
    pub(super) last_told: u64,
    /// By block: goes up when any of its references moves. A chunk has far fewer than 2^32 bytes that could tell of that.
    versions: Vec<u32>,
    /// Of executions.
    visits: Vec<Visit>,
    entered: Vec<u32>,
    masked: Vec<u32>,
    placed: Vec<u32>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            masks: Vec::new(),
            last: Vec::new(),
            recent: [0; RECENT],
            last_told: 0,
            versions: Vec::new(),
            visits: Vec::new(),
            entered: Vec::new(),
            masked: Vec::new(),
            placed: Vec::new(),
        }
    }
}

impl Tables {
    /// Empties the tables, and makes room for these patterns. Answers the state before any pattern.
    pub(super) fn empty(&mut self, definitions: &Definitions) -> u32 {
        for &pattern in &self.entered {
            self.known[pattern as usize] = NOTHING;
        }
        for &pattern in &self.masked {
            self.masks[pattern as usize] = 0;
        }
        for &reference in &self.placed {
            self.last[reference as usize] = NO_UNIT;
        }
        self.entered.clear();
        self.masked.clear();
        self.placed.clear();
        self.visits.clear();
        self.recent = [0; RECENT];
        self.last_told = 0;

        let patterns = definitions.patterns.len();
        if self.known.len() < patterns + 1 {
            self.known.resize(patterns + 1, NOTHING);
            self.masks.resize(patterns + 1, 0);
            self.versions.resize(patterns + 1, 1);
        }
        if self.last.len() < definitions.steps.len() {
            self.last.resize(definitions.steps.len(), NO_UNIT);
        }
        patterns as u32
    }

    /// `pattern` followed `before`, and was not what should have followed.
    #[inline]
    pub(super) fn link(&mut self, before: u32, pattern: u32) {
        let known = &mut self.known[before as usize];
        if known.next == NO_PATTERN {
            self.entered.push(before);
        }
        known.other = known.next;
        known.next = pattern;
    }

    /// These references of `pattern` left their units.
    #[inline]
    pub(super) fn mask(&mut self, pattern: u32, mask: u8) {
        let old = &mut self.masks[pattern as usize];
        if *old == 0 && mask != 0 {
            self.masked.push(pattern);
        }
        *old = mask;
    }

    /// Some references of a block move.
    #[inline]
    pub(super) fn moves(&mut self, block: u32) {
        let version = &mut self.versions[block as usize];
        *version = version.wrapping_add(1).max(1);
    }

    /// A reference went to `unit`.
    #[inline]
    pub(super) fn place(&mut self, reference: u32, unit: u64) {
        let last = &mut self.last[reference as usize];
        if *last == NO_UNIT {
            self.placed.push(reference);
        }
        *last = unit;
        self.last_told = unit;
    }

    /// The visits of an execution of a pattern, if they are remembered, in room for a multiple of [`STRIDE`].
    #[inline]
    pub(super) fn remembered(&self, known: &Known) -> Option<&[Visit]> {
        if self.versions.get(known.block as usize) != Some(&known.version) {
            return None;
        }
        self.visits.get(known.at as usize..)
    }

    /// Remembers the visits of an execution, if there is room. No carried instructions are in the first.
    pub(super) fn remember(&mut self, number: u32, pattern: &Pattern, visits: &[Visit]) {
        let steps = usize::from(pattern.steps);
        let known = &mut self.known[number as usize];
        if known.at == u32::MAX {
            let room = steps.next_multiple_of(STRIDE);
            if steps == 0 || self.visits.len() + room > MOST_REMEMBERED {
                return;
            }
            known.at = self.visits.len() as u32;
            known.block = pattern.block;
            known.tail = pattern.tail;
            known.cost = pattern.cost;
            self.entered.push(number);
            let room = self.visits.len() + room;
            self.visits.resize(room, Visit::default());
        }
        known.version = self.versions[pattern.block as usize];
        known.count = visits.len() as u32;
        let at = known.at as usize;
        self.visits[at..at + visits.len()].copy_from_slice(visits);
    }
}

/// The place of a unit in the table of recent ones: 1..=254.
#[inline]
pub(crate) const fn recent_place(unit: u64) -> usize {
    1 + (((unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 254) >> 32) as usize
}
