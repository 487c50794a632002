//! Steps for listeners: the references of a visit, each with its lookup.

use super::{Scene, World};
use crate::listener::{StepRequest, StepsWanted};
use crate::origin::OriginCursor;
use crate::steps::{Step, VisitStep};
use broadleaf_tlb::Lookup;
use broadleaf_trace::Visit;
use broadleaf_units::PageNumber;

impl World<'_> {
    /// Gives each machine its listener.
    pub(crate) fn listening(mut self, request: &StepRequest) -> Self {
        let policy = self.policy.name();
        self.steps_wanted = Some(request.wanted);
        for mmu in std::iter::once(&mut self.mmu).chain(&mut self.observers) {
            mmu.listener = (request.make)(&policy, &mmu.machine.name);
        }
        self
    }

    /// The trace ended.
    pub(crate) fn end_listening(&mut self) {
        let machines = std::iter::once(&mut self.mmu).chain(&mut self.observers);
        for listener in machines.filter_map(|mmu| mmu.listener.as_mut()) {
            listener.end();
        }
    }

    /// Replays every visit, and hands the wanted steps to the listeners.
    pub(super) fn replay_listening(&mut self, wanted: StepsWanted, scene: &Scene<'_>) {
        let part = scene.part;
        let mut origins = OriginCursor::new(part.origins, part.shift);
        let (mut time, mut instructions) = (part.begin, part.instructions);
        for number in 0..part.visits.len() {
            let visit = part.visits.visit(number);
            let origin = origins.next(number, &visit);
            instructions = instructions.saturating_add(visit.instructions.into());
            if part.references(&visit) {
                self.instructions = instructions;
                let step = Step {
                    visit: VisitStep::of(&visit, part.shift, time),
                    origin,
                };
                if self.visit_listening(&visit, &step, wanted, scene).is_none() {
                    return;
                }
                time = time.saturating_add(visit.accesses());
            }
        }
    }

    /// Replays one visit with the references of [`World::visit`], and hands its steps to the
    /// listeners; `None` where memory is used up.
    fn visit_listening(
        &mut self,
        visit: &Visit,
        step: &Step,
        wanted: StepsWanted,
        scene: &Scene<'_>,
    ) -> Option<()> {
        if step.visit.fetches {
            self.visit(&step.visit, scene)?;
            self.show(step, None);
            return Some(());
        }
        if wanted == StepsWanted::EachVisit {
            return self.visit_showing::<true>(&step.visit, Some(step), scene);
        }
        let origin = step.origin;
        for (access, may_change) in step.visit.unfolded(visit) {
            let access = Step {
                visit: access,
                origin,
            };
            if may_change {
                self.visit_showing::<true>(&access.visit, Some(&access), scene)?;
            } else {
                self.show(&access, Some(Lookup::First));
            }
        }
        Some(())
    }

    /// Translates a page of that level on all machines at once, and shows the step to their
    /// listeners.
    pub(super) fn translate_showing(&mut self, page: PageNumber, level: usize, step: &Step) {
        for mmu in std::iter::once(&mut self.mmu).chain(&mut self.observers) {
            let lookup = mmu.translate(page, level);
            mmu.show(step, Some(lookup));
        }
    }

    /// Shows a step to the listeners of all machines.
    fn show(&mut self, step: &Step, lookup: Option<Lookup>) {
        for mmu in std::iter::once(&mut self.mmu).chain(&mut self.observers) {
            mmu.show(step, lookup);
        }
    }
}
