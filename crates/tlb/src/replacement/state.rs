//! The ways of a structure's sets: which are unused, used and locked, and which makes room.

use super::{Replace, RuleShape};
use crate::Structure;

/// The use of one way of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayUse {
    /// The way holds no translation.
    Unused,
    /// The way holds a translation that may make room.
    Used,
    /// The way may not make room. It may hold a translation or none.
    Locked,
}

/// The ways of all sets of a structure, and the state of its replacement rule.
///
/// An organisation owns one and reports hits, fills and drops. Any organisation so works with any
/// rule.
#[derive(Debug)]
pub struct ReplacementState {
    rule: Box<dyn Replace>,
    unused_first: bool,
    ways: usize,
    /// Set after set.
    uses: Vec<WayUse>,
    /// The number of unused ways of each set.
    unused: Vec<usize>,
    /// The set and the way of the last hit or fill.
    last: (usize, usize),
}

impl Clone for ReplacementState {
    fn clone(&self) -> Self {
        Self {
            rule: self.rule.copy(),
            unused_first: self.unused_first,
            ways: self.ways,
            uses: self.uses.clone(),
            unused: self.unused.clone(),
            last: self.last,
        }
    }
}

impl ReplacementState {
    /// The state of a structure's empty sets.
    pub fn new(structure: &Structure) -> Self {
        let choice = &structure.replacement;
        let rule = (choice.entry().build)(&RuleShape {
            sets: structure.sets(),
            ways: structure.ways,
            wired: structure.wired_ways(),
            choice,
        });
        let mut state = Self {
            unused_first: rule.fills_unused_first(),
            rule,
            ways: structure.ways,
            uses: vec![WayUse::Unused; structure.entries],
            unused: vec![structure.ways; structure.sets()],
            last: (0, 0),
        };
        for set in 0..structure.sets() {
            for way in 0..structure.wired_ways() {
                state.lock(set, way);
            }
        }
        state
    }

    /// Notes a hit.
    #[inline]
    pub fn hit(&mut self, set: usize, way: usize) {
        self.last = (set, way);
        self.rule.hit(set, way);
    }

    /// Returns the way for a new translation. The caller replaces the translation that the way
    /// holds, if it holds one, and then calls [`Self::fill`].
    ///
    /// If all ways are locked, the last way makes room (UltraSPARC User's Manual, section 6.2).
    pub fn choose(&mut self, set: usize) -> usize {
        let uses = &self.uses[set * self.ways..][..self.ways];
        let first = |wanted| uses.iter().position(|found| *found == wanted);
        if self.unused_first
            && self.unused[set] > 0
            && let Some(way) = first(WayUse::Unused)
        {
            return way;
        }
        if uses.iter().all(|found| *found == WayUse::Locked) {
            return self.ways - 1;
        }
        let way = self.rule.victim(set, uses);
        debug_assert!(uses[way] != WayUse::Locked, "a locked way makes room");
        way
    }

    /// Notes a new translation. A locked way stays locked.
    pub fn fill(&mut self, set: usize, way: usize) {
        if self.uses[set * self.ways + way] == WayUse::Unused {
            self.change(set, way, WayUse::Used);
        }
        self.last = (set, way);
        self.rule.fill(set, way);
    }

    /// Notes that a way holds no translation any more. The way is no longer locked.
    pub fn drop_way(&mut self, set: usize, way: usize) {
        self.change(set, way, WayUse::Unused);
    }

    fn change(&mut self, set: usize, way: usize, to: WayUse) {
        let before = std::mem::replace(&mut self.uses[set * self.ways + way], to);
        self.unused[set] += usize::from(to == WayUse::Unused);
        self.unused[set] -= usize::from(before == WayUse::Unused);
    }

    /// Locks a way: no translation of the set makes the way's translation leave.
    pub fn lock(&mut self, set: usize, way: usize) {
        self.change(set, way, WayUse::Locked);
    }

    /// Unlocks a way. `holds` is true if the way holds a translation.
    pub fn unlock(&mut self, set: usize, way: usize, holds: bool) {
        let to = if holds { WayUse::Used } else { WayUse::Unused };
        self.change(set, way, to);
    }

    /// Notes that `times` more uses followed the last hit or fill ([`Replace::repeat`]).
    pub fn repeat(&mut self, times: u64) {
        let (set, way) = self.last;
        self.rule.repeat(set, way, times);
    }

    /// Returns a number if a hit changes nothing that an earlier hit of its way has not changed,
    /// until the number changes ([`Replace::quiet_epoch`]).
    pub fn quiet_epoch(&self) -> Option<u64> {
        self.rule.quiet_epoch()
    }

    /// Returns true if a change of the quiet epoch concerns one set alone
    /// ([`Replace::is_quiet_by_set`]).
    pub fn is_quiet_by_set(&self) -> bool {
        self.rule.is_quiet_by_set()
    }

    /// Notes the time of the next use of the translation that is looked up next
    /// ([`Replace::foresee`]).
    pub fn foresee(&mut self, next: u64) {
        self.rule.foresee(next);
    }
}
