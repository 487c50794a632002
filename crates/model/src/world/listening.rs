//! Steps for listeners: the references of a visit, each with its lookup.

use super::{Scene, World};
use crate::listener::{StepRequest, StepsWanted};
use crate::steps::Step;
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

    /// Replays one visit with the references of [`World::visit`], and hands its steps to the
    /// listeners; `None` where memory is used up.
    #[cold]
    #[inline(never)]
    pub(super) fn visit_listening(
        &mut self,
        visit: &Visit,
        step: &Step,
        wanted: StepsWanted,
        scene: &Scene<'_>,
    ) -> Option<()> {
        if step.fetches {
            self.visit(step, scene)?;
            self.show(step, None);
            return Some(());
        }
        if wanted == StepsWanted::EachVisit {
            return self.visit_showing(step, Some(step), scene);
        }
        for (access, may_change) in step.unfolded(visit) {
            if may_change {
                self.visit_showing(&access, Some(&access), scene)?;
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
