//! Leaves and notices: the mapped pages of a memory, as page tables and TLBs see them.

use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// A page that a memory maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf {
    /// The address space.
    pub space: SpaceId,
    /// The first page of 4 KiB.
    pub first: PageNumber,
    /// The size of the page.
    pub size: PageSize,
    /// The number of the first frame of 4 KiB. `None` for the page of zeroes that all spaces share.
    pub frame: Option<u64>,
}

/// A change of the mapped pages. Translations that became stale are a [`crate::Shootdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The page is no longer mapped.
    Unmapped(Leaf),
    /// The page is mapped. No other leaf overlaps the page.
    Mapped(Leaf),
}
