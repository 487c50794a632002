//! Machines with caches: each visit accesses its line after the lookups.

use super::{Scene, World};
use crate::steps::VisitStep;
use broadleaf_memory::GEOMETRY;
use broadleaf_memory::system::Place;
use broadleaf_trace::Visit;

impl World<'_> {
    /// Replays every visit. Machines with caches then access the line.
    pub(super) fn replay_caching(
        &mut self,
        visits: impl Iterator<Item = Visit>,
        scene: &Scene<'_>,
    ) {
        let part = scene.part;
        let (mut time, mut instructions) = (part.begin, part.instructions);
        for visit in visits {
            instructions = instructions.saturating_add(visit.instructions.into());
            if part.references(&visit) {
                self.instructions = instructions;
                let step = VisitStep::of(&visit, part.shift, time);
                self.begin_access(&visit);
                if self.visit(&step, VisitStep::uses(&visit), scene).is_none() {
                    return;
                }
                self.access(&visit, scene);
                time = time.saturating_add(visit.accesses());
            }
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
        let shift = scene.part.shift;
        let page = broadleaf_units::PageNumber(visit.unit >> shift);
        let at = Place {
            space: self.mmu.running.0,
            page: self.system.base_page(page),
        };
        let unit = visit.unit & ((1 << shift) - 1);
        let offset = unit << (u32::from(GEOMETRY.base().shift()) - shift);
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
