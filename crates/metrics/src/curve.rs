//! Curves: misses against the geometry of a TLB.

use serde::Serialize;

/// One point of a curve: the misses of a TLB with one geometry, for pages of one size. Replacement
/// is exact LRU; the low bits of the page number select the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
