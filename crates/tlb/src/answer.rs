//! The answers of a TLB.

use broadleaf_units::{PageNumber, PageSize, SpaceTag};

/// Where a lookup found its translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// In the first level.
    First,
    /// In the second level; it has been copied to the first.
    Second,
    /// Nowhere: walk the page table, and [`Packed::fill`] what it holds.
    Miss,
}

/// A translation that no level holds any more, since others took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Whose it was.
    pub tag: SpaceTag,
    /// The first base page that it covered.
    pub page: PageNumber,
    /// Its size.
    pub size: PageSize,
}
