//! Curves: misses against the geometry of a TLB.

use serde::{Deserialize, Serialize};

/// One point of a curve: the misses of a TLB with one geometry, for pages of one size. Replacement
/// is exact LRU; the low bits of the page number select the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The page size of the TLB, in bytes.
    pub page_size: u64,
    /// The number of sets: a power of two, and 1 for full associativity.
    pub sets: u64,
    /// The number of entries of each set.
    pub ways: u64,
    /// The number of misses, among lookups of pages that the page table held in this size.
    pub misses: u64,
}

impl CurvePoint {
    /// The number of entries.
    pub const fn entries(&self) -> u64 {
        self.sets * self.ways
    }
}

/// The TLB of a machine, for a comparison of its structures with curves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSummary {
    /// The name of the machine.
    pub name: String,
    /// The structures, in the order of the machine's description.
    pub structures: Vec<StructureSummary>,
}

/// One structure of a TLB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructureSummary {
    /// The name of the structure.
    pub name: String,
    /// The level, from 1.
    pub level: u64,
    /// The page sizes that it holds, in bytes.
    pub sizes: Vec<u64>,
    /// The number of sets.
    pub sets: u64,
    /// The number of entries of each set.
    pub ways: u64,
}

/// The misses of one interval of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissSample {
    /// Accesses from the beginning of the trace to the end of the interval.
    pub time: u64,
    /// Lookups of the interval that missed the first level.
    pub l1_misses: u64,
    /// Lookups of the interval that missed all levels.
    pub l2_misses: u64,
}
