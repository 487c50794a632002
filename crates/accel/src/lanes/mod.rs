//! TLBs of one design that look up the same pages.
//!
//! Side by side, one instruction looks into several TLBs at the same time.
//! [Apart](Tlbs::set_apart), each TLB looks up all pages before the next does. The first is faster
//! if most lookups hit the first level, the second if most miss. Both rely on exact LRU
//! replacement, on two page sizes (4 KiB and 2 MiB), and on page tables that do not change during a
//! call.

mod aligned;
mod alone;
mod apart;
mod entry;
mod look_up;
mod row_moves;
#[cfg(target_arch = "x86_64")]
mod row_registers;
mod rows;
#[cfg(target_arch = "x86_64")]
mod rows_in_loops;
mod sixteen;
#[cfg(test)]
mod tests;
mod walks;

use alone::{Alone, AloneShape};
use broadleaf_tlb::Compiled;
use broadleaf_tlb::Design;
use broadleaf_tlb::set;
use broadleaf_units::{PageNumber, PageSize};
use entry::EMPTY;
pub use entry::{Entry, PageId, Size};
use pulp::Arch;
use rows::Rows;
use sixteen::{GROUP_WAYS, WayGroup};
pub use walks::{Stop, Walks};

/// The most TLBs that there can be side by side.
pub const MOST_LANES: usize = 64;

/// The structure for pages of one size at one level, and its index function.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: Compiled,
    structure: usize,
}

/// A structure of the second level. Each lane has its own entries: few lookups reach the second
/// level, and seldom in all lanes at once.
#[derive(Clone, Debug)]
struct Second {
    ways: usize,
    /// The groups of ways of a set.
    groups: usize,
    /// By lane, set and group of ways.
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

/// TLBs of one design side by side.
#[derive(Clone, Debug)]
pub struct Tlbs {
    /// The number of TLBs.
    count: usize,
    /// The number of lanes with room, for which the loops are compiled.
    lanes: usize,
    first: Vec<Rows>,
    second: Vec<Second>,
    /// The places of superpages and base pages at the first level, and at the second level if it
    /// holds them. This is the order of lookup.
    superpages: (Place, Option<Place>),
    base_pages: (Place, Option<Place>),
    /// The TLBs, if they are apart. Then `first` and `second` are empty.
    apart: Option<Vec<Alone>>,
    /// The sets that pages go to in TLBs that are apart; `None` if the design does not allow that.
    shape: Option<AloneShape>,
    /// The vector instructions that the processor has.
    vectors: Arch,
}

impl Tlbs {
    /// One empty TLB of that design. `None` if the design lacks 4 KiB pages, or has larger pages
    /// other than 2 MiB.
    pub fn new(design: &Design) -> Option<Self> {
        let of_level = |level: usize| {
            (design.structures().iter()).filter(move |structure| structure.level == level)
        };
        let place = |level: usize, size: PageSize| {
            let holds = |(_, structure): &(usize, &broadleaf_tlb::Structure)| {
                structure.index(size).is_some()
            };
            let (structure, found) = of_level(level).enumerate().find(holds)?;
            Some(Place {
                index: found.index(size)?.compile(),
                structure,
            })
        };
        let places = |size: PageSize| Some((place(1, size)?, place(2, size)));
        let mut first: Vec<Rows> = of_level(1)
            .map(|structure| Rows::new(structure.sets(), structure.ways, 1))
            .collect();
        // A machine without superpages gets an empty structure for them.
        let superpages = places(PageSize::SIZE_2M).or_else(|| {
            let structure = first.len();
            let only_base_pages = design.sizes().len() == 1;
            only_base_pages.then(|| {
                first.push(Rows::new(1, 1, 1));
                let index = Compiled::default();
                (Place { index, structure }, None)
            })
        })?;
        let mut tlbs = Self {
            count: 1,
            lanes: 1,
            first,
            second: of_level(2)
                .map(|structure| Second::new(structure.sets(), structure.ways))
                .collect(),
            superpages,
            base_pages: places(PageSize::SIZE_4K)?,
            apart: None,
            shape: None,
            vectors: Arch::new(),
        };
        tlbs.shape = tlbs.shape_apart();
        Some(tlbs)
    }

    /// The number of TLBs.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Appends a copy of a TLB.
    pub fn copy(&mut self, lane: usize) {
        if let Some(apart) = &mut self.apart {
            apart.push(apart[lane].clone());
            self.count += 1;
            return;
        }
        if self.count == self.lanes {
            self.resize(room_for(self.count + 1));
        }
        let to = self.count;
        self.count += 1;
        for rows in &mut self.first {
            rows.copy_lane(lane, to, self.lanes);
        }
        for second in &mut self.second {
            let copied = second.entries[lane].clone();
            second.entries.push(copied);
        }
    }

    /// Removes a TLB. The last TLB takes its number.
    pub fn remove(&mut self, lane: usize) {
        self.count -= 1;
        if let Some(apart) = &mut self.apart {
            apart.swap_remove(lane);
            return;
        }
        for rows in &mut self.first {
            rows.copy_lane(self.count, lane, self.lanes);
            rows.remove_where(self.count, self.lanes, &mut |_| true);
        }
        for second in &mut self.second {
            second.entries.swap_remove(lane);
        }
        let room = room_for(self.count);
        if room < self.lanes {
            self.resize(room);
        }
    }

    fn resize(&mut self, lanes: usize) {
        for rows in &mut self.first {
            rows.resize(self.lanes, lanes);
        }
        self.lanes = lanes;
    }

    /// Returns true if two TLBs hold the same entries in the same order. Such TLBs give equal
    /// answers to equal lookups.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        if let Some(apart) = &self.apart {
            return apart[one].is_like(&apart[other]);
        }
        let of = |lane: usize| {
            self.first
                .iter()
                .flat_map(move |rows| rows.lane(lane, self.lanes))
        };
        of(one).eq(of(other))
            && (self.second.iter()).all(|second| second.entries[one] == second.entries[other])
    }

    /// Removes entries of one TLB.
    pub fn remove_where(&mut self, lane: usize, mut unwanted: impl FnMut(Entry) -> bool) {
        let mut unwanted = |entry: u32| unwanted(Entry::of(entry));
        if let Some(apart) = &mut self.apart {
            apart[lane].remove_where(&mut unwanted);
            return;
        }
        for rows in &mut self.first {
            rows.remove_where(lane, self.lanes, &mut unwanted);
        }
        for second in &mut self.second {
            for set in second.entries[lane].chunks_exact_mut(second.groups) {
                remove_from(set, &mut unwanted);
            }
        }
    }

    /// Removes the entry of one superpage from one TLB. `page` is any of its base pages.
    pub fn remove_superpage(&mut self, lane: usize, page: PageNumber, id: PageId) {
        let unwanted = id.entry(Size::Superpage);
        if let (Some(apart), Some(shape)) = (&mut self.apart, &self.shape) {
            apart[lane].remove_superpage(shape, page, unwanted);
            return;
        }
        let (first, second) = self.superpages;
        self.first[first.structure].remove_from(
            first.index.set_of(page),
            lane,
            self.lanes,
            unwanted,
        );
        if let Some(place) = second {
            let set = place.index.set_of(page);
            let set = self.second[place.structure].set(lane, set);
            remove_from(set, &mut |entry| entry == unwanted);
        }
    }

    /// Asserts the invariants: no set holds an entry twice, and empty entries come last.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check(&self) {
        if let Some(apart) = &self.apart {
            assert_eq!(apart.len(), self.count);
            apart.iter().for_each(Alone::check);
            return;
        }
        for lane in 0..self.count {
            for rows in &self.first {
                let entries: Vec<u32> = rows.lane(lane, self.lanes).collect();
                entries.chunks(rows.ways()).for_each(set::check);
            }
            for second in &self.second {
                for set in second.entries[lane].chunks(second.groups) {
                    let entries = flat(set);
                    set::check(&entries);
                    assert!(entries[second.ways..].iter().all(|entry| *entry == EMPTY));
                }
            }
        }
    }
}

/// The fewest lanes that the loops are compiled for and that are enough.
const fn room_for(count: usize) -> usize {
    match count {
        0..=1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        9..=16 => 16,
        17..=24 => 24,
        _ => MOST_LANES,
    }
}
