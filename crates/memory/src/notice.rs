//! Notices: the mapped pages of a memory, as page tables and TLBs see them.

use broadleaf_units::{Leaf, SpaceId};

/// A change of the mapped pages. Translations that became stale are a [`crate::Shootdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The page of this space is no longer mapped.
    Unmapped(SpaceId, Leaf),
    /// The page of this space is mapped. No other leaf overlaps the page.
    Mapped(SpaceId, Leaf),
    /// The rights of the page of this space changed. The leaf has the new ones.
    Protected(SpaceId, Leaf),
}
