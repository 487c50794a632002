//! The caches of one machine, and the clock of its core.

use crate::core_clock::CoreClock;
use broadleaf_cache::{AccessKind, CacheAnswer, CacheHierarchy, CacheRequest};
use broadleaf_machine::MachineCaches;
use broadleaf_metrics::{CacheLevelResult, CacheResult};
use broadleaf_trace::{Lead, Visit};

/// The physical addresses of page tables begin here, above all frames.
const PAGE_TABLES: u64 = 1 << 52;

/// The caches of a machine with the core that runs the program.
#[derive(Debug)]
pub(crate) struct CachedCore {
    hierarchy: CacheHierarchy,
    clock: CoreClock,
    core: usize,
    /// The cycles of a hit of the first level: data and instructions.
    first_hits: [u64; 2],
    /// The slot at which the last walk of the visit ends.
    walk_end: u64,
    /// The cycles of all walks.
    walk_cycles: u64,
    /// True if a second hit in a row can change the replacement of a first level.
    counts_repeats: bool,
}

impl CachedCore {
    /// Empty caches and an idle core.
    pub(crate) fn new(machine: &MachineCaches) -> Option<Self> {
        let hierarchy = CacheHierarchy::new(&machine.hierarchy)?;
        let first = |instructions| {
            let cache = machine.hierarchy.cache(0, instructions);
            cache.map_or(0, |cache| cache.latency)
        };
        Some(Self {
            counts_repeats: hierarchy.counts_repeats(),
            hierarchy,
            clock: CoreClock::new(&machine.core),
            core: 0,
            first_hits: [first(false), first(true)],
            walk_end: 0,
            walk_cycles: 0,
        })
    }

    /// Counts from zero. Lines and the clock stay.
    pub(crate) fn begin(&mut self) {
        self.hierarchy.begin();
        self.clock.begin();
        self.walk_cycles = 0;
    }

    /// The cycles of all walks.
    pub(crate) const fn walk_cycles(&self) -> u64 {
        self.walk_cycles
    }

    fn access(&mut self, address: u64, kind: AccessKind, slot: u64) -> CacheAnswer {
        self.hierarchy.access(&CacheRequest {
            core: self.core,
            address,
            kind,
            time: self.clock.cycle(slot),
        })
    }

    /// A visit begins, before its lookups: the first of its instructions begins.
    #[inline]
    pub(crate) fn begin_visit(&mut self, visit: &Visit) {
        self.walk_end = 0;
        if !visit.fetch {
            self.clock.advance(u64::from(visit.instructions.min(1)));
        }
    }

    /// A walk reads these lines of the page table, one after the other.
    pub(crate) fn walk(&mut self, lines: &[u64]) {
        // Walks of one visit follow each other.
        let ready = self.clock.now().max(self.walk_end);
        let (walker, begin) = self.clock.free_walker(ready);
        let mut slot = begin;
        for line in lines {
            let address = PAGE_TABLES + (line << self.hierarchy.line_shift());
            let cycles = self.access(address, AccessKind::Walk, slot).cycles;
            slot += self.clock.slots(cycles);
            self.walk_cycles += cycles;
            self.clock.add_serial(cycles);
        }
        self.clock.keep_walker(walker, slot);
        self.walk_end = slot;
    }

    /// Makes the accesses of a visit to the line at a physical address, after its lookups, and
    /// begins its other instructions. Without an address, the visit has no reference.
    pub(crate) fn visit(&mut self, visit: &Visit, address: Option<u64>) {
        if visit.fetch {
            if let Some(address) = address {
                self.fetch(address);
            }
            self.clock.advance(visit.instructions.into());
        } else {
            if let Some(address) = address {
                self.refer(visit, address);
            }
            let others = visit.instructions.saturating_sub(1);
            self.clock.advance(others.into());
        }
    }

    /// Fetches a line of instructions. Later instructions wait for the line.
    fn fetch(&mut self, address: u64) {
        let begin = self.clock.now().max(self.walk_end);
        let cycles = self.access(address, AccessKind::Fetch, begin).cycles;
        let late = cycles - self.first_hits[1].min(cycles);
        self.clock.begins_at(begin + self.clock.slots(late));
        self.clock.add_serial(late);
    }

    /// Makes the loads and stores of a visit.
    fn refer(&mut self, visit: &Visit, address: u64) {
        let begin = self.clock.now().max(self.walk_end);
        let leads = visit.lead != Lead::None;
        let references = visit.accesses() + u64::from(leads);
        let stores_first = match visit.lead {
            Lead::None => visit.stores > 0 && visit.loads_before_store.min(visit.loads) == 0,
            lead => lead == Lead::Store,
        };
        let first = if stores_first {
            AccessKind::Store
        } else {
            AccessKind::Load
        };
        if references > 0 {
            let cycles = self.access(address, first, begin).cycles;
            let late = cycles - self.first_hits[0].min(cycles);
            if first == AccessKind::Load {
                self.clock.retires_at(begin + self.clock.slots(cycles));
                self.clock.add_serial(late);
            } else {
                // A store waits for its translation alone: a buffer takes its data.
                self.clock.retires_at(begin);
            }
        }
        let mut more = references.saturating_sub(1);
        let stores_later = visit.stores > 0 && !stores_first;
        if more > 0 && (stores_later || self.counts_repeats) {
            let second = if visit.stores > 0 {
                AccessKind::Store
            } else {
                AccessKind::Load
            };
            self.access(address, second, begin);
            more -= 1;
        }
        self.hierarchy.repeat(self.core, more);
    }

    /// The counts since [`Self::begin`].
    pub(crate) fn result(&self) -> CacheResult {
        let counts = self.hierarchy.counts();
        let core = &counts.cores[self.core];
        let instructions = self.clock.instructions();
        let is_known = instructions > 0;
        let level = |level: usize| {
            let counts = &core.levels[level];
            CacheLevelResult {
                hits: counts.hits,
                misses: counts.misses,
                written_back: counts.written_back,
            }
        };
        CacheResult {
            instructions,
            cycles: is_known.then(|| self.clock.cycles()),
            serial_cycles: is_known.then(|| self.clock.serial_cycles()),
            levels: (0..self.hierarchy.levels()).map(level).collect(),
            memory_reads: counts.memory.reads,
            memory_writes: counts.memory.writes,
            memory_wait_cycles: counts.memory.waited,
            last_level_lines: counts.occupancy[self.core],
        }
    }
}
