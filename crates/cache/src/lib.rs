//! Caches between the cores of a processor and its main memory.
//!
//! A cache knows no address translation: it receives physical addresses. [`CacheHierarchy`] is the
//! state of all caches of a machine, and [`HierarchySpec`] its validated description. The rules of
//! lookups, fills and write-backs are in `docs/spec/caches.md`.
//!
//! A kind of hierarchy, such as `inclusive`, is one file of this folder and one line of [`CACHES`].
//! A replacement rule is one file of `replacement` and one line of [`LINE_REPLACEMENTS`].
#![forbid(unsafe_code)]
#![no_std]
extern crate alloc;

mod check;
mod coherence;
mod counts;
mod entry;
mod hierarchy;
mod lines;
mod main_memory;
mod replacement;
mod sets;
mod spec;
mod streams;

pub use counts::{AccessCause, CacheCounts, CoreCounts, LevelCounts, MemoryCounts};
pub use hierarchy::{AccessKind, AnsweredBy, CacheAnswer, CacheHierarchy, CacheRequest};
pub use lines::{CacheLines, MissedLine};
pub use main_memory::MainMemorySpec;
pub use replacement::{CacheShape, LINE_REPLACEMENTS, LineReplacement, LineReplacementChoice};
pub use spec::{CacheField, CacheSpec, HierarchySpec, MOST_CORES, MOST_LEVELS, SpecError};
pub use streams::StreamSpec;

use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of cache hierarchies.
    pub static CACHES: CacheKind = [
        none::NONE,
        non_inclusive::NON_INCLUSIVE,
        inclusive::INCLUSIVE,
        exclusive::EXCLUSIVE,
    ];
}

/// A kind of cache hierarchy: how lines move between its levels.
pub struct CacheKind {
    /// Its name and its texts.
    pub described: Described,
    /// The movement of lines. `None` if there is nothing to simulate: then a machine's walk costs
    /// hold for every walk.
    pub movement: Option<&'static dyn LineMovement>,
}

/// How lines move between the levels of a hierarchy.
pub trait LineMovement: Sync {
    /// Returns true if a hit takes the line out of its level, because the line goes up.
    fn takes_hits(&self) -> bool {
        false
    }

    /// Places a line that the levels above the answer missed.
    fn fill(&self, lines: &mut CacheLines, missed: &MissedLine);
}

impl CacheKind {
    /// The hierarchy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = CACHES.iter().copied();
        all.find(|caches| caches.described.name == name)
    }

    /// No caches.
    pub const fn none() -> &'static Self {
        &none::NONE
    }
}

impl PartialEq for CacheKind {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for CacheKind {}

impl core::fmt::Debug for CacheKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.described.name)
    }
}
