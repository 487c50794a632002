//! The counts of caches.

/// The counts of a level for a core: hits and misses by cause (data, walk, instruction), and lines
/// written to the next level, dropped for inclusion, and taken by another core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OracleLevelCounts {
    /// By cause.
    pub hits: [u64; 3],
    /// By cause.
    pub misses: [u64; 3],
    /// Lines that went to the next level or to memory.
    pub written: u64,
    /// Lines that left because a lower level lost them.
    pub dropped: u64,
    /// Lines that another core stored to.
    pub taken: u64,
}

/// All counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OracleCacheCounts {
    /// By core, then by level.
    pub levels: Vec<Vec<OracleLevelCounts>>,
    /// By core: lines that came from another core.
    pub transfers: Vec<u64>,
    /// By core, then by the core whose access needed the room: lines that the last level replaced.
    pub lost: Vec<Vec<u64>>,
    /// By core: stores to lines that others may have held.
    pub upgrades: Vec<u64>,
    /// Lines read from memory.
    pub memory_reads: u64,
    /// Lines written to memory.
    pub memory_writes: u64,
    /// Cycles that reads waited for a bank.
    pub waited: u64,
}
