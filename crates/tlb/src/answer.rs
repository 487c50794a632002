//! The answers of a TLB.

use broadleaf_units::{Asid, PageNumber, PageSize};

/// The result of a lookup: the level that held the translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// In the first level.
    First,
    /// In the second level. The first level has received the translation.
    Second,
    /// In the third level. The levels above have received the translation.
    Third,
    /// In no level: the caller walks the page table and loads the result ([`crate::Tlb::load`]).
    Miss,
}

/// A translation that no level holds any more, since others took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The address space of the translation.
    pub tag: Asid,
    /// The first base page that it covered.
    pub page: PageNumber,
    /// Its size.
    pub size: PageSize,
}
