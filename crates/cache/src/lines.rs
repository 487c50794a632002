//! The lines of all caches of a hierarchy, and the verbs with which they move.

use crate::counts::{CacheCounts, CoreCounts};
use crate::entry::LineEntry;
use crate::main_memory::MainMemory;
use crate::sets::CacheArray;
use crate::spec::{HierarchySpec, MOST_LEVELS};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The numbers of the caches that an access goes through, the first level first.
pub(crate) type CachePath = [u16; MOST_LEVELS];

/// A private cache of a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrivateCache {
    pub(crate) array: usize,
    pub(crate) level: usize,
}

/// The lines of all caches of a hierarchy.
#[derive(Debug)]
pub struct CacheLines {
    pub(crate) arrays: Vec<Box<dyn CacheArray>>,
    /// By core: the path of data, and the path of instructions.
    pub(crate) paths: Vec<[CachePath; 2]>,
    /// The caches of each core, without the last level.
    pub(crate) private: Vec<Vec<PrivateCache>>,
    pub(crate) levels: usize,
    pub(crate) memory: MainMemory,
    pub(crate) counts: Vec<CoreCounts>,
    /// The lines of the last level that each core loaded.
    pub(crate) occupancy: Vec<u64>,
    pub(crate) occupancy_peak: Vec<u64>,
}

/// A line that an access missed in some levels.
#[derive(Clone, Copy, Debug)]
pub struct MissedLine {
    /// The number of the line.
    pub line: u64,
    /// The core of the access.
    pub core: usize,
    /// The first level that was looked up, from 0.
    pub first: usize,
    /// The level that held the line, or the number of levels if none did.
    pub found: usize,
    /// True if the line is modified in the first level.
    pub modified: bool,
    /// True if no private cache of another core holds the line.
    pub alone: bool,
    /// The time at which main memory sees the access.
    pub time: u64,
    pub(crate) path: CachePath,
}

impl MissedLine {
    /// The new entry of a level.
    pub fn entry_at(&self, level: usize) -> LineEntry {
        let entry = LineEntry::new(self.line, self.core).alone_if(self.alone);
        entry.modified_if(self.modified && level == self.first)
    }
}

impl CacheLines {
    /// Empty caches.
    pub(crate) fn new(spec: &HierarchySpec) -> Self {
        let (levels, cores) = (spec.levels(), spec.cores());
        let line_bytes = 1 << spec.line_shift();
        let mut lines = Self {
            arrays: Vec::new(),
            paths: vec![[CachePath::default(); 2]; cores],
            private: vec![Vec::new(); cores],
            levels,
            memory: MainMemory::new(spec.memory()),
            counts: vec![CoreCounts::default(); cores],
            occupancy: vec![0; cores],
            occupancy_peak: vec![0; cores],
        };
        for cache in spec.caches() {
            let level = cache.level - 1;
            let is_last = level + 1 == levels;
            for core in 0..cores {
                if core == 0 || !is_last {
                    let shape = cache.shape(line_bytes);
                    lines.arrays.push((cache.replacement.entry().build)(&shape));
                }
                let array = lines.arrays.len() - 1;
                if !is_last {
                    lines.private[core].push(PrivateCache { array, level });
                }
                for (instructions, path) in [false, true].into_iter().zip(&mut lines.paths[core]) {
                    if cache.instructions.is_none_or(|only| only == instructions) {
                        path[level] = array as u16;
                    }
                }
            }
        }
        lines
    }

    /// The number of levels.
    pub const fn levels(&self) -> usize {
        self.levels
    }

    /// The counts, with the occupancy of the last level.
    pub(crate) fn counted(&self) -> CacheCounts {
        CacheCounts {
            cores: self.counts.clone(),
            memory: self.memory.counts,
            occupancy: self.occupancy.clone(),
            occupancy_peak: self.occupancy_peak.clone(),
        }
    }

    /// Counts from zero. The lines stay.
    pub(crate) fn begin(&mut self) {
        self.counts.fill(CoreCounts::default());
        self.memory.counts = crate::MemoryCounts::default();
        self.occupancy_peak.clone_from(&self.occupancy);
    }

    const fn is_last(&self, level: usize) -> bool {
        level + 1 == self.levels
    }

    /// Loads a line into a level on the way of an access. Returns the line that makes room, if one
    /// does. A level that holds the line already keeps it, and it is modified if either was.
    pub fn put(
        &mut self,
        missed: &MissedLine,
        level: usize,
        entry: LineEntry,
    ) -> Option<LineEntry> {
        let array = &mut self.arrays[usize::from(missed.path[level])];
        // The missing line itself is in no level between the first and the one that held it.
        if entry.line() != missed.line
            && let Some(held) = array.find_mut(entry.line())
        {
            *held = held.modified_if(entry.is_modified());
            return None;
        }
        self.load(missed, level, entry)
    }

    /// Loads a line that a level does not hold. Returns the line that makes room, if one does.
    fn load(&mut self, missed: &MissedLine, level: usize, entry: LineEntry) -> Option<LineEntry> {
        let left = self.arrays[usize::from(missed.path[level])].load(entry);
        if self.is_last(level) {
            let core = entry.core();
            if let Some(left) = left {
                self.occupancy[left.core()] -= 1;
                self.counts[left.core()].lost_to[missed.core] += 1;
            }
            self.occupancy[core] += 1;
            self.occupancy_peak[core] = self.occupancy_peak[core].max(self.occupancy[core]);
        }
        left
    }

    /// Takes a line out of a level on the way of an access, because the line goes up.
    pub(crate) fn take_up(&mut self, missed: &MissedLine, level: usize) -> Option<LineEntry> {
        let taken = self.arrays[usize::from(missed.path[level])].take(missed.line)?;
        if self.is_last(level) {
            self.occupancy[taken.core()] -= 1;
        }
        Some(taken)
    }

    /// Counts a line that goes from a level to the next one.
    pub fn note_written(&mut self, level: usize, left: LineEntry) {
        self.counts[left.core()].levels[level].written_back += 1;
    }

    /// Writes a modified line, which left a level, to the next level. A level without the line
    /// loads it, and may write another line back for that.
    pub fn write_back(&mut self, missed: &MissedLine, level: usize, left: LineEntry) {
        let (mut level, mut left) = (level, left);
        loop {
            self.note_written(level, left);
            if self.is_last(level) {
                self.memory.write(left.line(), missed.time);
                return;
            }
            level += 1;
            let array = &mut self.arrays[usize::from(missed.path[level])];
            if let Some(held) = array.find_mut(left.line()) {
                *held = held.modified_if(true);
                return;
            }
            match self.load(missed, level, left) {
                Some(next) if next.is_modified() => left = next,
                _ => return,
            }
        }
    }

    /// Drops the copies of a line, which leaves a level, from all levels above that level. Returns
    /// the line, modified if a copy was.
    pub fn drop_above(&mut self, missed: &MissedLine, level: usize, left: LineEntry) -> LineEntry {
        let cores = match self.is_last(level) {
            true => 0..self.private.len(),
            false => missed.core..missed.core + 1,
        };
        let mut left = left;
        for core in cores {
            for cache in &self.private[core] {
                if cache.level < level
                    && let Some(copy) = self.arrays[cache.array].take(left.line())
                {
                    self.counts[core].levels[cache.level].dropped += 1;
                    left = left.modified_if(copy.is_modified());
                }
            }
        }
        left
    }
}
