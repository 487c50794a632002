//! The log of a TLB: the translations that leave, and the counts beside hits and misses.

use crate::Translation;

/// The counts of a TLB beside its hits and misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlbCounts {
    /// Walks for a page whose block has an entry without the page (Talluri 1995, chapter 1).
    pub subblock_misses: u64,
    /// Entries of the page table that preloading and prefetching read beside the missing page's.
    pub table_reads: u64,
    /// Stores that hit a translation whose modified bit was clear.
    pub modified_faults: u64,
    /// Pages that a modified bit for a whole entry marked, without a store to the page.
    pub marked_pages: u64,
    /// Probes of a structure after the first probe of a lookup.
    pub extra_probes: u64,
    /// Lookups that hit a structure that holds what another level lost.
    pub victim_hits: u64,
    /// Lookups that hit a structure that holds prefetched translations.
    pub prefetch_hits: u64,
    /// Walks that began at a walk entry of the TLB instead of the root.
    pub walk_entry_hits: u64,
    /// Entries of the page table that walks read on their way to the leaf, the leaf included.
    pub walk_reads: u64,
    /// Cycles of the addition that translates a scattered superpage: one for each reference that an
    /// entry with a configuration of its own serves (Chen 2014, section III.C).
    pub scatter_cycles: u64,
}

impl TlbCounts {
    /// The counts since an earlier state.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            subblock_misses: self.subblock_misses - earlier.subblock_misses,
            table_reads: self.table_reads - earlier.table_reads,
            modified_faults: self.modified_faults - earlier.modified_faults,
            marked_pages: self.marked_pages - earlier.marked_pages,
            extra_probes: self.extra_probes - earlier.extra_probes,
            victim_hits: self.victim_hits - earlier.victim_hits,
            prefetch_hits: self.prefetch_hits - earlier.prefetch_hits,
            walk_entry_hits: self.walk_entry_hits - earlier.walk_entry_hits,
            walk_reads: self.walk_reads - earlier.walk_reads,
            scatter_cycles: self.scatter_cycles - earlier.scatter_cycles,
        }
    }

    /// The sum with the counts of another TLB.
    pub const fn plus(self, more: Self) -> Self {
        Self {
            subblock_misses: self.subblock_misses + more.subblock_misses,
            table_reads: self.table_reads + more.table_reads,
            modified_faults: self.modified_faults + more.modified_faults,
            marked_pages: self.marked_pages + more.marked_pages,
            extra_probes: self.extra_probes + more.extra_probes,
            victim_hits: self.victim_hits + more.victim_hits,
            prefetch_hits: self.prefetch_hits + more.prefetch_hits,
            walk_entry_hits: self.walk_entry_hits + more.walk_entry_hits,
            walk_reads: self.walk_reads + more.walk_reads,
            scatter_cycles: self.scatter_cycles + more.scatter_cycles,
        }
    }
}

/// What the structures of a TLB report while they work.
#[derive(Clone, Debug, Default)]
pub struct TlbLog {
    /// Translations that left a structure. Other structures may hold them.
    pub evicted: Vec<Translation>,
    /// True while no part of the TLB and no caller asks which translations left. Then a structure
    /// need not report them.
    pub ignores_evicted: bool,
    /// The counts.
    pub counts: TlbCounts,
}
