//! A cell: one policy with its memory.

use crate::batch::Incident;
use crate::deadlines::Deadlines;
use broadleaf_memory::{AddressSpaces, BlockId, Change, Facts, Histories, Memory, Shootdown};
use broadleaf_model::foresight::Promoted;
use broadleaf_policy::{Coverage, Point, Policy, Refusal, Refusals, Verdict, View};

/// One policy with its memory.
pub(crate) struct Cell<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) memory: Memory,
    refusals: Refusals,
    pub(crate) deadlines: Deadlines,
    /// The promotions that the policy may foresee; `None` if the policy does not ask.
    foreseen: Option<&'a Promoted>,
    /// The superpages that were promoted at least once, if they are recorded.
    promoted: Option<Promoted>,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(policy: &'a dyn Policy, foreseen: Option<&'a Promoted>) -> Self {
        Self {
            policy,
            memory: Memory::new(),
            refusals: Refusals::default(),
            deadlines: Deadlines::new(policy.needs().asked_at_age),
            foreseen,
            promoted: None,
        }
    }

    /// Records promotions from now on.
    pub(crate) fn remembering(mut self) -> Self {
        self.promoted = Some(Promoted::new());
        self
    }

    /// The recorded promotions; `None` if promotions were not recorded.
    pub(crate) fn into_promoted(self) -> Option<Promoted> {
        self.promoted
    }

    /// Refusals that were counted, by reason.
    pub(crate) const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Applies an event to the memory.
    pub(crate) fn apply(&mut self, change: &Change, histories: &Histories, now: u64) -> Shootdown {
        let shootdown = self.memory.apply(change, histories);
        if let Change::Relocate { moves, .. } = change {
            for moved in moves.iter().filter(|moved| moved.is_whole_block()) {
                if let Some(reserved_at) = self.memory.reserved_at(moved.target) {
                    self.deadlines.add(moved.target, reserved_at, now);
                }
            }
        }
        shootdown
    }

    /// Makes all decisions that come before the translation of a page at time `now`. `view` holds
    /// the facts that are the same under every policy. `reservable` is true if a fault may make a
    /// reservation.
    pub(crate) fn reference(
        &mut self,
        incident: &Incident,
        now: u64,
        store: bool,
        (view, reservable): (&mut View, bool),
        spaces: &AddressSpaces,
    ) -> Shootdown {
        let (block, offset) = (incident.block, usize::from(incident.offset));
        if !self.memory.is_resident(block, offset, incident.seen.used) {
            if self.memory.fault(block, offset, now, reservable) {
                self.deadlines.add(block, now, now);
            }
            // A store that faults dirties the page before the policy is asked, once (spec model 9).
            if store {
                self.memory.dirty_page(block);
            }
            return self.ask(Point::Fault, block, now, view, spaces);
        }
        let mut shootdown = Shootdown::Nothing;
        if !store || incident.seen.dirty {
            return shootdown;
        }
        if self.memory.is_promoted(block) && self.memory.dirty(block) == 0 {
            shootdown = self.ask(Point::StoreToCleanSuperpage, block, now, view, spaces);
        }
        self.memory.dirty_page(block);
        if !self.memory.is_promoted(block) {
            let _none = self.ask(Point::FirstStore, block, now, view, spaces);
        }
        shootdown
    }

    /// Asks about a reservation that falls due before the access at that time. Returns the
    /// reservation's block; `None` if no more falls due.
    pub(crate) fn ask_due(&mut self, time: u64, spaces: &AddressSpaces) -> Option<BlockId> {
        let deadline = self.deadlines.take(time)?;
        let block = deadline.block;
        if self.memory.reserved_at(block) == Some(deadline.reserved_at)
            && !self.memory.is_promoted(block)
        {
            let mut view = view_of(&spaces.facts(block, 0));
            let _none = self.ask(Point::Due, block, deadline.due, &mut view, spaces);
        }
        Some(block)
    }

    /// Asks the policy, and carries out the verdict.
    ///
    /// A superpage is broken at [`Point::StoreToCleanSuperpage`] alone, since the policy is asked
    /// about superpages at no other point. The sieve relies on this.
    fn ask(
        &mut self,
        point: Point,
        block: BlockId,
        now: u64,
        view: &mut View,
        spaces: &AddressSpaces,
    ) -> Shootdown {
        let facts = self.memory.policy_facts(block);
        view.populated = facts.populated;
        view.dirty = facts.dirty;
        let age = |reserved_at| now.saturating_sub(reserved_at);
        view.reservation_age = facts.reserved_at.map(age);
        view.promoted = facts.is_promoted;
        view.foreseen = match self.foreseen {
            Some(foreseen) => foreseen.contains(&spaces.place(block)),
            None => false,
        };
        match self.policy.decide(point, view) {
            Verdict::Pass => {}
            Verdict::Stay(reason) => self.refuse(reason),
            Verdict::Promote => match view.coverage {
                Coverage::Covered => {
                    if let Some(promoted) = &mut self.promoted {
                        promoted.insert(spaces.place(block));
                    }
                    return self.memory.promote(block, view.backing);
                }
                Coverage::NotCovered => self.refuse(Refusal::NotCovered),
                Coverage::MixedProtection => self.refuse(Refusal::MixedProtection),
            },
            Verdict::Demote => return self.memory.demote(block, spaces.place(block)),
        }
        Shootdown::Nothing
    }

    fn refuse(&mut self, reason: Refusal) {
        self.refusals.count(reason);
    }
}

/// The facts of a block that every policy sees.
pub(crate) const fn view_of(facts: &Facts) -> View {
    View {
        place: facts.place,
        coverage: facts.coverage,
        backing: facts.backing,
        writable: facts.writable,
        advised_against: facts.advised_against,
        ..View::BLANK
    }
}
