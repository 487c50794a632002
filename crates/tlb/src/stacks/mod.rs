//! Stack simulation: LRU stack distances for TLBs of every geometry, in one pass over the
//! references.
//!
//! # The method
//!
//! Exact LRU has the *inclusion property* (Mattson, Gecsei, Slutz and Traiger 1970, "Evaluation
//! techniques for storage hierarchies"): a set of `w + 1` ways holds everything that a set of `w`
//! ways holds. So one list serves every associativity. The *depth* of an entry in the list is its
//! LRU stack distance: the largest number of ways that is too small to hold it. A reference misses
//! exactly if the set has no more ways than that depth. Each number of sets has lists of its own,
//! searched from one set to many. If the page is the newest of its set, no other page of the set
//! was referenced since. Then it is the newest of its set in every finer division too (*bit
//! selection* refines sets: Hill and Smith 1989, "Evaluating associativity in CPU caches"). No list
//! changes, and the search ends.
//!
//! # Removals
//!
//! An entry that is shot down leaves a *hole* at its depth, the empty way of all sets that held it
//! (Thompson and Smith 1989, "Efficient (stack) algorithms for analysis of write-back and sector
//! memories"). Let a reference find its page at depth `d` (infinite if the page is in no list), and
//! let `h` be the depth of the topmost hole.
//!
//! - If `d` is above `h`, or there is no hole, the entries above `d` move down by one, as without
//!   removals.
//! - Otherwise the entries above `h` move down by one, into the hole, and leave a hole at `d`.
//!
//! In both cases the entries stay in the order of their last use. So the oldest entry of a set of
//! `w` ways is the deepest above `w`. A set of `w` ways holds the entries above depth `w`, and
//! behaves as a TLB does. A set with `w > d` hits and holds the same pages as before; its hole
//! moved from `h` to `d`. A set with `h < w <= d` misses, fills its empty way and loses no entry. A
//! set with `w <= h` has no empty way, misses, and loses its oldest entry, which moved from `w - 1`
//! to `w`. Ways that were never filled are holes at the end of the list.

mod deep;
mod names;
mod pair;
mod set;

use broadleaf_units::SpaceId;
use deep::Deep;
use names::{Name, Names};
use pair::{Pair, set_of};
use set::{Set, WAYS};

/// The count of simulated numbers of sets: 1, 2, 4 and so on.
const LEVELS: usize = 13;

/// The misses of a TLB of one geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometryMisses {
    /// The number of sets. The low bits of the page number choose a page's set.
    pub sets: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// The number of lookups that missed.
    pub misses: u64,
}

/// The misses of exact-LRU TLBs of many geometries for one stream of references, counted in one
/// pass.
///
/// A simulation has pages of one size, and numbers them in this size. The low bits of a page's
/// number choose its set. Entries carry their address space, which has no part in the choice of the
/// set.
///
/// A repeated reference to the last page hits in every geometry and changes nothing, so the caller
/// may omit it.
///
/// ```
/// use broadleaf_tlb::Stacks;
/// use broadleaf_units::SpaceId;
/// let mut stacks = Stacks::new();
/// for page in [1, 2, 1, 2] {
///     stacks.reference(SpaceId(0), page);
/// }
/// let misses = |sets, ways| {
///     let mut all = stacks.misses();
///     all.find(|one| (one.sets, one.ways) == (sets, ways)).unwrap().misses
/// };
/// assert_eq!((misses(1, 1), misses(1, 2), misses(2, 1)), (4, 2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Stacks {
    names: Names,
    pair: Pair,
    /// The upper part of each list, set after set: first that of one set, then those of two, and so
    /// on.
    sets: Vec<Set>,
    /// The lower part of the list of one set.
    deep: Deep,
    /// For each number of sets, the number of references found at each depth, except those that the
    /// pair counts. The last element counts deeper and absent pages.
    found: [[u64; WAYS + 1]; LEVELS],
    /// The number of references found in each part of the lower list. The last element counts
    /// absent pages.
    found_deep: [u64; deep::PARTS + 1],
}

impl Default for Stacks {
    fn default() -> Self {
        Self::new()
    }
}

/// The index of a level's first set.
const fn first_set(level: usize) -> usize {
    (1 << level) - 1
}

impl Stacks {
    /// The number of pages from which a range is removed by a sweep over all entries. Page by page
    /// would then be about as much work.
    const MANY_PAGES: u64 = 4096;

    /// Empty TLBs.
    pub fn new() -> Self {
        Self {
            names: Names::new(),
            pair: Pair::new(),
            sets: vec![Set::EMPTY; first_set(LEVELS)],
            deep: Deep::new(),
            found: [[0; WAYS + 1]; LEVELS],
            found_deep: [0; deep::PARTS + 1],
        }
    }

    /// Looks up a page, and loads it after a miss. `page` is a number in pages of this size.
    #[inline]
    pub fn reference(&mut self, space: SpaceId, page: u64) {
        if self.pair.is_newest(space, page) || self.pair.turn(space, page) {
            return;
        }
        self.pair.settle(&mut self.sets);
        self.pair.put(space, page);
        let name = match self.names.name(space, page) {
            Some(name) => name,
            None => self.new_name(space, page),
        };
        if self.sets[0].newest() == Some(name) {
            return;
        }
        let (depth, lost) = self.sets[0].reference(name);
        self.found[0][depth] += 1;
        if depth == WAYS {
            let part = self.deep.exchange(lost, name);
            self.found_deep[part] += 1;
        }
        for (level, found) in self.found.iter_mut().enumerate().skip(1) {
            let set = &mut self.sets[set_of(page, level)];
            if set.newest() == Some(name) {
                return;
            }
            found[set.reference(name).0] += 1;
        }
    }

    /// Removes the entry of one page.
    pub fn remove(&mut self, space: SpaceId, page: u64) {
        self.pair.forget(&mut self.sets);
        let Some(name) = self.names.name(space, page) else {
            return;
        };
        // Pages absent from the finest division are in no coarser one with as many ways. Only the
        // fully associative TLBs are larger.
        for level in (0..LEVELS).rev() {
            if !self.sets[set_of(page, level)].remove(name) {
                break;
            }
        }
        self.deep.remove(name);
    }

    /// Removes the entries of `pages` pages from `start` on.
    pub fn remove_range(&mut self, space: SpaceId, start: u64, pages: u64) {
        let end = start.saturating_add(pages);
        if pages > Self::MANY_PAGES {
            self.remove_where(|other, page| other == space && (start..end).contains(&page));
            return;
        }
        let mut page = start;
        while page < end {
            // Most unmapped pages were never referenced in this size.
            let next = names::next_region(page);
            if self.names.name(space, page).is_some() {
                for page in page..next.min(end) {
                    self.remove(space, page);
                }
            }
            page = next;
        }
    }

    /// Removes the entries of a space.
    pub fn remove_space(&mut self, space: SpaceId) {
        self.remove_where(|other, _| other == space);
    }

    /// Counts from zero. The TLBs stay as they are.
    pub fn begin_counting(&mut self) {
        self.pair.begin_counting();
        self.found = [[0; WAYS + 1]; LEVELS];
        self.found_deep = [0; deep::PARTS + 1];
    }

    fn remove_where(&mut self, unwanted: impl Fn(SpaceId, u64) -> bool) {
        self.pair.forget(&mut self.sets);
        let names = &self.names;
        let goes = |name: Name| {
            let (space, page) = names.page(name);
            unwanted(space, page)
        };
        for set in &mut self.sets {
            set.replace(|name| (!goes(name)).then_some(name));
        }
        self.deep.remove_where(goes);
    }

    /// The misses of each geometry, in the order of sets and then of ways. Every power of two of
    /// sets up to 4096 has 1 to 16 ways. One set also has every power of two of ways from 32 to
    /// 4096.
    pub fn misses(&self) -> impl Iterator<Item = GeometryMisses> + '_ {
        (0..LEVELS).flat_map(move |level| {
            let of = move |ways: usize| GeometryMisses {
                sets: 1 << level,
                ways,
                misses: self.found[level][ways..].iter().sum::<u64>()
                    + if ways == 1 { self.pair.turns(level) } else { 0 },
            };
            let deep = (1..=deep::PARTS).map(|part| GeometryMisses {
                sets: 1,
                ways: WAYS << part,
                misses: self.found_deep[part..].iter().sum(),
            });
            let deep = deep.take(if level == 0 { deep::PARTS } else { 0 });
            (1..=WAYS).map(of).chain(deep)
        })
    }

    /// Names a page of a region without a number.
    #[cold]
    fn new_name(&mut self, space: SpaceId, page: u64) -> Name {
        if self.names.is_full() {
            self.forget_unused();
        }
        self.names.add(space, page)
    }

    /// Reuses the names of pages that no list holds any more, so that memory does not grow with
    /// every page ever referenced.
    fn forget_unused(&mut self) {
        let mut used = self.names.none_used();
        let in_sets = self.sets.iter().flat_map(Set::entries).flatten();
        for name in in_sets.chain(self.deep.names()) {
            used.mark(name);
        }
        let renaming = self.names.keep(&used);
        for set in &mut self.sets {
            set.replace(|name| renaming.of(name));
        }
        self.deep.rename(|name| renaming.of(name));
    }

    /// Asserts the invariants.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check(&self) {
        for (number, set) in self.sets.iter().enumerate() {
            let level = (number + 1).ilog2() as usize;
            let names: Vec<Name> = set.entries().flatten().collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "one page twice in a set");
                let (_, page) = self.names.page(*name);
                assert_eq!(set_of(page, level), number, "a page in another's set");
            }
        }
        self.deep.check();
    }
}
