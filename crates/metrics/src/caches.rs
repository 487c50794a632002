//! The counts of machines with caches.

use serde::{Deserialize, Serialize};

/// The counts of a level of the caches, for the core that ran the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevelResult {
    /// The hits of data, of walks and of instructions.
    pub hits: [u64; 3],
    /// The misses of data, of walks and of instructions.
    pub misses: [u64; 3],
    /// The lines that went from the level to the next one or to memory.
    pub written_back: u64,
}

/// The counts of a machine with caches. JSON and columns have them by the metrics of
/// [`crate::CACHE_METRICS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheResult {
    /// The instructions of the program; 0 if the trace does not count them.
    pub instructions: u64,
    /// The estimated cycles, if misses overlap where the core's window allows. `None` without
    /// instructions.
    pub cycles: Option<u64>,
    /// The estimated cycles if no two misses overlap. `None` without instructions.
    pub serial_cycles: Option<u64>,
    /// The levels, the first level first.
    pub levels: Vec<CacheLevelResult>,
    /// The lines that were read from main memory.
    pub memory_reads: u64,
    /// The lines that were written to main memory.
    pub memory_writes: u64,
    /// The cycles that reads waited for a bank of main memory.
    pub memory_wait_cycles: u64,
    /// The lines of the last level that the core loaded, at the end.
    pub last_level_lines: u64,
}

impl CacheResult {
    /// Events for each thousand instructions. `None` without instructions.
    pub(crate) fn per_thousand(&self, events: u64) -> Option<f64> {
        (self.instructions > 0).then(|| events as f64 * 1000.0 / self.instructions as f64)
    }

    /// The misses of the last level, of all causes.
    pub(crate) fn last_level_misses(&self) -> u64 {
        let last = self.levels.last();
        last.map_or(0, |level| level.misses.iter().sum())
    }
}
