//! The levels below the first, of one machine. Each lane has its own entries: few lookups come here,
//! and seldom in all lanes at once.

use super::alone::{self, AloneShape};
use super::entry::EMPTY;
use super::rows::Rows;
use super::sixteen::{GROUP_WAYS, SetMoves, WayGroup};
use super::{PageId, Place, Size, place_in};
use broadleaf_tlb::{Design, set};
use broadleaf_units::{PageNumber, PageSize};

/// A structure of the second level.
#[derive(Clone, Debug)]
struct Second {
    ways: usize,
    /// The groups of ways of a set.
    groups: usize,
    /// By lane, set and group of ways. Empty in the lanes of other machines.
    entries: Vec<Vec<WayGroup>>,
}

impl Second {
    /// An empty structure of one lane.
    fn new(sets: usize, ways: usize) -> Self {
        let groups = ways.div_ceil(GROUP_WAYS);
        Self {
            ways,
            groups,
            entries: vec![vec![WayGroup::EMPTY; sets * groups]],
        }
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, set: usize) -> &mut [WayGroup] {
        &mut self.entries[lane][set * self.groups..][..self.groups]
    }

    /// The oldest way of a set, as a bit of its last group.
    #[inline(always)]
    const fn oldest(&self) -> u32 {
        1 << ((self.ways - 1) % GROUP_WAYS)
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
    second: Vec<Second>,
    /// The places of superpages and base pages; `None` if the first level alone holds them.
    superpages: Option<Place>,
    base_pages: Option<Place>,
    /// The sets that pages go to in a TLB that is apart; `None` if the design does not allow that.
    shape: Option<AloneShape>,
}

impl Below {
    /// The empty levels of one lane below these rows. `places` are those of superpages and base
    /// pages at the first level.
    pub(super) fn new(design: &Design, places: (Place, Place), first: &[Rows]) -> Self {
        let second = (design.structures().iter())
            .filter(|structure| structure.level == 2)
            .map(|structure| Second::new(structure.sets(), structure.ways));
        let mut below = Self {
            second: second.collect(),
            superpages: place_in(design, 2, PageSize::SIZE_2M),
            base_pages: place_in(design, 2, PageSize::SIZE_4K),
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
        let base = (base_pages, self.base_pages?);
        let superpage = (superpages, self.superpages?);
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
        AloneShape::new(base, superpage, super_rows.sets())
    }

    pub(super) const fn shape(&self) -> Option<AloneShape> {
        self.shape
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
        // Copies of places in an array would cost more than the lookups.
        let (superpages, base_pages) = (&self.superpages, &self.base_pages);
        for (size, place) in [(Size::Superpage, superpages), (Size::Base, base_pages)] {
            if let Some(place) = place {
                let set = place.index.set_of(page);
                let set = self.second[place.structure].set(lane, set);
                if moves.renew(set, id.entry(size)) {
                    return Some(size);
                }
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
            let set = place.index.set_of(page);
            let second = &mut self.second[place.structure];
            let oldest = second.oldest();
            moves.push_through(second.set(lane, set), id.entry(size), oldest);
        }
    }

    /// Returns true if a lookup of a page would find an entry.
    pub(super) fn holds(&mut self, lane: usize, page: PageNumber, id: PageId) -> bool {
        let places = [
            (Size::Superpage, self.superpages),
            (Size::Base, self.base_pages),
        ];
        places.into_iter().any(|(size, place)| {
            place.is_some_and(|place| {
                let set = place.index.set_of(page);
                let set = self.second[place.structure].set(lane, set);
                set.iter().any(|group| group.0.contains(&id.entry(size)))
            })
        })
    }

    /// Appends a copy of a lane.
    pub(super) fn copy(&mut self, lane: usize) {
        for second in &mut self.second {
            let copied = second.entries[lane].clone();
            second.entries.push(copied);
        }
    }

    /// Removes a lane. The last lane takes its number.
    pub(super) fn remove(&mut self, lane: usize) {
        for second in &mut self.second {
            second.entries.swap_remove(lane);
        }
    }

    /// Empties a lane, which another machine has alone from now on.
    pub(super) fn leave(&mut self, lane: usize) {
        for second in &mut self.second {
            second.entries[lane] = Vec::new();
        }
    }

    /// Moves the entries of the lane `from` to the lane `to`, which this machine did not share.
    pub(super) fn move_to(&mut self, from: usize, to: usize) {
        for second in &mut self.second {
            second.entries.swap(from, to);
        }
    }

    /// Returns true if two lanes hold the same entries in the same order.
    pub(super) fn is_alike(&self, one: usize, other: usize) -> bool {
        let mut second = self.second.iter();
        second.all(|second| second.entries[one] == second.entries[other])
    }

    /// Removes entries of a lane.
    pub(super) fn remove_where(&mut self, lane: usize, unwanted: &mut dyn FnMut(u32) -> bool) {
        for second in &mut self.second {
            for set in second.entries[lane].chunks_exact_mut(second.groups) {
                remove_from(set, unwanted);
            }
        }
    }

    /// Removes the entry of a superpage from a lane.
    pub(super) fn remove_superpage(&mut self, lane: usize, page: PageNumber, unwanted: u32) {
        if let Some(place) = self.superpages
            && let second = &mut self.second[place.structure]
            && !second.entries[lane].is_empty()
        {
            let set = second.set(lane, place.index.set_of(page));
            remove_from(set, &mut |entry| entry == unwanted);
        }
    }

    /// The sets of a lane, structure by structure.
    pub(super) fn sets(&self, lane: usize) -> impl Iterator<Item = &WayGroup> {
        self.second.iter().flat_map(move |second| &second.entries[lane])
    }

    /// Replaces the sets of all lanes. `sets` are those of each lane, if this machine shares it.
    pub(super) fn fill<'s>(&mut self, sets: impl Iterator<Item = Option<&'s [WayGroup]>> + Clone) {
        for second in &mut self.second {
            let sets = sets.clone().map(Option::unwrap_or_default);
            second.entries = sets.map(<[WayGroup]>::to_vec).collect();
        }
    }

    /// Asserts the invariants of a lane, which this machine shares or not.
    pub(super) fn check(&self, lane: usize, shares: bool) {
        for second in &self.second {
            assert_eq!(second.entries[lane].is_empty(), !shares, "lane {lane}");
            for set in second.entries[lane].chunks(second.groups) {
                let entries = flat(set);
                set::check(&entries);
                assert!(entries[second.ways..].iter().all(|entry| *entry == EMPTY));
            }
        }
    }
}
