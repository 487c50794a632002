//! The totals of a chunk's executions.

use broadleaf_trace::Totals;

use super::paths::table;
use super::wire::{PATTERN, PATTERNS};

const BITS: u32 = 21;
const FIELD: u64 = (1 << BITS) - 1;
/// The limit of a pattern's counts. The counts of `BATCH` patterns below this limit fit into the
/// fields.
const MOST: u64 = 1 << 12;
const BATCH: usize = 1 << (BITS - 12);

/// Loads, stores and instructions in one number, so that one addition adds all three.
#[derive(Clone, Copy, Default)]
struct PackedCounts(u64);

/// The counts by pattern, and their sum over the executions of a chunk.
pub(super) struct ChunkTotals {
    counts: Box<[PackedCounts; PATTERNS]>,
    sum: Totals,
}

impl ChunkTotals {
    pub(super) fn new() -> Self {
        Self {
            counts: table(),
            sum: Totals::default(),
        }
    }

    /// Sets the counts of one execution of this pattern. Returns `None` if they exceed those of any
    /// Valgrind block.
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
        let counts = PackedCounts(loads | stores << BITS | instructions << (2 * BITS));
        *self.counts.get_mut(pattern as usize)? = counts;
        Some(())
    }

    /// Adds executions to the totals.
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

    /// Subtracts a reference that was not made after all.
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
