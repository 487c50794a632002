//! The counts of a hierarchy.

use crate::spec::{MOST_CORES, MOST_LEVELS};

/// The cause of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessCause {
    /// A load or a store of the program.
    Data,
    /// A read of the page table.
    Walk,
    /// A fetch of instructions.
    Instruction,
}

impl AccessCause {
    /// All causes, in the order of arrays by cause.
    pub const ALL: [Self; 3] = [Self::Data, Self::Walk, Self::Instruction];
}

/// The counts of one level for one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// The hits, by cause.
    pub hits: [u64; 3],
    /// The misses, by cause.
    pub misses: [u64; 3],
    /// The lines that left the level for the next one or for memory: modified lines, and in an
    /// exclusive hierarchy all lines. The core is the one that loaded the line.
    pub written_back: u64,
    /// The lines that left the level because they left a lower level, which is inclusive.
    pub dropped: u64,
    /// The lines that the level asked for ahead of a stream.
    pub prefetched: u64,
    /// The lines that left the level because another core stored to them.
    pub invalidated: u64,
}

/// The counts of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// The levels, the first level first.
    pub levels: [LevelCounts; MOST_LEVELS],
    /// Missing lines that came from another core's private caches.
    pub transfers: u64,
    /// Stores to lines that other cores' private caches may have held.
    pub upgrades: u64,
    /// Lines of the core that left the last level to make room, by the core whose access needed
    /// the room.
    pub lost_to: [u64; MOST_CORES],
}

/// The counts of main memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// The lines that were read.
    pub reads: u64,
    /// The lines that were written.
    pub writes: u64,
    /// The cycles that reads waited for a bank.
    pub waited: u64,
}

/// The counts of a hierarchy, and what its last level holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// The counts by core.
    pub cores: alloc::vec::Vec<CoreCounts>,
    /// The counts of main memory.
    pub memory: MemoryCounts,
    /// The lines of the last level that each core loaded.
    pub occupancy: alloc::vec::Vec<u64>,
    /// The largest occupancy of each core since counting began.
    pub occupancy_peak: alloc::vec::Vec<u64>,
}
