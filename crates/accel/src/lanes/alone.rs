//! One TLB that looks pages up by itself, for traces in which most lookups miss the first level.
//!
//! A miss puts its entry in as the newest of a set and pushes the oldest one out. A hit makes its
//! entry the newest. Both move one entry to the front: the entry that was found, or the oldest one.
//! So a lookup has no branch that depends on a hit in the second level, or on the size of the page.
//! Entries are in the order of their last use.
//!
//! These lookups rely on exact LRU replacement, on two page sizes, and on the shape of the design.
//! The first level has two structures of four ways, one for each page size. Their index functions
//! read one range of bits. The second level has one structure of twelve ways for both page sizes.
//! Its index functions read two ranges of bits. The host removes the entry of a superpage when the
//! superpage is broken, so no base page is found under the entry of a superpage. The entry of a
//! base page can outlive the promotion of its block: such an entry is a *stray*.

mod joined;
mod lookups;

use super::entry::{EMPTY, SUPERPAGE};
use super::sixteen::{Loops, SetMoves, WayGroup, dispatch};
use super::{PageId, Size, Stop, Walks};
use broadleaf_tlb::{Compiled, FewFields, set};
use broadleaf_units::PageNumber;
use joined::{Strays, Watched};
use lookups::{LaneLookups, Lookups};
use pulp::Arch;

/// The ways of the first level and of the second.
pub(super) const FIRST: usize = 4;
pub(super) const SECOND: usize = 12;
/// The oldest way of a set of the second level, as a bit.
const OLDEST: u32 = 1 << (SECOND - 1);

/// The sets that pages of one size go to, at both levels.
#[derive(Clone, Copy, Debug)]
struct Sets {
    first: FewFields<1>,
    /// The first set of the structure at the first level.
    start: usize,
    second: FewFields<2>,
}

/// The sets that base pages and superpages go to, in all TLBs of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct AloneShape {
    base: Sets,
    superpage: Sets,
}

impl AloneShape {
    /// The shape of a design whose two levels have these index functions for base pages and
    /// superpages.
    /// `super_sets` is the number of sets of the superpages' structure at the first level.
    pub(super) fn new(
        (base_first, base_second): (Compiled, Compiled),
        (super_first, super_second): (Compiled, Compiled),
        super_sets: usize,
    ) -> Option<Self> {
        let sets = |first: Compiled, second: Compiled, start| {
            Some(Sets {
                first: first.of_fields()?,
                start,
                second: second.of_fields()?,
            })
        };
        Some(Self {
            base: sets(base_first, base_second, super_sets)?,
            superpage: sets(super_first, super_second, 0)?,
        })
    }

    const fn of(&self, size: Size) -> &Sets {
        match size {
            Size::Base => &self.base,
            Size::Superpage => &self.superpage,
        }
    }
}

/// One TLB.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    /// The sets of the first level, those for superpages before those for base pages. Newest
    /// entries come first, empty ones last.
    first: Vec<[u32; FIRST]>,
    /// The sets of the second level, in the same order.
    second: Vec<WayGroup>,
    holding: Holding,
    /// The strays of TLBs that differ from this one in strays alone, and are joined to it.
    joined: Vec<Strays>,
    /// While base pages are at the first level alone: the strays of all.
    watched: Watched,
}

/// The known contents of a TLB. They decide where a lookup searches for strays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    /// No superpage: none was looked up.
    NoSuperpage,
    /// No base page, so there are no strays.
    NoBasePage,
    /// Base pages at the first level alone.
    BasePagesFirst,
    /// Both sizes.
    Both,
}

impl Alone {
    /// A TLB of these entries, set by set, newest first, empty ones last.
    pub(super) fn new(first: &[u32], second: Vec<WayGroup>) -> Self {
        Self {
            first: first.as_chunks().0.to_vec(),
            second,
            holding: Holding::Both,
            joined: Vec::new(),
            watched: Watched::nothing(),
        }
    }

    /// The entries of the first level, as [`Alone::new`] takes them.
    pub(super) fn first(&self) -> &[u32] {
        self.first.as_flattened()
    }

    /// The sets of the second level.
    pub(super) fn second(&self) -> &[WayGroup] {
        &self.second
    }

    /// Returns true if both TLBs hold the same entries in the same order.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.first == other.first && self.second == other.second && self.joined == other.joined
    }

    /// Removes entries.
    pub(super) fn remove_where(&mut self, unwanted: &mut dyn FnMut(u32) -> bool) {
        for set in &mut self.first {
            set::remove_where(set, &mut *unwanted);
        }
        for set in &mut self.second {
            set::remove_where(&mut set.0, &mut *unwanted);
        }
        self.remove_joined_where(unwanted);
    }

    /// Removes the entry of one superpage. `page` is any of its base pages.
    pub(super) fn remove_superpage(&mut self, shape: &AloneShape, page: PageNumber, unwanted: u32) {
        let sets = &shape.superpage;
        let mut is_it = |entry| entry == unwanted;
        let first = &mut self.first[sets.start + sets.first.set_of(page)];
        set::remove_where(first, &mut is_it);
        set::remove_where(&mut self.second[sets.second.set_of(page)].0, is_it);
    }

    /// Determines which page sizes the TLB holds at each level.
    pub(super) fn find_strays(&mut self, shape: &AloneShape) {
        if self.is_joined() {
            // No base page has entered any of the TLBs.
            return;
        }
        let first = self.first.as_flattened();
        let second = || self.second.iter().flat_map(|set| &set.0);
        let is_base = |entry: &u32| *entry & SUPERPAGE == 0;
        let is_super = |entry: &u32| *entry & SUPERPAGE != 0 && *entry != EMPTY;
        self.holding = if second().any(is_base) {
            if second().any(is_super) || first.iter().any(is_super) {
                Holding::Both
            } else {
                Holding::NoSuperpage
            }
        } else if first.iter().any(is_base) {
            self.watch(shape);
            Holding::BasePagesFirst
        } else {
            Holding::NoBasePage
        };
    }

    /// Looks base pages up, as far as [`Stop`] allows.
    pub(super) fn look_up(
        &mut self,
        shape: &AloneShape,
        vectors: Arch,
        (lane, machine): (usize, usize),
        (pages, ids): (&[PageNumber], &[PageId]),
        walks: &mut impl Walks,
    ) -> Option<Stop> {
        let mut from = 0;
        loop {
            let mut found = LaneLookups::default();
            let lookups = Lookups {
                holding: self.holding,
                alone: self,
                shape,
                pages: &pages[from..],
                ids: &ids[from..],
                size: walks.sizes(lane),
                found: &mut found,
            };
            let made = dispatch(vectors, lookups);
            let base_walks = found.walks - found.super_walks;
            if base_walks > 0 && self.holding != Holding::NoSuperpage {
                self.holding = Holding::Both;
            }
            let of_sizes = [base_walks, found.super_walks];
            walks.count(lane, machine, found.second_hits, of_sizes);
            from += made;
            if from >= pages.len() {
                return None;
            }
            let (page, id) = (pages[from], ids[from]);
            if self.is_joined() && self.parts_at(shape, page, id, walks.sizes(lane)(id)) {
                return Some(Stop::Strays(from));
            }
            if !self.look_up_odd(shape, (lane, machine), (page, id), from, walks) {
                return Some(Stop::Walk(from));
            }
            from += 1;
        }
    }

    /// Returns true if the lookup of a page has another effect on this TLB than on a joined one.
    fn parts_at(
        &self,
        shape: &AloneShape,
        page: PageNumber,
        id: PageId,
        (is_super, is_odd): (bool, bool),
    ) -> bool {
        !is_odd && (!is_super || self.is_stray(shape, page, id))
    }

    /// Makes one lookup, step by step. Returns true if a page was found.
    #[cold]
    fn look_up_odd(
        &mut self,
        shape: &AloneShape,
        (lane, machine): (usize, usize),
        (page, id): (PageNumber, PageId),
        at: usize,
        walks: &mut impl Walks,
    ) -> bool {
        let sizes = [Size::Superpage, Size::Base];
        for size in sizes {
            let sets = shape.of(size);
            let set = &mut self.first[sets.start + sets.first.set_of(page)];
            if set::renew(set, id.entry(size)) {
                return true;
            }
        }
        for size in sizes {
            let set = shape.of(size).second.set_of(page);
            if self.second[set].0.contains(&id.entry(size)) {
                walks.second_hit(lane, machine);
                self.put_in(shape, page, id, size);
                return true;
            }
        }
        let Some(size) = walks.walk(lane, machine, at) else {
            return false;
        };
        self.put_in(shape, page, id, size);
        true
    }

    /// Makes an entry the newest at both levels.
    fn put_in(&mut self, shape: &AloneShape, page: PageNumber, id: PageId, size: Size) {
        let (sets, entry) = (shape.of(size), id.entry(size));
        let known = match size {
            Size::Base => self.holding == Holding::NoSuperpage,
            Size::Superpage => self.holding != Holding::NoSuperpage,
        };
        if !known {
            self.holding = Holding::Both;
        }
        let first = &mut self.first[sets.start + sets.first.set_of(page)];
        Loops.use_in_four(first, entry);
        Loops.use_in(&mut self.second[sets.second.set_of(page)], entry, OLDEST);
    }

    /// Asserts the invariants of a TLB.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.first.iter().for_each(|set| set::check(set));
        assert!(
            self.joined.is_empty() || self.holding == Holding::BasePagesFirst,
            "a joined TLB may have gained a base page"
        );
        self.second.iter().for_each(|set| set::check(&set.0));
    }
}
