//! The pair of the two most recent pages. Programs alternate between two pages more than anything
//! else, and the pair counts these references without a change of lists.
//!
//! A reference to the second page finds it at depth 1 in each set that it shares with the newest
//! page, and the two swap places. In finer divisions each is the newest of its own set, and nothing
//! changes. So the pair counts such references by the last level at which the two share a set. The
//! lists are corrected when a third page is referenced, or anything is removed.

use super::set::Set;
use super::{LEVELS, first_set};
use broadleaf_units::SpaceId;

/// No page: page numbers have fewer than 64 bits.
const NOTHING: u64 = u64::MAX;

/// The two pages that were referenced last, of one space.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    space: SpaceId,
    /// The most recent page, if nothing was removed since.
    newest: u64,
    /// The page before it, if nothing was removed since.
    other: u64,
    /// The last level at which they share a set.
    common: usize,
    /// True if the lists have the two in the opposite order.
    turned: bool,
    /// For each level, the number of alternations.
    turns: [u64; LEVELS],
}

impl Pair {
    pub(super) const fn new() -> Self {
        Self {
            space: SpaceId(0),
            newest: NOTHING,
            other: NOTHING,
            common: 0,
            turned: false,
            turns: [0; LEVELS],
        }
    }

    /// Returns true if a page is the most recent one.
    #[inline]
    pub(super) fn is_newest(&self, space: SpaceId, page: u64) -> bool {
        self.newest == page && self.space == space
    }

    /// Counts a reference to the second page. Returns true if the page is the second one.
    #[inline]
    pub(super) fn turn(&mut self, space: SpaceId, page: u64) -> bool {
        let turns = self.other == page && self.space == space;
        if turns {
            (self.newest, self.other) = (page, self.newest);
            self.turned = !self.turned;
            self.turns[self.common] += 1;
        }
        turns
    }

    /// Corrects the lists.
    #[inline]
    pub(super) fn settle(&mut self, sets: &mut [Set]) {
        if self.turned {
            self.turned = false;
            for level in 0..=self.common {
                sets[set_of(self.newest, level)].turn();
            }
        }
    }

    /// Notes a reference to a third page.
    #[inline]
    pub(super) fn put(&mut self, space: SpaceId, page: u64) {
        self.other = if self.space == space {
            self.newest
        } else {
            NOTHING
        };
        (self.newest, self.space) = (page, space);
        let apart = self.other ^ page;
        self.common = (apart.trailing_zeros() as usize).min(LEVELS - 1);
    }

    /// Corrects the lists and clears the pair, before a removal.
    pub(super) fn forget(&mut self, sets: &mut [Set]) {
        self.settle(sets);
        (self.newest, self.other) = (NOTHING, NOTHING);
    }

    /// Counts from zero. The pages stay as they are.
    pub(super) fn begin_counting(&mut self) {
        self.turns = [0; LEVELS];
    }

    /// The number of references found at depth 1 at a level.
    pub(super) fn turns(&self, level: usize) -> u64 {
        self.turns[level..].iter().sum()
    }
}

/// The number of a page's set at a level.
#[inline]
pub(super) const fn set_of(page: u64, level: usize) -> usize {
    first_set(level) + (page as usize & ((1 << level) - 1))
}
