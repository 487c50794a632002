//! The counts of a replay.

use std::collections::BTreeMap;

/// The figures of one policy. Sizes are in base pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RomerCounts {
    /// Loads plus stores.
    pub accesses: u64,
    /// Instructions, if the trace counts them.
    pub instructions: u64,
    /// Lookups that missed.
    pub misses: u64,
    /// Misses by the size of the page found.
    pub misses_by_size: BTreeMap<u64, u64>,
    /// Cycles of all misses.
    pub walk_cycles: u64,
    /// Cycles spent on counters.
    pub bookkeeping_cycles: u64,
    /// The full cycles of copying superpages together. FIXED, whose pages are large from the start,
    /// copies nothing.
    pub promotion_cycles: u64,
    /// References to a page that was not resident.
    pub page_faults: u64,
    /// Superpages made, by size.
    pub promotions: BTreeMap<u64, u64>,
    /// Superpages broken into those of the next smaller size, step by step.
    pub demotions: u64,
    /// Resident pages at the end.
    pub resident_pages: u64,
    /// The peak of resident base pages.
    pub peak_resident_pages: u64,
    /// Pages at the end, by size.
    pub page_sizes: BTreeMap<u64, u64>,
}

impl RomerCounts {
    /// The three parts of TLBMCPI: misses, bookkeeping and promotion, in cycles per instruction.
    /// Absent without instruction counts.
    pub fn tlbmcpi(&self) -> Option<[f64; 3]> {
        let cycles = [
            self.walk_cycles,
            self.bookkeeping_cycles,
            self.promotion_cycles,
        ];
        (self.instructions > 0).then(|| cycles.map(|part| part as f64 / self.instructions as f64))
    }
}
