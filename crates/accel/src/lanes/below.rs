//! The levels of one machine below the first. Each lane has its own entries: few lookups come here,
//! and seldom in all lanes at once.

use super::alone::{self, AloneShape};
use super::rows::Rows;
use super::sixteen::{GROUP_WAYS, SetMoves, WayGroup};
use super::{PageId, Place, Size, place_in};
use broadleaf_tlb::{Compiled, Design, set};
use broadleaf_units::{PageNumber, PageSize};
use std::ops::Range;

/// A structure of the second level.
#[derive(Clone, Copy, Debug)]
struct SecondStructure {
    ways: usize,
    /// The groups of ways of a set.
    groups: usize,
    /// The first group of the structure among those of a lane, and their number.
    start: usize,
    len: usize,
}

/// The structure for pages of one size, and its index function.
#[derive(Clone, Copy, Debug)]
struct PlaceBelow {
    index: Compiled,
    second: SecondStructure,
}

impl PlaceBelow {
    /// The place of a design's pages of one size at the second level. `second` are the structures
    /// of this level.
    fn of(design: &Design, size: PageSize, second: &[SecondStructure]) -> Option<Self> {
        let place = place_in(design, 2, size)?;
        Some(Self {
            index: place.index,
            second: second[place.structure],
        })
    }

    /// The set of a page in a lane of these entries.
    #[inline(always)]
    fn set<'l>(&self, lane: &'l mut [WayGroup], page: PageNumber) -> &'l mut [WayGroup] {
        &mut lane[self.range(page)]
    }

    /// The groups of a page's set among those of a lane.
    #[inline(always)]
    fn range(&self, page: PageNumber) -> Range<usize> {
        let SecondStructure { groups, start, .. } = self.second;
        let first = start + self.index.set_of(page) * groups;
        first..first + groups
    }

    /// The oldest way of a set, as a bit of its last group.
    #[inline(always)]
    const fn oldest(&self) -> u32 {
        1 << ((self.second.ways - 1) % GROUP_WAYS)
    }
}

/// Removes entries from a set. The others keep their order.
fn remove_from(set: &mut [WayGroup], unwanted: &mut dyn FnMut(u32) -> bool) {
    let mut entries = flat(set);
    set::remove_where(&mut entries, unwanted);
    for (group, entries) in set.iter_mut().zip(entries.as_chunks().0) {
        group.0 = *entries;
    }
}

/// The ways of a set, one after the other.
fn flat(set: &[WayGroup]) -> Vec<u32> {
    set.iter().flat_map(|group| group.0).collect()
}

/// The levels of a machine below the first.
#[derive(Clone, Debug)]
pub(super) struct Below {
    second: Vec<SecondStructure>,
    /// By lane, structure, set and group of ways. Empty in the lanes of other machines.
    entries: Vec<Vec<WayGroup>>,
    /// The places of superpages and base pages; `None` if the first level alone holds them.
    superpages: Option<PlaceBelow>,
    base_pages: Option<PlaceBelow>,
    /// The sets that pages go to in a TLB that is apart; `None` if the design does not allow that.
    shape: Option<AloneShape>,
}

impl Below {
    /// The levels of a design below `first`, empty, with one lane. `places` are those of superpages
    /// and base pages at the first level.
    pub(super) fn new(design: &Design, places: (Place, Place), first: &[Rows]) -> Self {
        let (mut second, mut start) = (Vec::new(), 0);
        for structure in (design.structures().iter()).filter(|structure| structure.level == 2) {
            let groups = structure.ways.div_ceil(GROUP_WAYS);
            let len = structure.sets() * groups;
            second.push(SecondStructure {
                ways: structure.ways,
                groups,
                start,
                len,
            });
            start += len;
        }
        let mut below = Self {
            superpages: PlaceBelow::of(design, PageSize::SIZE_2M, &second),
            base_pages: PlaceBelow::of(design, PageSize::SIZE_4K, &second),
            entries: vec![vec![WayGroup::EMPTY; start]],
            second,
            shape: None,
        };
        below.shape = below.shape_apart(places, first);
        below
    }

    /// The shape of TLBs that are apart; `None` if the design lacks the structures for it.
    fn shape_apart(
        &self,
        (superpages, base_pages): (Place, Place),
        first: &[Rows],
    ) -> Option<AloneShape> {
        let [super_rows, base_rows] = first else {
            return None;
        };
        let [second] = self.second.as_slice() else {
            return None;
        };
        let fits = (superpages.structure, base_pages.structure) == (0, 1)
            && [super_rows.ways(), base_rows.ways()] == [alone::FIRST; 2]
            && second.ways == alone::SECOND;
        if !fits {
            return None;
        }
        let base = (base_pages.index, self.base_pages?.index);
        let superpage = (superpages.index, self.superpages?.index);
        AloneShape::new(base, superpage, super_rows.sets())
    }

    pub(super) const fn shape(&self) -> Option<&AloneShape> {
        self.shape.as_ref()
    }

    /// Looks a page up in a lane: superpages first. Makes the entry that it finds the newest of its
    /// set, and returns the page's size.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        moves: impl SetMoves,
        lane: usize,
        (page, id): (PageNumber, PageId),
    ) -> Option<Size> {
        let entries = &mut self.entries[lane];
        // Copies of places in an array would cost more than the lookups.
        let (superpages, base_pages) = (&self.superpages, &self.base_pages);
        for (size, place) in [(Size::Superpage, superpages), (Size::Base, base_pages)] {
            if let Some(place) = place
                && moves.renew(place.set(entries, page), id.entry(size))
            {
                return Some(size);
            }
        }
        None
    }

    /// Inserts a page of that size, which no entry of the lane translates.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        moves: impl SetMoves,
        lane: usize,
        (page, id): (PageNumber, PageId),
        size: Size,
    ) {
        let place = match size {
            Size::Superpage => &self.superpages,
            Size::Base => &self.base_pages,
        };
        if let Some(place) = place {
            let set = place.set(&mut self.entries[lane], page);
            moves.push_through(set, id.entry(size), place.oldest());
        }
    }

    /// Returns true if a lookup of a page would find an entry.
    pub(super) fn holds(&self, lane: usize, page: PageNumber, id: PageId) -> bool {
        let holds = |place: &Option<PlaceBelow>, size| {
            place.as_ref().is_some_and(|place| {
                let mut groups = self.entries[lane][place.range(page)].iter();
                groups.any(|group| group.0.contains(&id.entry(size)))
            })
        };
        holds(&self.superpages, Size::Superpage) || holds(&self.base_pages, Size::Base)
    }

    /// Appends a copy of a lane.
    pub(super) fn copy(&mut self, lane: usize) {
        let copied = self.entries[lane].clone();
        self.entries.push(copied);
    }

    /// Removes a lane. The last lane takes its number.
    pub(super) fn remove(&mut self, lane: usize) {
        self.entries.swap_remove(lane);
    }

    /// Removes the entries of a lane. This machine has the lane no longer.
    pub(super) fn leave(&mut self, lane: usize) {
        self.entries[lane] = Vec::new();
    }

    /// Moves the entries of the lane `from` to the lane `to`, which this machine did not have.
    pub(super) fn move_to(&mut self, from: usize, to: usize) {
        self.entries.swap(from, to);
    }

    /// Returns true if two lanes hold the same entries in the same order.
    pub(super) fn is_alike(&self, one: usize, other: usize) -> bool {
        self.entries[one] == self.entries[other]
    }

    /// Removes entries of a lane.
    pub(super) fn remove_where(&mut self, lane: usize, unwanted: &mut dyn FnMut(u32) -> bool) {
        let entries = &mut self.entries[lane];
        for second in &self.second {
            // Another machine's lane has no entries.
            let Some(structure) = entries.get_mut(second.start..second.start + second.len) else {
                continue;
            };
            for set in structure.chunks_exact_mut(second.groups) {
                remove_from(set, unwanted);
            }
        }
    }

    /// Removes the entry of a superpage from a lane.
    pub(super) fn remove_superpage(&mut self, lane: usize, page: PageNumber, unwanted: u32) {
        let entries = &mut self.entries[lane];
        if let Some(place) = &self.superpages
            && !entries.is_empty()
        {
            remove_from(place.set(entries, page), &mut |entry| entry == unwanted);
        }
    }

    /// The sets of a lane, structure by structure.
    pub(super) fn sets(&self, lane: usize) -> &[WayGroup] {
        &self.entries[lane]
    }

    /// Replaces the sets of all lanes. A lane that this machine does not have has none.
    pub(super) fn fill(&mut self, lanes: Vec<Vec<WayGroup>>) {
        self.entries = lanes;
    }

    /// Asserts the invariants of a lane. `has_lane` is true if this machine has the lane.
    #[cfg(test)]
    pub(super) fn check(&self, lane: usize, has_lane: bool) {
        let entries = &self.entries[lane];
        let all: usize = self.second.iter().map(|second| second.len).sum();
        assert_eq!(entries.len(), if has_lane { all } else { 0 }, "lane {lane}");
        for second in self.second.iter().filter(|_| has_lane) {
            for set in entries[second.start..][..second.len].chunks(second.groups) {
                let entries = flat(set);
                set::check(&entries);
                assert!(
                    entries[second.ways..]
                        .iter()
                        .all(|entry| *entry == super::entry::EMPTY)
                );
            }
        }
    }
}
