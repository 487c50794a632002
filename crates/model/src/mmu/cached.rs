//! The caches of one machine, and the clocks of its cores.

mod result;

use crate::core_clock::CoreClock;
use broadleaf_cache::{AccessKind, CacheHierarchy, CacheRequest};
use broadleaf_machine::{CoreSpec, MachineCaches};
use broadleaf_trace::{CodeTable, Lead, Visit};
use std::sync::Arc;

/// The physical addresses of page tables begin here, above all frames.
const PAGE_TABLES: u64 = 1 << 52;

/// The caches of a machine with its cores.
#[derive(Debug)]
pub(crate) struct CachedCores {
    hierarchy: CacheHierarchy,
    /// The cores that have run, by number.
    cores: Vec<TimedCore>,
    /// The core that runs.
    running: usize,
    /// The cycles of a hit of the first level: data and instructions.
    first_hits: [u64; 2],
    /// True if a second hit in a row can change the replacement of a first level.
    counts_repeats: bool,
    spec: CoreSpec,
    /// The code of the trace that cores follow.
    code: Option<Arc<CodeTable>>,
}

/// One core: its clock and its counts.
#[derive(Debug)]
struct TimedCore {
    clock: CoreClock,
    /// The slot at which the visit's lookups begin.
    begins: u64,
    /// The slot at which the last walk of the visit ends.
    walk_end: u64,
    /// The cycles that the translation of the visit takes beside a walk.
    translating: u64,
    /// The cycles of all walks.
    walk_cycles: u64,
    /// The shootdowns that the core sent to others, and those that it received.
    shootdowns: [u64; 2],
}

impl TimedCore {
    /// An idle core. `load` is the cycles of a load that hits the first cache.
    fn new(spec: &CoreSpec, load: u64) -> Self {
        Self {
            clock: CoreClock::new(spec, load),
            begins: 0,
            walk_end: 0,
            translating: 0,
            walk_cycles: 0,
            shootdowns: [0; 2],
        }
    }

    fn begin(&mut self) {
        self.clock.begin();
        self.walk_cycles = 0;
        self.shootdowns = [0; 2];
    }
}

impl CachedCores {
    /// Empty caches, and idle cores of which the first runs.
    pub(crate) fn new(machine: &MachineCaches) -> Option<Self> {
        let hierarchy = CacheHierarchy::new(&machine.hierarchy)?;
        let first = |instructions| {
            let cache = machine.hierarchy.cache(0, instructions);
            cache.map_or(0, |cache| cache.latency)
        };
        Some(Self {
            counts_repeats: hierarchy.counts_repeats(),
            hierarchy,
            cores: vec![TimedCore::new(&machine.core, first(false))],
            running: 0,
            first_hits: [first(false), first(true)],
            spec: machine.core,
            code: None,
        })
    }

    /// All cores follow this code from now on.
    pub(crate) fn follow_code(&mut self, code: Option<&Arc<CodeTable>>) {
        self.code = code.map(Arc::clone);
        for core in &mut self.cores {
            core.clock.follow_code(code);
        }
    }

    /// The running core follows this code from now on.
    pub(crate) fn running_core_follows(&mut self, code: Option<&Arc<CodeTable>>) {
        self.core().clock.follow_code(code);
    }

    /// Counts from zero. Lines and clocks stay.
    pub(crate) fn begin(&mut self) {
        self.hierarchy.begin();
        self.cores.iter_mut().for_each(TimedCore::begin);
    }

    /// The cycles of all walks.
    pub(crate) fn walk_cycles(&self) -> u64 {
        self.cores.iter().map(|core| core.walk_cycles).sum()
    }

    /// Lets a core run from now on. The machine has the core.
    pub(crate) fn run_on(&mut self, core: usize) {
        while self.cores.len() <= core {
            let mut another = TimedCore::new(&self.spec, self.first_hits[0]);
            another.clock.follow_code(self.code.as_ref());
            self.cores.push(another);
        }
        self.running = core;
    }

    /// The cycle in which the next instruction of the running core begins at the earliest.
    pub(crate) fn now(&self) -> u64 {
        let clock = &self.cores[self.running].clock;
        clock.cycle(clock.now())
    }

    /// The running core makes other cores drop translations. Each of them waits, too.
    pub(crate) fn shoot_down(&mut self, others: impl Iterator<Item = usize>) {
        let mut sent = 0;
        for other in others {
            let core = &mut self.cores[other];
            core.clock.wait(self.spec.shootdown_received);
            core.shootdowns[1] += 1;
            sent += 1;
        }
        if sent > 0 {
            let core = &mut self.cores[self.running];
            core.clock.wait(self.spec.shootdown_sent);
            core.shootdowns[0] += 1;
        }
    }

    /// Accesses a line from a slot of the running core on. Returns the cycles.
    #[inline]
    fn access(&mut self, address: u64, kind: AccessKind, slot: u64) -> u64 {
        let request = CacheRequest {
            core: self.running,
            address,
            kind,
            time: 0,
        };
        if let Some(answer) = self.hierarchy.access_first(&request) {
            return answer.cycles;
        }
        // The division takes longer than a hit.
        let time = self.cores[self.running].clock.cycle(slot);
        let request = CacheRequest { time, ..request };
        self.hierarchy.access_below(&request).cycles
    }

    #[inline]
    fn core(&mut self) -> &mut TimedCore {
        &mut self.cores[self.running]
    }

    /// A visit begins, before its lookups: the first of its instructions begins.
    #[inline]
    pub(crate) fn begin_visit(&mut self, visit: &Visit) {
        let core = self.core();
        core.walk_end = 0;
        core.translating = 0;
        core.begins = if visit.fetch {
            core.clock.now()
        } else {
            (core.clock).begin_visit(visit.instructions.into(), visit.execution);
            core.clock.memory_begins()
        };
    }

    /// The translations of the visit make `additions`, which take a cycle each. The first access
    /// waits for one; the others hit the same line, and overlap.
    #[inline]
    pub(crate) fn add_translating(&mut self, additions: u64) {
        let core = self.core();
        core.translating = additions.min(1);
        core.clock.add_serial(additions);
    }

    /// A walk reads these lines of the page table, one after the other.
    pub(crate) fn walk(&mut self, lines: &[u64]) {
        // Walks of one visit follow each other.
        let core = self.core();
        let ready = core.begins.max(core.walk_end);
        let (walker, begin) = core.clock.free_walker(ready);
        let mut slot = begin;
        for line in lines {
            let address = PAGE_TABLES + (line << self.hierarchy.line_shift());
            let cycles = self.access(address, AccessKind::Walk, slot);
            let core = self.core();
            slot += core.clock.slots(cycles);
            core.walk_cycles += cycles;
            core.clock.add_serial(cycles);
        }
        let core = self.core();
        core.clock.keep_walker(walker, slot);
        core.walk_end = slot;
    }

    /// Makes the accesses of a visit to the line at a physical address, after its lookups, and
    /// begins its other instructions. Without an address, the visit has no reference.
    #[inline]
    pub(crate) fn visit(&mut self, visit: &Visit, address: Option<u64>) {
        if visit.fetch {
            if let Some(address) = address {
                self.fetch(address);
            }
            let clock = &mut self.core().clock;
            clock.fetched(visit.instructions.into(), visit.execution);
        } else {
            if let Some(address) = address {
                self.refer(visit, address);
            }
            self.core().clock.end_visit(visit.instructions.into());
        }
    }

    /// Fetches a line of instructions. Later instructions wait for the line.
    fn fetch(&mut self, address: u64) {
        // The front end hides the addition of a scattered superpage, as it hides a first-level hit.
        let core = self.core();
        let begin = core.begins.max(core.walk_end);
        let cycles = self.access(address, AccessKind::Fetch, begin);
        let late = cycles - self.first_hits[1].min(cycles);
        let clock = &mut self.core().clock;
        clock.begins_at(begin + clock.slots(late));
        clock.add_serial(late);
    }

    /// The slot in which an access of the visit begins, after its translation.
    fn begin_of_access(&self) -> u64 {
        let core = &self.cores[self.running];
        let walked = core.begins.max(core.walk_end);
        walked + core.clock.slots(core.translating)
    }

    /// Makes the loads and stores of a visit.
    #[inline]
    fn refer(&mut self, visit: &Visit, address: u64) {
        let begin = self.begin_of_access();
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
            let cycles = self.access(address, first, begin);
            let late = cycles - self.first_hits[0].min(cycles);
            let clock = &mut self.core().clock;
            if first == AccessKind::Load {
                clock.memory_ends(begin + clock.slots(cycles));
                clock.add_serial(late);
            } else {
                // A store waits for its translation alone: a buffer takes its data.
                clock.memory_ends(begin);
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
        if more > 0 {
            self.hierarchy.repeat(self.running, more);
        }
    }
}
