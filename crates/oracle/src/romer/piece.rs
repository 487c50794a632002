//! Aligned pieces of address spaces.

use std::ops::Range;

use broadleaf_units::SpaceId;

/// An aligned piece: a page of any size, or a candidate for one. The order of pieces is the order
/// of promotions at one miss: smaller pieces, then lower addresses, then lower spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RomerPiece {
    /// The size in base pages.
    pub(super) size: u64,
    /// The first base page.
    pub(super) first: u64,
    pub(super) space: SpaceId,
}

impl RomerPiece {
    /// The piece of this size around a base page.
    pub(super) fn around(space: SpaceId, page: u64, size: u64) -> Self {
        Self {
            size,
            space,
            first: page / size * size,
        }
    }

    /// The piece of this size around this piece, which is no larger.
    pub(super) fn within(self, size: u64) -> Self {
        Self::around(self.space, self.first, size)
    }

    pub(super) fn pages(self) -> Range<u64> {
        self.first..self.first + self.size
    }

    /// Returns true if `other` is this piece or a part of it.
    pub(super) fn contains(self, other: Self) -> bool {
        self.space == other.space
            && self.first <= other.first
            && other.pages().end <= self.pages().end
    }

    /// Returns true if any of its pages is in `pages` of its space.
    pub(super) fn meets(self, pages: &Range<u64>) -> bool {
        self.first < pages.end && pages.start < self.pages().end
    }

    /// Returns true if all of its pages are in `pages` of its space.
    pub(super) fn lies_in(self, pages: &Range<u64>) -> bool {
        pages.start <= self.first && self.pages().end <= pages.end
    }

    /// The size in KiB.
    pub(super) fn kib(self) -> u64 {
        self.size * 4
    }
}
