//! The two pages that were referenced last. Programs go to and fro between two pages more than
//! anything else, and that is counted without touching a list.
//!
//! Where the page before the newest is referenced, it is found at depth 1 in each set that it
//! shares with the newest, and changes places with it; in finer divisions, where each is the newest
//! of its own set, nothing changes. So such references are counted by how finely the sets have to
//! be divided to part the two, and the lists are put right when a third page comes, or anything is
//! removed.

use super::set::Set;
use super::{LEVELS, first_set};
use broadleaf_units::SpaceId;

/// No page: an address has 64 bits, and a page more than one byte.
const NOTHING: u64 = u64::MAX;

/// The two pages that were referenced last, of one space.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    space: SpaceId,
    /// What was referenced last, where nothing was removed since.
    newest: u64,
    /// What was referenced before it, where nothing was removed since that.
    other: u64,
    /// The last level at which they share a set.
    common: usize,
    /// Whether the lists have them the other way round.
    turned: bool,
    /// For each such level, how often one was referenced after the other.
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

    /// Whether a page was referenced last.
    #[inline]
    pub(super) fn is_newest(&self, space: SpaceId, page: u64) -> bool {
        self.newest == page && self.space == space
    }

    /// Counts a reference to the page before the newest; says whether it is one.
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

    /// Puts the lists right.
    #[inline]
    pub(super) fn settle(&mut self, sets: &mut [Set]) {
        if self.turned {
            self.turned = false;
            for level in 0..=self.common {
                sets[set_of(self.newest, level)].turn();
            }
        }
    }

    /// A third page is referenced.
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

    /// Something is removed.
    pub(super) fn forget(&mut self, sets: &mut [Set]) {
        self.settle(sets);
        (self.newest, self.other) = (NOTHING, NOTHING);
    }

    /// How many references were found at depth 1 at a level.
    pub(super) fn turns(&self, level: usize) -> u64 {
        self.turns[level..].iter().sum()
    }
}

/// The number of a page's set at a level.
#[inline]
pub(super) const fn set_of(page: u64, level: usize) -> usize {
    first_set(level) + (page as usize & ((1 << level) - 1))
}
