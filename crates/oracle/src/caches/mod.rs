//! Caches, written from the rules of `docs/spec/caches.md`: lists of ways that remember everything.

mod cache;
mod counts;

use cache::{Cache, CachedLine};

pub use cache::{LineRuleSpec, OracleCacheSpec};
pub use counts::{OracleCacheCounts, OracleLevelCounts};

/// How lines move between levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleMovement {
    /// Each level for itself.
    NonInclusive,
    /// A level holds the lines of the levels above.
    Inclusive,
    /// A level receives the lines that the level above loses.
    Exclusive,
}

/// A hierarchy.
#[derive(Clone, Debug)]
pub struct OracleCachesSpec {
    /// How lines move.
    pub movement: OracleMovement,
    /// The number of cores.
    pub cores: usize,
    /// The first level of instructions, if it is separate.
    pub first_of_instructions: Option<OracleCacheSpec>,
    /// The levels, the first one for data alone if instructions have their own.
    pub levels: Vec<OracleCacheSpec>,
    /// The level at which walks begin, from 0.
    pub walk_level: usize,
    /// The cycles of main memory.
    pub memory_cycles: u64,
    /// The number of banks, or 0, and the cycles of one access.
    pub banks: (u64, u64),
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleAccess {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A fetch of instructions.
    Fetch,
    /// A read of a walk.
    Walk,
}

/// The origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleSource {
    /// A level, from 0.
    Level(usize),
    /// Another core.
    OtherCore,
    /// Main memory.
    Memory,
}

/// A name of a cache: its core, its level, and whether it is the separate one of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    core: usize,
    level: usize,
    instructions: bool,
}

/// The caches of some cores.
#[derive(Clone, Debug)]
pub struct OracleCaches {
    spec: OracleCachesSpec,
    caches: Vec<(Name, Cache)>,
    /// When each access of each bank begins, in any order.
    bank_accesses: Vec<Vec<u64>>,
    counts: OracleCacheCounts,
    /// When main memory sees the access.
    memory_time: u64,
}

impl OracleCaches {
    /// Empty caches.
    pub fn new(spec: OracleCachesSpec) -> Self {
        let mut caches = Vec::new();
        let last = spec.levels.len() - 1;
        for core in 0..spec.cores {
            for (level, of_level) in spec.levels.iter().enumerate() {
                // One core's last level serves all.
                if level < last || core == 0 {
                    let name = Name {
                        core,
                        level,
                        instructions: false,
                    };
                    caches.push((name, Cache::new(of_level)));
                }
            }
            if let Some(first) = &spec.first_of_instructions {
                let name = Name {
                    core,
                    level: 0,
                    instructions: true,
                };
                if last > 0 || core == 0 {
                    caches.push((name, Cache::new(first)));
                }
            }
        }
        Self {
            counts: OracleCacheCounts {
                levels: vec![vec![OracleLevelCounts::default(); last + 1]; spec.cores],
                lost: vec![vec![0; spec.cores]; spec.cores],
                transfers: vec![0; spec.cores],
                upgrades: vec![0; spec.cores],
                ..OracleCacheCounts::default()
            },
            bank_accesses: vec![Vec::new(); spec.banks.0 as usize],
            caches,
            spec,
            memory_time: 0,
        }
    }

    /// The counts.
    pub const fn counts(&self) -> &OracleCacheCounts {
        &self.counts
    }

    /// The lines of the last level that a core loaded.
    pub fn occupancy(&self, core: usize) -> usize {
        let of_last = self
            .caches
            .iter()
            .filter(|(name, _)| name.level == self.last());
        let lines = of_last.flat_map(|(_, cache)| cache.lines());
        lines.filter(|line| line.core == core).count()
    }

    const fn last(&self) -> usize {
        self.spec.levels.len() - 1
    }

    fn is_private(&self, name: Name) -> bool {
        name.level < self.last()
    }

    fn name(&self, core: usize, level: usize, fetches: bool) -> Name {
        Name {
            core: if level == self.last() { 0 } else { core },
            level,
            instructions: fetches && level == 0 && self.spec.first_of_instructions.is_some(),
        }
    }

    fn cache(&self, name: Name) -> &Cache {
        let found = self.caches.iter().find(|(other, _)| *other == name);
        &found.expect("a cache of that name").1
    }

    fn cache_mut(&mut self, name: Name) -> &mut Cache {
        let found = self.caches.iter_mut().find(|(other, _)| *other == name);
        &mut found.expect("a cache of that name").1
    }

    fn latency(&self, name: Name) -> u64 {
        match (&self.spec.first_of_instructions, name.instructions) {
            (Some(first), true) => first.cycles,
            _ => self.spec.levels[name.level].cycles,
        }
    }

    /// The names of all private caches of other cores that hold a line.
    fn holders(&self, core: usize, line: u64) -> Vec<Name> {
        let names = self.caches.iter().map(|(name, _)| *name);
        let others = names.filter(|name| self.is_private(*name) && name.core != core);
        others
            .filter(|name| self.cache(*name).get(line).is_some())
            .collect()
    }

    /// Makes an access. Returns the origin of the line and the cycles.
    pub fn access(
        &mut self,
        core: usize,
        line: u64,
        access: OracleAccess,
        time: u64,
    ) -> (OracleSource, u64) {
        let fetches = access == OracleAccess::Fetch;
        let stores = access == OracleAccess::Store;
        let cause = match access {
            OracleAccess::Load | OracleAccess::Store => 0,
            OracleAccess::Walk => 1,
            OracleAccess::Fetch => 2,
        };
        let first = if access == OracleAccess::Walk {
            self.spec.walk_level
        } else {
            0
        };
        let last = self.last();
        let mut cycles = 0;
        let mut found = None;
        for level in first..=last {
            let name = self.name(core, level, fetches);
            cycles += self.latency(name);
            let counts = &mut self.counts.levels[core][level];
            let held = self.caches.iter_mut().find(|(other, _)| *other == name);
            let held = held.expect("a cache of that name").1.use_line(line);
            if held {
                counts.hits[cause] += 1;
                found = Some(level);
                break;
            }
            counts.misses[cause] += 1;
        }
        let holders = self.holders(core, line);
        let knows = found.is_some_and(|level| level < last || last == 0);
        let is_shared = match found {
            // The core's own entry remembers whether others had the line.
            Some(level) if knows => {
                let name = self.name(core, level, fetches);
                self.cache(name).get(line).is_some_and(|line| line.shared)
            }
            _ => !holders.is_empty(),
        };
        if stores {
            for name in &holders {
                self.cache_mut(*name).remove(line);
                self.counts.levels[name.core][name.level].taken += 1;
            }
        } else if !knows {
            for name in &holders {
                self.cache_mut(*name).get_mut(line).expect("a copy").shared = true;
            }
        }
        if stores && knows && is_shared {
            self.counts.upgrades[core] += 1;
            cycles += self.latency(self.name(core, last, false));
            self.own_copies_are_alone(core, line);
        }
        if found == Some(first) {
            let name = self.name(core, first, fetches);
            if stores {
                self.cache_mut(name).get_mut(line).expect("a hit").modified = true;
            }
            return (OracleSource::Level(first), cycles);
        }
        self.memory_time = time + cycles;
        let source = match found {
            Some(level) => OracleSource::Level(level),
            None if !holders.is_empty() => {
                self.counts.transfers[core] += 1;
                OracleSource::OtherCore
            }
            None => {
                self.counts.memory_reads += 1;
                let waited = self.wait_for_bank(line);
                self.counts.waited += waited;
                cycles += waited + self.spec.memory_cycles;
                OracleSource::Memory
            }
        };
        let new = CachedLine {
            number: line,
            core,
            modified: stores,
            shared: is_shared && !stores,
        };
        self.place(new, first, found, fetches);
        (source, cycles)
    }

    fn own_copies_are_alone(&mut self, core: usize, line: u64) {
        let last = self.last();
        for (name, cache) in &mut self.caches {
            if name.core == core
                && name.level < last
                && let Some(copy) = cache.get_mut(line)
            {
                copy.shared = false;
            }
        }
    }

    fn wait_for_bank(&mut self, line: u64) -> u64 {
        let (banks, busy) = self.spec.banks;
        if banks == 0 {
            return 0;
        }
        let accesses = &mut self.bank_accesses[(line % banks) as usize];
        let now = self.memory_time;
        // An access begins now or when another one ends, wherever it overlaps none.
        let overlaps_none =
            |begin: &u64| accesses.iter().all(|other| begin.abs_diff(*other) >= busy);
        let ends = accesses.iter().map(|other| other + busy);
        let begins = ends.filter(|end| *end > now).chain([now]);
        let begin = begins.filter(overlaps_none).min().unwrap_or(now);
        accesses.push(begin);
        if accesses.len() > 32 {
            let oldest = accesses.iter().min().copied();
            accesses.retain(|begin| Some(*begin) != oldest);
        }
        begin - now
    }

    /// Places a line that was missed from level `first` on, and found at a level or in memory.
    fn place(&mut self, new: CachedLine, first: usize, found: Option<usize>, fetches: bool) {
        let levels = self.last() + 1;
        if self.spec.movement == OracleMovement::Exclusive {
            let mut new = new;
            if let Some(level) = found {
                let name = self.name(new.core, level, fetches);
                let held = self
                    .cache_mut(name)
                    .remove(new.number)
                    .expect("the line was there");
                new.modified |= held.modified;
            }
            return self.push_down(new, first, fetches);
        }
        let core = new.core;
        for level in (first..found.unwrap_or(levels)).rev() {
            let name = self.name(core, level, fetches);
            let modified = new.modified && level == first;
            let left = self.cache_mut(name).insert(CachedLine { modified, ..new });
            if let Some(left) = left {
                self.note_lost(left, core, level);
                self.leave(left, core, level, fetches);
            }
        }
    }

    /// A line goes into an exclusive level, and the line that it displaces into the next.
    fn push_down(&mut self, line: CachedLine, level: usize, fetches: bool) {
        let core = line.core;
        let name = self.name(core, level, fetches);
        if let Some(held) = self.cache_mut(name).get_mut(line.number) {
            held.modified |= line.modified;
            return;
        }
        let Some(left) = self.cache_mut(name).insert(line) else {
            return;
        };
        self.note_lost(left, core, level);
        if level < self.last() {
            self.counts.levels[left.core][level].written += 1;
            self.push_down(left, level + 1, fetches);
        } else if left.modified {
            self.counts.levels[left.core][level].written += 1;
            self.counts.memory_writes += 1;
            self.wait_for_bank(left.number);
        }
    }

    /// The last level replaces a line for an access of a core.
    fn note_lost(&mut self, left: CachedLine, core: usize, level: usize) {
        if level == self.last() {
            self.counts.lost[left.core][core] += 1;
        }
    }

    /// A line leaves a level of a hierarchy that is not exclusive.
    fn leave(&mut self, left: CachedLine, core: usize, level: usize, fetches: bool) {
        let mut left = left;
        let last = self.last();
        if self.spec.movement == OracleMovement::Inclusive {
            let names: Vec<Name> = self.caches.iter().map(|(name, _)| *name).collect();
            for name in names {
                let is_above = name.level < level && (level == last || name.core == core);
                if is_above && let Some(copy) = self.cache_mut(name).remove(left.number) {
                    self.counts.levels[name.core][name.level].dropped += 1;
                    left.modified |= copy.modified;
                }
            }
        }
        if !left.modified {
            return;
        }
        self.counts.levels[left.core][level].written += 1;
        if level == last {
            self.counts.memory_writes += 1;
            self.wait_for_bank(left.number);
            return;
        }
        let name = self.name(core, level + 1, fetches);
        if let Some(held) = self.cache_mut(name).get_mut(left.number) {
            held.modified = true;
            return;
        }
        if let Some(next) = self.cache_mut(name).insert(left) {
            self.note_lost(next, core, level + 1);
            self.leave(next, core, level + 1, fetches);
        }
    }
}
