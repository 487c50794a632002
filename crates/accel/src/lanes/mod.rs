//! TLBs with one first level that look up the same pages.
//!
//! The TLBs of a family of machines have equal first levels and may differ below. A *lane* is one
//! first level, with the lower levels of the machines that share the lane. The machines part when
//! their lower levels find a page in two sizes, because one of them holds a stray.
//!
//! Side by side, one instruction looks into several TLBs at the same time.
//! [Apart](Tlbs::set_apart), each TLB looks up all pages before the next does. The first is faster
//! if most lookups hit the first level, the second if most miss. Both rely on exact LRU
//! replacement, on two page sizes (4 KiB and 2 MiB), and on page tables that do not change during a
//! call.

mod aligned;
mod alone;
mod apart;
mod below;
mod entry;
mod family;
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

use alone::Alone;
use below::Below;
use broadleaf_tlb::Compiled;
use broadleaf_tlb::Design;
use broadleaf_units::{PageNumber, PageSize};
pub(crate) use entry::{Entry, PageId, Size};
pub(crate) use family::{FamilyMachines, have_one_first_level};
use pulp::Arch;
use rows::Rows;
pub(crate) use walks::{Stop, Walks};

/// The most lanes that there can be.
pub(crate) const MOST_LANES: usize = 64;

/// The structure for pages of one size at one level, and its index function.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: Compiled,
    structure: usize,
}

/// TLBs of a family of machines, side by side.
#[derive(Clone, Debug)]
pub(crate) struct Tlbs {
    /// The number of lanes.
    count: usize,
    /// The number of lanes with room, for which the loops are compiled.
    lanes: usize,
    first: Vec<Rows>,
    /// The places of superpages and base pages at the first level. This is the order of lookup.
    superpages: Place,
    base_pages: Place,
    /// By machine.
    below: Vec<Below>,
    /// By lane: its machines, at least one.
    machines: Vec<FamilyMachines>,
    /// The TLBs, if they are apart. Then each lane has one machine, and the entries in `first` and
    /// `below` are stale.
    apart: Option<Vec<Alone>>,
    /// The vector instructions that the processor has.
    vectors: Arch,
}

/// The structure that holds pages of a size at a level, among those of the level.
fn place_in(design: &Design, level: usize, size: PageSize) -> Option<Place> {
    let (structure, found) = (design.structures().iter())
        .filter(|structure| structure.level == level)
        .enumerate()
        .find(|(_, structure)| structure.index(size).is_some())?;
    Some(Place {
        index: found.index(size)?.compile(),
        structure,
    })
}

impl Tlbs {
    /// One lane of empty TLBs for machines of these designs. `None` if there is no design, or the
    /// first level lacks 4 KiB pages, or it has larger pages but not those of 2 MiB.
    ///
    /// # Panics
    /// If the first levels differ, or there are more machines than bits in [`FamilyMachines`].
    pub(crate) fn new(designs: &[&Design]) -> Option<Self> {
        let (&design, others) = designs.split_first()?;
        let mut others = others.iter();
        assert!(
            others.all(|other| have_one_first_level(design, other)),
            "machines of two families"
        );
        let mut first: Vec<Rows> = (design.structures().iter())
            .filter(|structure| structure.level == 1)
            .map(|structure| Rows::new(structure.sets(), structure.ways, 1))
            .collect();
        // A machine without superpages gets an empty structure for them.
        let superpages = place_in(design, 1, PageSize::SIZE_2M).or_else(|| {
            let structure = first.len();
            let only_base_pages = design.sizes().len() == 1;
            only_base_pages.then(|| {
                first.push(Rows::new(1, 1, 1));
                let index = Compiled::default();
                Place { index, structure }
            })
        })?;
        let base_pages = place_in(design, 1, PageSize::SIZE_4K)?;
        let below = designs
            .iter()
            .map(|design| Below::new(design, (superpages, base_pages), &first));
        Some(Self {
            count: 1,
            lanes: 1,
            below: below.collect(),
            machines: vec![family::all(designs.len())],
            first,
            superpages,
            base_pages,
            apart: None,
            vectors: Arch::new(),
        })
    }

    /// The number of lanes.
    #[cfg(test)]
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Appends a copy of a lane.
    pub(crate) fn copy(&mut self, lane: usize) {
        self.machines.push(self.machines[lane]);
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
        self.below.iter_mut().for_each(|below| below.copy(lane));
    }

    /// Removes a lane. The last lane takes its number.
    pub(crate) fn remove(&mut self, lane: usize) {
        self.count -= 1;
        self.machines.swap_remove(lane);
        if let Some(apart) = &mut self.apart {
            apart.swap_remove(lane);
            return;
        }
        for rows in &mut self.first {
            rows.copy_lane(self.count, lane, self.lanes);
            rows.remove_where(self.count, self.lanes, &mut |_| true);
        }
        self.below.iter_mut().for_each(|below| below.remove(lane));
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

    /// Returns true if two lanes have the same machines, whose TLBs hold the same entries in the
    /// same order. Such TLBs give equal answers to equal lookups.
    pub(crate) fn are_alike(&self, one: usize, other: usize) -> bool {
        if self.machines[one] != self.machines[other] {
            return false;
        }
        if let Some(apart) = &self.apart {
            return apart[one].is_like(&apart[other]);
        }
        self.have_equal_first(one, other)
            && (self.below.iter()).all(|below| below.is_alike(one, other))
    }

    fn have_equal_first(&self, one: usize, other: usize) -> bool {
        let mut first = self.first.iter();
        first.all(|rows| rows.lane(one, self.lanes).eq(rows.lane(other, self.lanes)))
    }

    /// Removes entries from the TLBs of one lane.
    pub(crate) fn remove_where(&mut self, lane: usize, mut unwanted: impl FnMut(Entry) -> bool) {
        let mut unwanted = |entry: u32| unwanted(Entry::of(entry));
        if let Some(apart) = &mut self.apart {
            apart[lane].remove_where(&mut unwanted);
            return;
        }
        for rows in &mut self.first {
            rows.remove_where(lane, self.lanes, &mut unwanted);
        }
        let below = self.below.iter_mut();
        below.for_each(|below| below.remove_where(lane, &mut unwanted));
    }

    /// Removes the entry of one superpage from the TLBs of one lane. `page` is any of its base
    /// pages.
    pub(crate) fn remove_superpage(&mut self, lane: usize, page: PageNumber, id: PageId) {
        let unwanted = id.entry(Size::Superpage);
        if let Some((alone, shape)) = self.alone(lane) {
            alone.remove_superpage(shape, page, unwanted);
            return;
        }
        let first = &self.superpages;
        self.first[first.structure].remove_from(
            first.index.set_of(page),
            lane,
            self.lanes,
            unwanted,
        );
        let below = self.below.iter_mut();
        below.for_each(|below| below.remove_superpage(lane, page, unwanted));
    }

    /// Asserts the invariants: no set holds an entry twice, and empty entries come last.
    ///
    /// # Panics
    /// If an invariant does not hold.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        assert_eq!(self.machines.len(), self.count);
        if let Some(apart) = &self.apart {
            assert_eq!(apart.len(), self.count);
            let machines = self.machines.iter();
            machines.for_each(|machines| assert_eq!(machines.count_ones(), 1));
            apart.iter().for_each(Alone::check);
            return;
        }
        for lane in 0..self.count {
            for rows in &self.first {
                let entries: Vec<u32> = rows.lane(lane, self.lanes).collect();
                let sets = entries.chunks(rows.ways());
                sets.for_each(broadleaf_tlb::set::check);
            }
            for (machine, below) in self.below.iter().enumerate() {
                below.check(lane, self.machines[lane] >> machine & 1 != 0);
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
