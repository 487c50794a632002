//! Aligned pieces of address spaces.

use std::ops::Range;

/// A page of any size, or what could be one. Smaller ones come first, then those of lower spaces, then those at lower addresses: of candidates that are as good as each
/// other, the first is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The base-two logarithm of its number of base pages; below 64.
    pub order: u32,
    /// The number of its address space.
    pub space: u32,
    /// Its first base page, a multiple of that number.
    pub first: u64,
}

impl Piece {
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

    /// Whether `other` is this piece or a part of it.
    pub fn contains(self, other: Self) -> bool {
        self.space == other.space
            && self.first <= other.first
            && other.pages().end <= self.pages().end
    }
}
