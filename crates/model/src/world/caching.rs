//! Machines with caches: each visit accesses its line after the lookups.

use super::{Scene, World};
use crate::filter::BatchPart;
use crate::mapped::{MappedMemory, PageLookup};
use crate::steps::VisitStep;
use broadleaf_memory::GEOMETRY;
use broadleaf_memory::system::Place;
use broadleaf_tlb::{Lookup, ReferenceKind};
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

/// The references of a visit that lookups are made for.
struct VisitLookups {
    /// The kind of the first one.
    first: ReferenceKind,
    /// The kinds of the others, in order.
    others: [Option<ReferenceKind>; 2],
    count: u64,
}

impl VisitLookups {
    /// `None` if the visit has no reference.
    #[inline]
    fn of(visit: &Visit) -> Option<Self> {
        let has_data = visit.loads | visit.stores != 0;
        let loads_first = visit.stores == 0 || visit.loads_before_store.min(visit.loads) > 0;
        let stores_later = visit.stores > 0 && loads_first;
        let (first, others) = match (visit.fetch, visit.lead) {
            (true, _) => (ReferenceKind::Fetch, [None; 2]),
            (false, Lead::None) if !has_data => return None,
            (false, Lead::None) => {
                let second = stores_later.then_some(ReferenceKind::Store);
                (ReferenceKind::of_data(!loads_first), [second, None])
            }
            (false, lead) => {
                let second = has_data.then(|| ReferenceKind::of_data(!loads_first));
                let third = stores_later.then_some(ReferenceKind::Store);
                let lead = ReferenceKind::of_data(lead == Lead::Store);
                (lead, [second, third])
            }
        };
        let count = 1 + u64::from(others[0].is_some()) + u64::from(others[1].is_some());
        Some(Self {
            first,
            others,
            count,
        })
    }
}

/// The page of a visit, and the place of its line inside the page.
#[inline]
fn place_of(visit: &Visit, shift: u32) -> (PageNumber, u64) {
    let unit = visit.unit & ((1 << shift) - 1);
    let offset = unit << (u32::from(GEOMETRY.base().shift()) - shift);
    (PageNumber(visit.unit >> shift), offset)
}

impl World<'_> {
    /// Replays every visit. Machines with caches then access the line.
    pub(super) fn replay_caching(
        &mut self,
        visits: impl Iterator<Item = Visit>,
        scene: &Scene<'_>,
    ) {
        let part = scene.part;
        let (mut time, mut instructions) = (part.begin, part.instructions);
        let looks_up_only = self.looks_up_only(part);
        for visit in visits {
            instructions = instructions.saturating_add(visit.instructions.into());
            if !part.references(&visit) {
                continue;
            }
            if !(looks_up_only && self.pass_settled(&visit, time, scene)) {
                self.instructions = instructions;
                let step = VisitStep::of(&visit, part.shift, time);
                self.begin_access(&visit);
                if self.visit(&step, VisitStep::uses(&visit), scene).is_none() {
                    return;
                }
                self.access(&visit, scene);
            }
            time = time.saturating_add(visit.accesses());
        }
    }

    /// Returns true if a reference that changes no memory is a lookup of one machine, and nothing
    /// else.
    fn looks_up_only(&self, part: &BatchPart<'_>) -> bool {
        self.observers.is_empty()
            && !self.first_waits
            && !self.parts_loads
            && !self.counts_uses
            && self.charged.is_none()
            && self.recorder.is_none()
            && self.curves.is_none()
            && part.kernel.is_none()
            && self.mmu.looks_up_once()
    }

    /// Replays a visit whose references change no memory. Returns false if they may, or a daemon
    /// may be due: then nothing is done. [`Self::looks_up_only`] holds.
    #[inline]
    fn pass_settled(&mut self, visit: &Visit, time: u64, scene: &Scene<'_>) -> bool {
        if self.system.next_time() <= time.saturating_add(visit.accesses()) {
            return false;
        }
        let (page, offset) = place_of(visit, scene.part.shift);
        let at = Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        };
        let stores = visit.stores > 0 || visit.lead == Lead::Store;
        let found = self.system.look_at_address(at, stores, page, offset);
        let (Some((level, address)), Some(lookups)) = (found, VisitLookups::of(visit)) else {
            return false;
        };
        if let Some(cached) = &mut self.mmu.cached {
            cached.begin_visit(visit);
        }
        self.moment += lookups.count;
        self.look_up_settled(&PageLookup::new(page, level, lookups.first), scene);
        if lookups.count > 1 && !self.mmu.tlb.forgets_kinds() {
            for kind in lookups.others.into_iter().flatten() {
                self.look_up_settled(&PageLookup::new(page, level, kind), scene);
            }
        }
        self.mmu.note_scattering();
        if let Some(cached) = &mut self.mmu.cached {
            cached.visit(visit, Some(address));
        }
        true
    }

    /// Looks a page up whose references change no memory.
    #[inline]
    fn look_up_settled(&mut self, lookup: &PageLookup, scene: &Scene<'_>) {
        if !self.mmu.looks_up(lookup) {
            return;
        }
        let request = self.mmu.request(lookup);
        if self.mmu.find(&request, lookup.level) == Lookup::Miss {
            let memory = MappedMemory::new(&self.system, Some(&scene.stream.spaces));
            self.mmu.load_missing(&request, lookup, &memory);
        }
    }

    fn has_caches(&self) -> bool {
        let mut mmus = std::iter::once(&self.mmu).chain(&self.observers);
        mmus.any(|mmu| mmu.cached.is_some())
    }

    /// Begins a visit on machines with caches.
    #[inline]
    pub(super) fn begin_access(&mut self, visit: &Visit) {
        let mmus = std::iter::once(&mut self.mmu).chain(&mut self.observers);
        for cached in mmus.filter_map(|mmu| mmu.cached.as_mut()) {
            cached.begin_visit(visit);
        }
    }

    /// Lets machines with caches access the line of a visit, at the place that memory gave it.
    pub(super) fn access(&mut self, visit: &Visit, scene: &Scene<'_>) {
        if self.recorder.is_some() || !self.has_caches() {
            return;
        }
        // Observers translate now: walks read lines before the visit does.
        self.translate_now(Some(&scene.stream.spaces));
        let (page, offset) = place_of(visit, scene.part.shift);
        let at = Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        };
        // A visit without a reference may lie in a page that is not there.
        let address = self.system.physical(at, page, offset);
        for mmu in std::iter::once(&mut self.mmu).chain(&mut self.observers) {
            mmu.note_scattering();
            if let Some(cached) = &mut mmu.cached {
                cached.visit(visit, address);
            }
        }
    }
}
