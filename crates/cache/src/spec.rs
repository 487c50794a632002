//! The validated description of a hierarchy.

use crate::main_memory::MainMemorySpec;
use crate::replacement::LineReplacementChoice;
use crate::streams::StreamSpec;
use crate::{CacheKind, CacheShape};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// The most levels of a hierarchy.
pub const MOST_LEVELS: usize = 3;
/// The most cores of a hierarchy.
pub const MOST_CORES: usize = 16;
/// The most ways of a cache.
const MOST_WAYS: usize = 64;
/// The most bytes of a cache.
const MOST_BYTES: u64 = 1 << 30;
/// The bytes of a line. Traces name lines of 64 bytes.
const LINE_BYTES: RangeInclusive<u64> = 64..=4096;
/// The most cycles of a lookup, of a read of main memory and of a bank.
const MOST_CYCLES: u64 = 100_000;
/// The most streams that a cache prefetches.
const MOST_STREAMS: usize = 64;
/// The most lines ahead of a stream.
const MOST_DISTANCE: u64 = 64;
/// The most banks.
const MOST_BANKS: usize = 1 << 16;

/// The description of one cache. A private cache exists once for each core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// The name, such as `L1D`.
    pub name: String,
    /// The level, from 1.
    pub level: usize,
    /// `Some(true)` for instructions alone, `Some(false)` for data alone, `None` for both.
    pub instructions: Option<bool>,
    /// The bytes of all lines.
    pub bytes: u64,
    /// The ways of a set.
    pub ways: usize,
    /// The cycles of a lookup.
    pub latency: u64,
    /// The replacement rule.
    pub replacement: LineReplacementChoice,
    /// The streams that the cache prefetches; `None` if it prefetches nothing.
    pub prefetch: Option<StreamSpec>,
}

/// The description of a hierarchy. A value of this type is consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchySpec {
    kind: &'static CacheKind,
    cores: usize,
    caches: Vec<CacheSpec>,
    line_bytes: u64,
    walk_level: usize,
    memory: MainMemorySpec,
}

/// The part of a description that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheField {
    /// The kind of the hierarchy.
    Kind,
    /// The number of cores.
    Cores,
    /// The bytes of a line.
    Line,
    /// The level at which walks begin.
    Walks,
    /// The latency of main memory.
    MemoryLatency,
    /// The banks of main memory.
    Banks,
    /// The cycles of a bank.
    BankCycles,
    /// The table of the cache of this number.
    Cache(usize),
    /// The level of a cache.
    Level(usize),
    /// The accesses that a cache serves.
    Serves(usize),
    /// The bytes of a cache.
    Bytes(usize),
    /// The ways of a cache.
    Ways(usize),
    /// The latency of a cache.
    Latency(usize),
    /// The replacement rule of a cache.
    Replacement(usize),
    /// The prefetching of a cache.
    Prefetch(usize),
}

/// The reason why a description is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The wrong part.
    pub field: CacheField,
    /// A sentence.
    pub message: String,
}

fn wrong<T>(field: CacheField, message: impl Into<String>) -> Result<T, SpecError> {
    let message = message.into();
    Err(SpecError { field, message })
}

impl HierarchySpec {
    /// A hierarchy of these caches for this many cores. The last level is shared by all cores, and
    /// each core has its own caches of the other levels. Walks begin at `walk_level`, from 1.
    ///
    /// # Errors
    /// Returns an error with the wrong part and the reason.
    pub fn new(
        kind: &'static CacheKind,
        cores: usize,
        caches: Vec<CacheSpec>,
        line_bytes: u64,
        walk_level: usize,
        memory: MainMemorySpec,
    ) -> Result<Self, SpecError> {
        if kind.movement.is_none() {
            let message = "there are caches, so the hierarchy needs a kind such as inclusive";
            return wrong(CacheField::Kind, message);
        }
        if !LINE_BYTES.contains(&line_bytes) || !line_bytes.is_power_of_two() {
            let (least, most) = (LINE_BYTES.start(), LINE_BYTES.end());
            let message = format!("a line has {least} to {most} bytes, a power of two");
            return wrong(CacheField::Line, message);
        }
        for (number, cache) in caches.iter().enumerate() {
            check_cache(number, cache, line_bytes)?;
        }
        let levels = check_levels(&caches)?;
        if !(1..=MOST_CORES).contains(&cores) {
            return wrong(
                CacheField::Cores,
                format!("a machine has 1 to {MOST_CORES} cores"),
            );
        }
        if cores > 1 && levels < 2 {
            let message = "several cores share the last level and have a first level of their own: \
                           describe two or three levels";
            return wrong(CacheField::Cores, message);
        }
        if !(1..=levels).contains(&walk_level) {
            let message = format!("walks begin at a level of the caches, 1 to {levels}");
            return wrong(CacheField::Walks, message);
        }
        check_memory(&memory)?;
        Ok(Self {
            kind,
            cores,
            caches,
            line_bytes,
            walk_level,
            memory,
        })
    }

    /// How lines move.
    pub const fn kind(&self) -> &'static CacheKind {
        self.kind
    }

    /// The number of cores.
    pub const fn cores(&self) -> usize {
        self.cores
    }

    /// The caches, in the order of the description.
    pub fn caches(&self) -> &[CacheSpec] {
        &self.caches
    }

    /// The number of levels.
    pub fn levels(&self) -> usize {
        self.caches
            .iter()
            .map(|cache| cache.level)
            .max()
            .unwrap_or(0)
    }

    /// The cache of a level, from 0, for instructions or data.
    pub fn cache(&self, level: usize, instructions: bool) -> Option<&CacheSpec> {
        self.caches.iter().find(|cache| {
            cache.level == level + 1 && cache.instructions.is_none_or(|only| only == instructions)
        })
    }

    /// The bytes of a line, as a power of two.
    pub const fn line_shift(&self) -> u32 {
        self.line_bytes.trailing_zeros()
    }

    /// The level at which walks begin, from 0.
    pub const fn walk_level(&self) -> usize {
        self.walk_level - 1
    }

    /// Main memory.
    pub const fn memory(&self) -> MainMemorySpec {
        self.memory
    }
}

impl CacheSpec {
    /// The number of sets, if lines have this many bytes.
    pub(crate) fn sets(&self, line_bytes: u64) -> usize {
        (self.bytes / line_bytes) as usize / self.ways.max(1)
    }

    /// The shape of the cache.
    pub(crate) fn shape(&self, line_bytes: u64) -> CacheShape<'_> {
        CacheShape {
            sets: self.sets(line_bytes),
            ways: self.ways,
            choice: &self.replacement,
        }
    }
}

fn check_cache(number: usize, cache: &CacheSpec, line_bytes: u64) -> Result<(), SpecError> {
    if !(1..=MOST_LEVELS).contains(&cache.level) {
        return wrong(
            CacheField::Level(number),
            format!("a level is 1 to {MOST_LEVELS}"),
        );
    }
    if !(1..=MOST_WAYS).contains(&cache.ways) {
        return wrong(
            CacheField::Ways(number),
            format!("a set has 1 to {MOST_WAYS} ways"),
        );
    }
    if cache.bytes > MOST_BYTES {
        let message = format!("a cache has at most {} MiB", MOST_BYTES >> 20);
        return wrong(CacheField::Bytes(number), message);
    }
    let sets = cache.sets(line_bytes);
    let is_whole = (sets * cache.ways) as u64 * line_bytes == cache.bytes;
    if !is_whole || !sets.is_power_of_two() {
        let message = format!(
            "{} bytes in {} ways of {line_bytes}-byte lines are no power of two of sets",
            cache.bytes, cache.ways
        );
        return wrong(CacheField::Bytes(number), message);
    }
    if !(1..=MOST_CYCLES).contains(&cache.latency) {
        let message = format!("a lookup takes 1 to {MOST_CYCLES} cycles");
        return wrong(CacheField::Latency(number), message);
    }
    if let Some(prefetch) = cache.prefetch {
        if cache.level == 1 {
            let message = "a cache of the first level prefetches nothing here: let the next level \
                           prefetch";
            return wrong(CacheField::Prefetch(number), message);
        }
        let known = (1..=MOST_STREAMS).contains(&prefetch.streams);
        let distance = prefetch.distance;
        let has_distance = (1..=MOST_DISTANCE).contains(&distance);
        if !known || !has_distance || !(1..=distance).contains(&prefetch.step) {
            let message = format!(
                "prefetch-streams is 1 to {MOST_STREAMS}, prefetch-distance 1 to {MOST_DISTANCE} \
                 lines, and prefetch-step 1 to that distance"
            );
            return wrong(CacheField::Prefetch(number), message);
        }
    }
    match (cache.replacement.entry().refuses)(sets, cache.ways) {
        Some(message) => wrong(CacheField::Replacement(number), message),
        None => Ok(()),
    }
}

/// Returns the number of levels.
fn check_levels(caches: &[CacheSpec]) -> Result<usize, SpecError> {
    let Some(levels) = caches.iter().map(|cache| cache.level).max() else {
        return wrong(CacheField::Kind, "there is no [[cache]] table".to_string());
    };
    for level in 1..=levels {
        let of_level = || (0..).zip(caches).filter(|(_, cache)| cache.level == level);
        let Some((first, _)) = of_level().next() else {
            let number = caches.iter().position(|cache| cache.level > level);
            let message = format!("there is no cache of level {level}");
            return wrong(CacheField::Level(number.unwrap_or(0)), message);
        };
        if let Some((number, _)) = of_level().find(|(_, cache)| {
            let only = cache.instructions.is_some();
            only && level > 1
        }) {
            let message = "only the first level has separate caches of instructions and data";
            return wrong(CacheField::Serves(number), message);
        }
        let for_kind = |instructions: bool| {
            let serves =
                move |cache: &CacheSpec| cache.instructions.is_none_or(|only| only == instructions);
            of_level().filter(move |(_, cache)| serves(cache))
        };
        for (instructions, name) in [(false, "data"), (true, "instructions")] {
            let mut serving = for_kind(instructions);
            if serving.next().is_none() {
                let message = format!("no cache of level {level} serves {name}");
                return wrong(CacheField::Serves(first), message);
            }
            if let Some((second, _)) = serving.next() {
                let message = format!("two caches of level {level} serve {name}");
                return wrong(CacheField::Serves(second), message);
            }
        }
    }
    Ok(levels)
}

fn check_memory(memory: &MainMemorySpec) -> Result<(), SpecError> {
    if !(1..=MOST_CYCLES).contains(&memory.latency) {
        let message = format!("main memory takes 1 to {MOST_CYCLES} cycles");
        return wrong(CacheField::MemoryLatency, message);
    }
    if memory.banks > MOST_BANKS {
        return wrong(
            CacheField::Banks,
            format!("main memory has at most {MOST_BANKS} banks"),
        );
    }
    let has_banks = memory.banks > 0;
    if has_banks && !(1..=MOST_CYCLES).contains(&memory.bank_cycles) {
        let message = format!("an access keeps its bank for 1 to {MOST_CYCLES} cycles");
        return wrong(CacheField::BankCycles, message);
    }
    if !has_banks && memory.bank_cycles > 0 {
        let message = "without banks, no access keeps one: leave the key out";
        return wrong(CacheField::BankCycles, message);
    }
    Ok(())
}
