//! The counts of TLBs that are more than sets of ways with exact LRU replacement.

use crate::CellResult;
use serde::{Deserialize, Serialize};

/// The counts of a TLB beside its hits and misses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TlbResult {
    /// Lookups that missed the third level too.
    pub l3_misses: u64,
    /// Walks for a page whose block has no entry.
    pub block_misses: u64,
    /// Walks for a page whose block has an entry without the page.
    pub subblock_misses: u64,
    /// Entries of the page table that preloading and prefetching read.
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
    /// Walks that began at an entry of a walk cache. Absent if the machine has no walk caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walk_cache_hits: Option<u64>,
    /// Nodes of the page table that walks read: pages of a tree, or members of a chain. Absent if
    /// no page table is built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_nodes: Option<u64>,
    /// The most nodes that one walk read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_most_nodes: Option<u64>,
    /// The cache lines that walks read, each once a walk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_lines: Option<u64>,
    /// The memory of the page tables at the end, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_bytes: Option<u64>,
    /// The most memory of the page tables, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_bytes_peak: Option<u64>,
    /// The memory of each level of the page tables at that peak, in bytes, the level with the base
    /// pages first. A table without levels has one for each kind of its nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table_level_bytes: Vec<u64>,
    /// Pages that were mapped and unmapped in the synonym table. Absent without such a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synonym_updates: Option<u64>,
    /// The cache lines that these updates read or wrote, each once an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synonym_lines: Option<u64>,
    /// The memory of the synonym table at the end, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synonym_bytes: Option<u64>,
    /// The most memory of the synonym table, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synonym_bytes_peak: Option<u64>,
    /// The superpages that the synonym table lists page by page at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synonym_split: Option<u64>,
    /// Cycles of the addition that translates scattered superpages. Absent if the TLB translates
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter_cycles: Option<u64>,
    /// The bits of storage for the configurations of scattered superpages. Absent if the TLB
    /// translates none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration_bits: Option<u64>,
    /// The chip area of the TLB in register-bit equivalents; absent if the machine is not one of a
    /// grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_rbe: Option<f64>,
}

impl CellResult {
    /// Lookups that missed all levels of the TLB, each of which takes a page walk.
    pub fn whole_misses(&self) -> u64 {
        (self.tlb.as_ref()).map_or(self.l2_misses, |tlb| tlb.l3_misses)
    }
}
