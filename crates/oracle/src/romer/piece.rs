//! Aligned pieces of address spaces.

use std::ops::Range;

use broadleaf_units::SpaceId;

/// A page of any size, or what could become one. Smaller ones come first, then those at lower addresses, then those of lower spaces: the order in which promotions
/// at one miss are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    /// Its size in base pages.
    pub(super) size: u64,
    /// Its first base page.
    pub(super) first: u64,
    pub(super) space: SpaceId,
}

impl Piece {
    /// The piece of this size around a base page.
    pub(super) fn around(space: SpaceId, page: u64, size: u64) -> Self {
        Self {
            size,
            space,
            first: page / size * size,
        }
    }

    /// The piece of this size around this one, which is no larger.
    pub(super) fn within(self, size: u64) -> Self {
        Self::around(self.space, self.first, size)
    }

    pub(super) fn pages(self) -> Range<u64> {
        self.first..self.first + self.size
    }

    /// Whether `other` is this piece or a part of it.
    pub(super) fn contains(self, other: Self) -> bool {
        self.space == other.space
            && self.first <= other.first
            && other.pages().end <= self.pages().end
    }

    /// Whether any of its pages is one of these of its space.
    pub(super) fn meets(self, pages: &Range<u64>) -> bool {
        self.first < pages.end && pages.start < self.pages().end
    }

    /// Whether all of its pages are among these of its space.
    pub(super) fn lies_in(self, pages: &Range<u64>) -> bool {
        pages.start <= self.first && self.pages().end <= pages.end
    }

    /// Its size in KiB.
    pub(super) fn kib(self) -> u64 {
        self.size * 4
    }
}
