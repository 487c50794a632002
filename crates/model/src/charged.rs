//! TLB misses, the candidates that they are charged to, and the promotions that follow from the
//! charges (Romer 1995, sections 3 and 7).

use broadleaf_charges::{
    Batching, Candidate, CapacityCharges, ChargeCounters, Ladder, MissCounts, PrefetchCharges,
};
use broadleaf_memory::system::{Costs, Schedule};
use broadleaf_policy::{Needs, View};
use broadleaf_units::{Asid, PageSize, PageSizes};

/// The charges of a policy's candidates, and the cost of the bookkeeping.
pub(crate) struct Charged<'a> {
    /// The promotions that are known beforehand, in place of charges.
    pub(crate) schedule: Option<&'a Schedule>,
    misses: Option<MissCounts>,
    prefetch: Option<PrefetchCharges>,
    capacity: Option<CapacityCharges>,
    /// Cycles of bookkeeping at each miss.
    each: u64,
    /// Cycles of bookkeeping so far.
    pub(crate) cycles: u64,
    /// True if prefetch charges outlast promotions (in a larger piece, or in any piece).
    keeps_prefetch: bool,
    keeps_capacity: bool,
    /// The cycles of walks per thousand instructions before the first charge.
    idle_below: u64,
    /// The candidates about which the policy is asked at the current miss: those with enough
    /// charges, and those of the schedule.
    pub(crate) due: Vec<Candidate>,
    /// Cycles of a walk that finds a base page.
    pub(crate) miss_cycles: u64,
}

impl<'a> Charged<'a> {
    /// Creates empty charges for a policy that needs charges. Capacity charges assume a TLB of
    /// `entries` entries, any of which holds any page.
    pub(crate) fn new(
        needs: &Needs,
        base: PageSize,
        sizes: PageSizes,
        entries: usize,
        costs: &Costs,
        miss_cycles: u64,
    ) -> Option<Self> {
        let charges = needs.charges;
        if !charges.any() {
            return None;
        }
        let orders: Vec<u8> = (0..sizes.levels())
            .map(|level| sizes.order(level))
            .collect();
        let ladder = Ladder::new(&orders).ok()?;
        Some(Self {
            schedule: None,
            misses: charges.misses.then(|| MissCounts::new(ladder)),
            prefetch: (charges.prefetch).then(|| prefetch(ladder, sizes, base, needs.deferral)),
            capacity: (charges.capacity).then(|| CapacityCharges::new(ladder, entries)),
            each: u64::from(charges.prefetch) * costs.prefetch
                + u64::from(charges.capacity) * costs.capacity,
            cycles: 0,
            idle_below: needs.idle_below,
            keeps_prefetch: needs.keeps_prefetch_charges,
            keeps_capacity: needs.keeps_capacity_charges,
            due: Vec::new(),
            miss_cycles,
        })
    }

    /// The charges of a policy that knows its promotions beforehand: nothing is charged, and
    /// bookkeeping costs nothing.
    pub(crate) const fn scheduled(schedule: &'a Schedule) -> Self {
        Self {
            schedule: Some(schedule),
            misses: None,
            prefetch: None,
            capacity: None,
            each: 0,
            cycles: 0,
            idle_below: 0,
            keeps_prefetch: false,
            keeps_capacity: false,
            due: Vec::new(),
            miss_cycles: 0,
        }
    }

    /// Returns true if misses are charged: walks have taken enough cycles for the instructions so
    /// far. The cycles are added up only for a policy that waits.
    pub(crate) fn is_active(&self, walk_cycles: impl Fn() -> u64, instructions: u64) -> bool {
        self.idle_below == 0
            || u128::from(walk_cycles()) * 1000
                >= u128::from(self.idle_below) * u128::from(instructions)
    }

    /// The counters of prefetch charges and of capacity charges.
    pub(crate) fn counters(&self) -> ChargeCounters {
        let prefetch = self.prefetch.as_ref().map(PrefetchCharges::counters);
        let capacity = self.capacity.as_ref().map(CapacityCharges::counters);
        prefetch.into_iter().chain(capacity).sum()
    }

    /// Notes a reference that hit a translation of that level.
    #[inline]
    pub(crate) fn hit(&mut self, tag: Asid, page: u64, level: usize) {
        if let Some(capacity) = &mut self.capacity {
            capacity.touch(tag, page, level);
        }
    }

    /// Notes a miss of a page whose translation is of that level. Adds the candidates with enough
    /// charges to [`Charged::due`].
    pub(crate) fn miss(&mut self, tag: Asid, page: u64, level: usize, active: bool) {
        let due = &mut self.due;
        if !active {
            if let Some(prefetch) = &mut self.prefetch {
                prefetch.load(tag, page, level);
            }
            if let Some(capacity) = &mut self.capacity {
                capacity.touch(tag, page, level);
            }
            return;
        }
        self.cycles += self.each;
        if let Some(misses) = &mut self.misses {
            misses.miss(tag, page, level, |candidate, _| due.push(candidate));
        }
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.miss(tag, page, level, |candidate, _| due.push(candidate));
        }
        if let Some(capacity) = &mut self.capacity {
            capacity.miss(tag, page, level, |candidate, _| due.push(candidate));
        }
    }

    /// Fills in the charges of a candidate.
    pub(crate) fn shown(&self, candidate: Candidate, view: View) -> View {
        let prefetch = self.prefetch.as_ref();
        let capacity = self.capacity.as_ref();
        View {
            misses: (self.misses.as_ref()).map_or(0, |misses| misses.count(candidate)),
            prefetch_charge: prefetch.map_or(0, |charges| charges.charge(candidate)),
            capacity_charge: capacity.map_or(0, |charges| charges.charge(candidate)),
            miss_cycles: self.miss_cycles,
            ..view
        }
    }

    /// Notes that a candidate became a superpage. The candidates that contain it lose its charges,
    /// and all capacity charges return to zero (Romer 1995, section 7).
    pub(crate) fn promoted(&mut self, candidate: Candidate) {
        if let Some(prefetch) = &mut self.prefetch {
            if !self.keeps_prefetch {
                let charge = prefetch.charge(candidate);
                prefetch.relieve(candidate, charge);
            }
            prefetch.promote(candidate);
        }
        if let Some(capacity) = &mut self.capacity {
            if self.keeps_capacity {
                let pages = capacity.ladder().pages(candidate.level);
                capacity.forget(candidate.tag, candidate.first, pages);
                capacity.promote(candidate);
            } else {
                capacity.promote(candidate);
                capacity.reset();
            }
        }
        if let Some(misses) = &mut self.misses {
            misses.restart(candidate);
        }
    }

    /// Notes a translation that entered the TLB.
    pub(crate) fn loaded(&mut self, tag: Asid, page: u64, level: usize) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.load(tag, page, level);
        }
        self.hit(tag, page, level);
    }

    /// Notes a translation that another one replaced in the TLB.
    pub(crate) fn evicted(&mut self, tag: Asid, page: u64, level: usize) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.evict(tag, page, level);
        }
    }

    /// Notes that a superpage was broken.
    pub(crate) fn demoted(&mut self, candidate: Candidate) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.demote(candidate);
        }
        if let Some(capacity) = &mut self.capacity {
            capacity.demote(candidate);
        }
        if let Some(misses) = &mut self.misses {
            misses.restart(candidate);
        }
    }

    /// Notes that the translations of a range left the TLB.
    pub(crate) fn shot_down(&mut self, tag: Asid, start: u64, pages: u64) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.shoot_down(tag, start, pages);
        }
        if let Some(capacity) = &mut self.capacity {
            capacity.shoot_down(tag, start, pages);
        }
    }

    /// Removes the charges of a range that was unmapped.
    pub(crate) fn gone(&mut self, tag: Asid, start: u64, pages: u64) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.forget(tag, start, pages);
        }
        if let Some(capacity) = &mut self.capacity {
            capacity.forget(tag, start, pages);
        }
        if let Some(misses) = &mut self.misses {
            misses.forget(tag, start, pages);
        }
    }

    /// Removes the charges of a space that ended.
    pub(crate) fn space_is_gone(&mut self, tag: Asid) {
        self.gone(tag, 0, u64::MAX);
    }
}

/// The largest size whose charges are up to date at any time (Romer 1995, appendix A).
const EAGER: u8 = 16;

fn prefetch(ladder: Ladder, sizes: PageSizes, base: PageSize, deferral: u32) -> PrefetchCharges {
    if deferral <= 1 {
        return PrefetchCharges::new(ladder);
    }
    let small = |level: &usize| base.shift() + sizes.order(*level) <= EAGER;
    let eager = (1..sizes.levels()).filter(small).count();
    PrefetchCharges::batched(ladder, Batching { eager, deferral })
}
