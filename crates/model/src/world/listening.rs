//! Steps for listeners: visits or single accesses, with their lookups.

use super::{Scene, World};
use crate::listener::{HeardDecision, MemoryLook, StepListener, StepRequest, StepsWanted};
use crate::origin::{OriginCursor, StepOrigin};
use crate::steps::{Step, VisitStep};
use broadleaf_memory::AddressSpaces;
use broadleaf_tlb::ReferenceKind;
use broadleaf_trace::Visit;

impl World<'_> {
    /// Gives the machine of that number its listener. A world without a listener makes no steps.
    pub(crate) fn listen(&mut self, machine: usize, request: &StepRequest) {
        let policy = self.policy.name();
        let mmu = self.mmu_mut(machine);
        mmu.listener = (request.make)(&policy, &mmu.machine.name);
        let Some(wants) = mmu.listener.as_ref().map(|one| one.wants_decisions()) else {
            return;
        };
        self.steps_wanted = Some(request.wanted);
        if wants {
            self.system.keep_decisions();
        }
        self.next_look = self.wanted_look();
    }

    /// The first time at which a listener wants to look at memory; `u64::MAX` if none wants to.
    pub(super) fn wanted_look(&self) -> u64 {
        let mmus = std::iter::once(&self.mmu).chain(&self.observers);
        let listeners = mmus.filter_map(|mmu| mmu.listener.as_ref());
        let times = listeners.filter_map(|listener| listener.looks_at());
        times.min().unwrap_or(u64::MAX)
    }

    /// All listeners.
    fn listeners(&mut self) -> impl Iterator<Item = &mut Box<dyn StepListener>> {
        self.mmus_mut().filter_map(|mmu| mmu.listener.as_mut())
    }

    /// Lets the listeners look at memory, if the time of a look has come.
    pub(super) fn look_if_due(&mut self, time: u64, spaces: &AddressSpaces) {
        if time >= self.next_look {
            self.look(time, spaces);
        }
    }

    /// Lets the listeners hear the decisions so far, and look at memory.
    fn look(&mut self, time: u64, spaces: &AddressSpaces) {
        self.tell_decisions();
        let Self {
            mmu,
            observers,
            system,
            ..
        } = self;
        let look = MemoryLook::new(time, spaces, system);
        for mmu in std::iter::once(mmu).chain(observers) {
            if let Some(listener) = &mut mmu.listener {
                listener.look(&look);
            }
        }
        self.next_look = self.wanted_look();
    }

    /// Passes to the listeners the decisions that they have not heard.
    fn tell_decisions(&mut self) {
        if !self.system.has_decisions() {
            return;
        }
        for decision in self.system.take_decisions() {
            let heard = HeardDecision::of(&decision, &self.system);
            self.listeners().for_each(|one| one.decision(&heard));
        }
    }

    /// Takes away the listener of the machine of that number, after its last look. The trace ended
    /// after `now` accesses, unless memory was used up before.
    pub(crate) fn take_listener(
        &mut self,
        machine: usize,
        now: u64,
        spaces: &AddressSpaces,
    ) -> Option<Box<dyn StepListener>> {
        if self.next_look < u64::MAX || self.system.has_decisions() {
            self.look(self.ended.unwrap_or(now), spaces);
        }
        self.mmu_mut(machine).listener.take()
    }

    /// Replays every visit, and hands the wanted steps to the listeners.
    pub(super) fn replay_listening(&mut self, wanted: StepsWanted, scene: &Scene<'_>) {
        let part = scene.part;
        let mut origins = OriginCursor::new(part.origins, part.shift);
        let (mut time, mut instructions) = (part.begin, part.instructions);
        self.pass_events();
        for number in 0..part.visits.len() {
            let visit = part.visits.visit(number);
            let origin = origins.next(number, &visit);
            instructions = instructions.saturating_add(visit.instructions.into());
            self.look_if_due(time, &scene.stream.spaces);
            if part.references(&visit) {
                self.instructions = instructions;
                let step = Step {
                    visit: VisitStep {
                        // Listeners do not ask for instructions.
                        continues: false,
                        ..VisitStep::of(&visit, part.shift, time)
                    },
                    origin,
                };
                self.begin_access(&visit);
                if self.visit_listening(&visit, &step, wanted, scene).is_none() {
                    return;
                }
                self.access(&visit, scene);
                time = time.saturating_add(visit.accesses());
            }
        }
    }

    /// Replays one visit, and hands its steps to the listeners; `None` where memory is used up.
    fn visit_listening(
        &mut self,
        visit: &Visit,
        step: &Step,
        wanted: StepsWanted,
        scene: &Scene<'_>,
    ) -> Option<()> {
        if step.visit.fetches || wanted != StepsWanted::EachAccess {
            return self.visit_showing(step, VisitStep::uses(visit), scene);
        }
        let origin = step.origin;
        let mut has_stored = false;
        for (visit, may_change) in step.visit.unfolded(visit) {
            let access = Step { visit, origin };
            let is_first_after = has_stored && !visit.stores;
            has_stored = visit.stores;
            if may_change {
                self.visit_showing(&access, 1, scene)?;
                continue;
            }
            if is_first_after {
                self.load_after_stores(visit.page, 1, scene);
            } else {
                self.repeat(ReferenceKind::of_data(visit.stores), 1);
            }
            self.show(&access, scene);
        }
        Some(())
    }

    /// Replays a visit that a filter kept, and shows the step to the listeners, if there are any;
    /// `None` where memory is used up.
    pub(super) fn visit_kept(
        &mut self,
        step: &VisitStep,
        uses: u64,
        scene: &Scene<'_>,
    ) -> Option<()> {
        if self.steps_wanted.is_none() {
            return self.visit(step, uses, scene);
        }
        self.look_if_due(step.first_time(), &scene.stream.spaces);
        let origin = StepOrigin {
            space: scene.part.space,
            ..StepOrigin::default()
        };
        let visit = *step;
        self.visit_showing(&Step { visit, origin }, uses, scene)
    }

    /// Notifies the listeners that events may have passed.
    pub(super) fn pass_events(&mut self) {
        self.listeners().for_each(|one| one.events_passed());
    }

    /// Replays the references of one step, and shows the step to the listeners; `None` where memory
    /// is used up. A step is not shown if it has no reference, or if its first finds no memory.
    fn visit_showing(&mut self, step: &Step, uses: u64, scene: &Scene<'_>) -> Option<()> {
        let before = self.moment;
        let replayed = self.visit(&step.visit, uses, scene);
        // The reference that finds no memory is the last, and no TLB is looked up.
        let references = self.moment - before;
        if references > u64::from(replayed.is_none()) {
            self.show(step, scene);
        }
        replayed
    }

    /// Shows a step to the listeners of all machines, after the lookups of all machines.
    fn show(&mut self, step: &Step, scene: &Scene<'_>) {
        let spaces = &scene.stream.spaces;
        self.translate_now(Some(spaces));
        self.tell_decisions();
        self.mmus_mut().for_each(|mmu| mmu.show(step, spaces));
    }
}
