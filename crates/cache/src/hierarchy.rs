//! Accesses to a hierarchy.

use crate::counts::{AccessCause, CacheCounts};
use crate::lines::{CacheLines, MissedLine};
use crate::spec::{HierarchySpec, MOST_LEVELS};
use crate::streams::{Arrivals, Streams};
use crate::{LineMovement, entry::LineEntry};
use alloc::vec;
use alloc::vec::Vec;

/// The caches of a machine and its main memory.
pub struct CacheHierarchy {
    lines: CacheLines,
    movement: &'static dyn LineMovement,
    latencies: [[u64; 2]; MOST_LEVELS],
    line_shift: u32,
    walk_level: usize,
    /// The streams of each core, by level. Empty if no level prefetches.
    streams: Vec<[Option<Streams>; MOST_LEVELS]>,
    arrivals: Arrivals,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load of the program.
    Load,
    /// A store of the program.
    Store,
    /// A fetch of instructions.
    Fetch,
    /// A read of the page table.
    Walk,
}

/// An access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRequest {
    /// The core.
    pub core: usize,
    /// A physical address inside the line.
    pub address: u64,
    /// The kind.
    pub kind: AccessKind,
    /// The time at which the access begins, in cycles. It decides how long memory's banks are
    /// waited for, and may fall from one access to the next.
    pub time: u64,
}

/// The part of a machine that held a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// A level of the caches, from 0.
    Level(usize),
    /// The private caches of another core.
    OtherCore,
    /// Main memory.
    Memory,
}

/// The answer to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAnswer {
    /// The part that held the line.
    pub by: AnsweredBy,
    /// The cycles until the line is there: lookups of all levels on the way, and main memory.
    pub cycles: u64,
}

impl AccessKind {
    /// The cause.
    #[inline]
    pub const fn cause(self) -> AccessCause {
        match self {
            Self::Load | Self::Store => AccessCause::Data,
            Self::Walk => AccessCause::Walk,
            Self::Fetch => AccessCause::Instruction,
        }
    }
}

impl CacheHierarchy {
    /// Empty caches. `None` if the kind has nothing to simulate.
    pub fn new(spec: &HierarchySpec) -> Option<Self> {
        let mut latencies = [[0; 2]; MOST_LEVELS];
        for (level, of_level) in latencies.iter_mut().enumerate() {
            for (instructions, latency) in [false, true].into_iter().zip(of_level) {
                let cache = spec.cache(level, instructions);
                *latency = cache.map_or(0, |cache| cache.latency);
            }
        }
        let of_level = |level| {
            let prefetch = spec.cache(level, false).and_then(|cache| cache.prefetch)?;
            Some(Streams::new(prefetch, spec.line_shift()))
        };
        let streams: [Option<Streams>; MOST_LEVELS] = core::array::from_fn(of_level);
        let streams = match streams.iter().any(Option::is_some) {
            true => vec![streams; spec.cores()],
            false => Vec::new(),
        };
        Some(Self {
            streams,
            arrivals: Arrivals::new(),
            lines: CacheLines::new(spec),
            movement: spec.kind().movement?,
            latencies,
            line_shift: spec.line_shift(),
            walk_level: spec.walk_level(),
        })
    }

    /// The bytes of a line, as a power of two.
    pub const fn line_shift(&self) -> u32 {
        self.line_shift
    }

    /// The number of levels.
    pub const fn levels(&self) -> usize {
        self.lines.levels()
    }

    /// Accesses a line.
    #[inline]
    pub fn access(&mut self, request: &CacheRequest) -> CacheAnswer {
        match self.access_first(request) {
            Some(answer) => answer,
            None => self.access_below(request),
        }
    }

    /// Looks a line up in the first level of an access. `None` if the level misses it: then call
    /// [`Self::access_below`]. The time of the request means nothing here.
    #[inline]
    pub fn access_first(&mut self, request: &CacheRequest) -> Option<CacheAnswer> {
        let line = request.address >> self.line_shift;
        let which = usize::from(request.kind == AccessKind::Fetch);
        let first = self.first_level(request.kind);
        let array = self.lines.paths[request.core][which][first];
        let stores = request.kind == AccessKind::Store;
        let cause = request.kind.cause() as usize;
        let found = self.lines.arrays[usize::from(array)].touch(line, stores);
        let counts = &mut self.lines.counts[request.core].levels[first];
        let Some(entry) = found else {
            counts.misses[cause] += 1;
            return None;
        };
        counts.hits[cause] += 1;
        let by = AnsweredBy::Level(first);
        let mut cycles = self.latencies[first][which];
        if stores && !entry.is_alone() {
            cycles += self.upgrade(request.core, line);
        }
        Some(CacheAnswer { by, cycles })
    }

    #[inline]
    fn first_level(&self, kind: AccessKind) -> usize {
        match kind {
            AccessKind::Walk => self.walk_level,
            _ => 0,
        }
    }

    /// Takes a line that a core stores to from other cores. Returns the cycles: those of the last
    /// level, which all cores see.
    #[cold]
    fn upgrade(&mut self, core: usize, line: u64) -> u64 {
        self.lines.others_lose(core, line);
        self.lines.becomes_alone(core, line);
        self.lines.counts[core].upgrades += 1;
        self.latencies[self.lines.levels - 1][0]
    }

    /// Serves an access that missed its first level.
    pub fn access_below(&mut self, request: &CacheRequest) -> CacheAnswer {
        let line = request.address >> self.line_shift;
        let core = request.core;
        let which = usize::from(request.kind == AccessKind::Fetch);
        let first = self.first_level(request.kind);
        let stores = request.kind == AccessKind::Store;
        let cause = request.kind.cause() as usize;
        let (levels, mut cycles) = (self.lines.levels, self.latencies[first][which]);
        let mut missed = MissedLine {
            line,
            core,
            first,
            found: levels,
            modified: stores,
            alone: true,
            time: 0,
            path: self.lines.paths[core][which],
        };
        let mut entry = None;
        for level in first + 1..levels {
            cycles += self.latencies[level][which];
            entry = self.lines.arrays[usize::from(missed.path[level])].touch(line, false);
            let counts = &mut self.lines.counts[core].levels[level];
            if entry.is_some() {
                counts.hits[cause] += 1;
                missed.found = level;
                break;
            }
            counts.misses[cause] += 1;
        }
        let mut is_elsewhere = false;
        if self.lines.private.len() > 1 {
            (is_elsewhere, cycles) = self.share(&mut missed, entry, cycles);
        }
        missed.time = request.time.saturating_add(cycles);
        let by = match missed.found {
            found if found < levels => AnsweredBy::Level(found),
            _ if is_elsewhere => {
                self.lines.counts[core].transfers += 1;
                AnsweredBy::OtherCore
            }
            _ => {
                cycles += self.lines.memory.read(line, missed.time);
                AnsweredBy::Memory
            }
        };
        if self.movement.takes_hits() && missed.found < levels {
            let taken = self.lines.take_up(&missed, missed.found);
            missed.modified |= taken.is_some_and(LineEntry::is_modified);
        }
        self.movement.fill(&mut self.lines, &missed);
        if !self.streams.is_empty() {
            cycles += self
                .arrivals
                .wait(line, request.time.saturating_add(cycles));
            if request.kind.cause() == AccessCause::Data {
                for level in first + 1..=missed.found.min(levels - 1) {
                    self.follow_stream(core, level, line, request.time);
                }
            }
        }
        CacheAnswer { by, cycles }
    }

    /// An access of data to a line reaches a level, which asks for the lines ahead of its stream.
    fn follow_stream(&mut self, core: usize, level: usize, line: u64, time: u64) {
        let Some(streams) = &mut self.streams[core][level] else {
            return;
        };
        for line in streams.pass(line).lines() {
            self.prefetch(core, level, line, time);
        }
    }

    /// Brings a line to a level of a core's caches. Lines that other cores' caches hold stay there.
    fn prefetch(&mut self, core: usize, level: usize, line: u64, time: u64) {
        let path = self.lines.paths[core][0];
        let array = usize::from(path[level]);
        if self.lines.arrays[array].find_mut(line).is_some() || self.lines.others_hold(core, line) {
            return;
        }
        let levels = self.lines.levels;
        let mut missed = MissedLine {
            line,
            core,
            first: level,
            found: levels,
            modified: false,
            alone: true,
            time: 0,
            path,
        };
        let mut cycles = self.latencies[level][0];
        for (below, array) in path.iter().enumerate().take(levels).skip(level + 1) {
            cycles += self.latencies[below][0];
            let array = &mut self.lines.arrays[usize::from(*array)];
            if array.touch(line, false).is_some() {
                missed.found = below;
                break;
            }
        }
        missed.time = time.saturating_add(cycles);
        if missed.found == levels {
            cycles += self.lines.memory.read(line, missed.time);
        }
        if self.movement.takes_hits() && missed.found < levels {
            let taken = self.lines.take_up(&missed, missed.found);
            missed.modified = taken.is_some_and(LineEntry::is_modified);
        }
        self.movement.fill(&mut self.lines, &missed);
        self.lines.counts[core].levels[level].prefetched += 1;
        self.arrivals.note(line, time.saturating_add(cycles));
    }

    /// Sees to the copies that other cores have of a line. Returns true if there are any that the
    /// access found, and the cycles so far.
    fn share(
        &mut self,
        missed: &mut MissedLine,
        entry: Option<LineEntry>,
        cycles: u64,
    ) -> (bool, u64) {
        let (core, line, stores) = (missed.core, missed.line, missed.modified);
        match entry.filter(|_| missed.found + 1 < self.lines.levels) {
            // A private cache of the core knows whether there are others.
            Some(held) if held.is_alone() => (false, cycles),
            Some(_) if stores => (false, cycles + self.upgrade(core, line)),
            Some(_) => {
                missed.alone = false;
                (false, cycles)
            }
            None if stores => (self.lines.others_lose(core, line), cycles),
            None => {
                let is_elsewhere = self.lines.others_share(core, line);
                missed.alone = !is_elsewhere;
                (is_elsewhere, cycles)
            }
        }
    }

    /// Returns true if a second hit in a row can change the replacement of a first level. Then
    /// [`Self::access`] has to know of it; [`Self::repeat`] counts all further hits.
    pub fn counts_repeats(&self) -> bool {
        let first = |paths: &[crate::lines::CachePath; 2]| [paths[0][0], paths[1][0]];
        let mut arrays = self.lines.paths.iter().flat_map(first);
        arrays.any(|array| self.lines.arrays[usize::from(array)].counts_repeats())
    }

    /// Counts more hits of data in the first level, of the line that a core accessed last.
    #[inline]
    pub fn repeat(&mut self, core: usize, times: u64) {
        let data = AccessCause::Data as usize;
        self.lines.counts[core].levels[0].hits[data] += times;
    }

    /// The counts, with the occupancy of the last level.
    pub fn counts(&self) -> CacheCounts {
        self.lines.counted()
    }

    /// Counts from zero. The lines stay.
    pub fn begin(&mut self) {
        self.lines.begin();
    }

    /// The lines, for checks.
    pub(crate) const fn lines(&self) -> &CacheLines {
        &self.lines
    }
}

impl core::fmt::Debug for CacheHierarchy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CacheHierarchy")
            .field("levels", &self.lines.levels)
            .field("cores", &self.lines.private.len())
            .finish_non_exhaustive()
    }
}
