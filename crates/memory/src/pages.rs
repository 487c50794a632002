//! Ranges of base pages, and sets of them.

use crate::frames::Runs;
use crate::{GEOMETRY, PAGES_PER_BLOCK};
use broadleaf_units::{BlockNumber, PageNumber, VirtAddr};
use std::ops::Range;

/// A range of base pages of one address space: `start` is in it, `end` is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The first page.
    pub start: u64,
    /// The page after the last.
    pub end: u64,
}

impl Pages {
    /// Every page that an address can lie in.
    pub const ALL: Self = Self {
        start: 0,
        end: 1 << (64 - GEOMETRY.base().shift()),
    };

    /// The pages that `len` bytes from `start` on lie in. Bytes beyond the last address are left
    /// out.
    pub fn of_bytes(start: VirtAddr, len: u64) -> Self {
        let shift = GEOMETRY.base().shift();
        let first = start.0 >> shift;
        if len == 0 {
            return Self {
                start: first,
                end: first,
            };
        }
        Self {
            start: first,
            end: (start.0.saturating_add(len - 1) >> shift) + 1,
        }
    }

    /// The pages of a block.
    pub const fn of_block(block: BlockNumber) -> Self {
        let start = GEOMETRY.first_page(block).0;
        Self {
            start,
            end: start + PAGES_PER_BLOCK as u64,
        }
    }

    /// Returns true if the range is empty.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The number of pages.
    pub const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if the range contains a page.
    pub const fn contains(self, page: u64) -> bool {
        self.start <= page && page < self.end
    }

    /// Returns true if the range contains all pages of the other range.
    pub const fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The intersection, which may be empty.
    pub fn common(self, other: Self) -> Self {
        let start = self.start.max(other.start);
        Self {
            start,
            end: self.end.min(other.end).max(start),
        }
    }

    /// The first page, as a page number.
    pub const fn first(self) -> PageNumber {
        PageNumber(self.start)
    }

    /// The difference: a part below the other range and a part above it. Either may be empty.
    pub fn without(self, other: Self) -> [Self; 2] {
        if self.common(other).is_empty() {
            return [
                self,
                Self {
                    start: self.end,
                    end: self.end,
                },
            ];
        }
        [
            Self {
                start: self.start,
                end: other.start.max(self.start),
            },
            Self {
                start: other.end.min(self.end),
                end: self.end,
            },
        ]
    }
}

/// A set of pages, which takes memory in proportion to its ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageSet(Runs);

impl PageSet {
    pub(crate) fn remove(&mut self, pages: Pages) {
        self.0.remove(pages.start..pages.end);
    }

    pub(crate) fn add(&mut self, pages: Pages) {
        self.0.add(pages.start..pages.end);
    }

    fn parts(&self, pages: Pages) -> impl Iterator<Item = Pages> {
        let parts = self.0.within(pages.start..pages.end);
        parts.map(|Range { start, end }| Pages { start, end })
    }

    pub(crate) fn meets(&self, pages: Pages) -> bool {
        self.parts(pages).next().is_some()
    }

    /// The parts of the set that lie in that range, in order.
    pub(crate) fn within(&self, pages: Pages) -> Vec<Pages> {
        self.parts(pages).collect()
    }

    /// Returns true if the set contains all pages of a range.
    pub(crate) fn covers(&self, pages: Pages) -> bool {
        self.parts(pages).next() == Some(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(start: u64, end: u64) -> Pages {
        Pages { start, end }
    }

    #[test]
    fn bytes_to_pages() {
        assert_eq!(Pages::of_bytes(VirtAddr(0x1000), 0x1000), pages(1, 2));
        assert_eq!(Pages::of_bytes(VirtAddr(0x1fff), 2), pages(1, 3));
        assert_eq!(Pages::of_bytes(VirtAddr(0x1fff), 0), pages(1, 1));
        assert_eq!(Pages::of_bytes(VirtAddr(u64::MAX), u64::MAX).end, 1 << 52);
        assert_eq!(Pages::of_block(BlockNumber(2)), pages(1024, 1536));
    }

    #[test]
    fn ranges_without_others() {
        let left = |other: Pages| pages(10, 20).without(other).map(Pages::len);
        assert_eq!(left(pages(12, 15)), [2, 5]);
        assert_eq!(left(pages(0, 15)), [0, 5]);
        assert_eq!(left(pages(15, 30)), [5, 0]);
        assert_eq!(left(pages(0, 30)), [0, 0]);
        assert_eq!(left(pages(20, 30)), [10, 0]);
        assert_eq!(left(pages(0, 10)), [10, 0]);
    }

    #[test]
    fn sets_merge_and_split() {
        let mut set = PageSet::default();
        set.add(pages(10, 20));
        set.add(pages(30, 40));
        assert!(set.meets(pages(19, 25)) && !set.meets(pages(20, 30)));
        assert!(set.covers(pages(10, 20)) && !set.covers(pages(10, 21)));
        set.add(pages(20, 30));
        assert_eq!(set.within(Pages::ALL), [pages(10, 40)]);
        set.add(pages(41, 42));
        set.remove(pages(15, 16));
        let left = [pages(10, 15), pages(16, 40), pages(41, 42)];
        assert_eq!(set.within(Pages::ALL), left);
        assert_eq!(set.within(pages(14, 17)), [pages(14, 15), pages(16, 17)]);
        set.remove(pages(0, 100));
        assert!(!set.meets(Pages::ALL));
    }
}
