//! What the executions of a chunk come to.

use broadleaf_trace::Totals;

use super::paths::table;
use super::wire::{PATTERN, PATTERNS};

const BITS: u32 = 21;
const FIELD: u64 = (1 << BITS) - 1;
/// Counts of a pattern stay below this, so that `BATCH` of them fit the fields.
const MOST: u64 = 1 << 12;
const BATCH: usize = 1 << (BITS - 12);

/// Loads, stores and instructions side by side, so that one addition adds all three.
#[derive(Clone, Copy, Default)]
struct Counts(u64);

/// Counts by pattern, and their sum over the executions of a chunk.
pub(super) struct Totaler {
    counts: Box<[Counts; PATTERNS]>,
    sum: Totals,
}

impl Totaler {
    pub(super) fn new() -> Self {
        Self {
            counts: table(),
            sum: Totals::default(),
        }
    }

    /// What one execution of this pattern comes to. `None` where it is more than a block of Valgrind's can come to.
    pub(super) fn pattern(&mut self, pattern: u32, made: Totals) -> Option<()> {
        let Totals {
            loads,
            stores,
            instructions,
            ..
        } = made;
        if loads.max(stores).max(instructions) >= MOST {
            return None;
        }
        let counts = Counts(loads | stores << BITS | instructions << (2 * BITS));
        *self.counts.get_mut(pattern as usize)? = counts;
        Some(())
    }

    /// Adds executions up.
    pub(super) fn executions(&mut self, words: &[u32]) {
        self.sum.executions += words.len() as u64;
        for batch in words.chunks(BATCH) {
            let counts: u64 = batch
                .iter()
                .map(|&word| self.counts[(word & PATTERN) as usize].0)
                .sum();
            self.sum.loads += counts & FIELD;
            self.sum.stores += counts >> BITS & FIELD;
            self.sum.instructions += counts >> (2 * BITS);
        }
    }

    /// A reference that was not made after all.
    pub(super) fn absent(&mut self, store: bool) {
        if store {
            self.sum.stores -= 1;
        } else {
            self.sum.loads -= 1;
        }
    }

    pub(super) const fn sum(&self) -> Totals {
        self.sum
    }

    pub(super) fn forget(&mut self) {
        self.sum = Totals::default();
    }
}
