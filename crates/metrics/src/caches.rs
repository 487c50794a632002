//! The counts of machines with caches.

use serde::{Deserialize, Serialize};

/// The counts of a level of the caches, for one core or for all cores that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLevelResult {
    /// The hits of data, of walks and of instructions.
    pub hits: [u64; 3],
    /// The misses of data, of walks and of instructions.
    pub misses: [u64; 3],
    /// The lines that went from the level to the next one or to memory.
    pub written_back: u64,
    /// The lines that the level asked for ahead of a stream.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prefetched: u64,
}

const fn is_zero(lines: &u64) -> bool {
    *lines == 0
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
    /// The mispredicted branches. `None` if the cores follow no branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mispredicted_branches: Option<u64>,
    /// The levels, the first level first.
    pub levels: Vec<CacheLevelResult>,
    /// The lines that were read from main memory.
    pub memory_reads: u64,
    /// The lines that were written to main memory.
    pub memory_writes: u64,
    /// The cycles that reads waited for a bank of main memory.
    pub memory_wait_cycles: u64,
    /// The lines of the last level that the cores loaded, at the end.
    pub last_level_lines: u64,
    /// The counts by core. Empty if one core ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreResult>,
}

/// The counts of one of several cores that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreResult {
    /// The number of the core, from 0.
    pub core: usize,
    /// The instructions of the core; 0 if the trace does not count them.
    pub instructions: u64,
    /// The estimated cycles. `None` without instructions.
    pub cycles: Option<u64>,
    /// The levels of the caches, the first level first: the accesses of this core.
    pub levels: Vec<CacheLevelResult>,
    /// The page walks of the core.
    pub walks: u64,
    /// The cycles of these walks.
    pub walk_cycles: u64,
    /// The lines of the last level that the core loaded, at the end.
    pub last_level_lines: u64,
    /// The most lines of the last level that the core had loaded.
    pub last_level_lines_peak: u64,
    /// The lines of this core that left the last level to make room, by the core that needed the
    /// room.
    pub lines_lost_to: Vec<u64>,
    /// The missing lines that came from another core's private caches.
    pub transfers: u64,
    /// The TLB shootdowns that the core sent to other cores.
    pub shootdowns_sent: u64,
    /// The TLB shootdowns that the core received.
    pub shootdowns_received: u64,
}

impl CacheLevelResult {
    /// The counts since an earlier state.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: [u64; 3], before: [u64; 3]| {
            std::array::from_fn(|cause| now[cause] - before[cause])
        };
        Self {
            hits: less(self.hits, earlier.hits),
            misses: less(self.misses, earlier.misses),
            written_back: self.written_back - earlier.written_back,
            prefetched: self.prefetched - earlier.prefetched,
        }
    }

    /// Adds the counts of another core.
    pub fn add(&mut self, more: &Self) {
        for cause in 0..self.hits.len() {
            self.hits[cause] += more.hits[cause];
            self.misses[cause] += more.misses[cause];
        }
        self.written_back += more.written_back;
        self.prefetched += more.prefetched;
    }
}

impl CoreResult {
    /// The instructions of a cycle. `None` without instructions.
    pub fn ipc(&self) -> Option<f64> {
        let cycles = self.cycles.filter(|cycles| *cycles > 0)?;
        Some(self.instructions as f64 / cycles as f64)
    }

    /// The counts since an earlier state of the same core. Occupancies stay.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |number: usize| earlier.levels.get(number).copied().unwrap_or_default();
        let levels = self.levels.iter().enumerate();
        let lost = self.lines_lost_to.iter().enumerate();
        Self {
            core: self.core,
            instructions: self.instructions - earlier.instructions,
            cycles: (self.cycles).map(|cycles| cycles - earlier.cycles.unwrap_or(0)),
            levels: levels
                .map(|(number, level)| level.since(&before(number)))
                .collect(),
            walks: self.walks - earlier.walks,
            walk_cycles: self.walk_cycles - earlier.walk_cycles,
            last_level_lines: self.last_level_lines,
            last_level_lines_peak: self.last_level_lines_peak,
            lines_lost_to: lost
                .map(|(core, lines)| lines - earlier.lines_lost_to.get(core).unwrap_or(&0))
                .collect(),
            transfers: self.transfers - earlier.transfers,
            shootdowns_sent: self.shootdowns_sent - earlier.shootdowns_sent,
            shootdowns_received: self.shootdowns_received - earlier.shootdowns_received,
        }
    }

    /// The misses of the last level, by cause.
    pub fn last_level_misses(&self) -> [u64; 3] {
        self.levels.last().map_or([0; 3], |level| level.misses)
    }
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
