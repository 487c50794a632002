//! Curves: misses against the geometry of a TLB.

use serde::Serialize;

/// What a TLB of one geometry, for pages of one size alone, would have missed. Replacement is exact LRU, and the low bits of the page number say
/// which set a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// The size of the pages that it holds, in bytes.
    pub page_size: u64,
    /// How many sets it has: a power of two; 1 where it is fully associative.
    pub sets: u64,
    /// How many entries each set has.
    pub ways: u64,
    /// Lookups that it missed, of those of pages that the page table held in that size then.
    pub misses: u64,
}

impl CurvePoint {
    /// How many entries it has.
    pub const fn entries(&self) -> u64 {
        self.sets * self.ways
    }
}
