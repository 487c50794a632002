//! Aligned pieces of address spaces.

use std::ops::Range;

/// An aligned piece: a page of any size, or a candidate for one. The order of pieces breaks ties
/// between candidates: smaller pieces, then lower spaces, then lower addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayoutPiece {
    /// The base-two logarithm of the number of base pages; below 64.
    pub order: u32,
    /// The number of the address space.
    pub space: u32,
    /// The first base page, a multiple of the number of base pages.
    pub first: u64,
}

impl LayoutPiece {
    /// The piece of this order around a base page.
    pub fn around(space: u32, page: u64, order: u32) -> Self {
        Self {
            order,
            space,
            first: page >> order << order,
        }
    }

    /// Its base pages.
    pub fn pages(self) -> Range<u64> {
        self.first..self.first + (1 << self.order)
    }

    /// Returns true if `other` is this piece or a part of it.
    pub fn contains(self, other: Self) -> bool {
        self.space == other.space
            && self.first <= other.first
            && other.pages().end <= self.pages().end
    }
}
