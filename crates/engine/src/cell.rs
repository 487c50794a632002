//! A cell: one policy with its memory, and a TLB for each machine.

use crate::batch::{Batch, PageVisit};
use crate::deadlines::Deadlines;
use crate::stream::Stream;
use crate::tags::Tags;
use broadleaf_memory::{AddressSpaces, BlockId, Change, Memory, Shootdown};
use broadleaf_policy::{Coverage, Point, Policy, Refusal, Verdict, View};
use broadleaf_translation::{Lookup, Machine, SpaceTag, Tlb};
use broadleaf_units::{BlockNumber, PageSize, SpaceId};
use std::collections::BTreeSet;

/// Blocks that a policy promotes at least once in a trace.
pub(crate) type Promoted = BTreeSet<(SpaceId, BlockNumber)>;

/// One machine's TLB, and what it counted.
pub(crate) struct Translation<'a> {
    pub(crate) machine: &'a Machine,
    tlb: Tlb,
    /// Lookups that missed the first level.
    pub(crate) first_missed: u64,
    /// Walks that found a 4 KiB page.
    pub(crate) base_walks: u64,
    /// Walks that found a 2 MiB page.
    pub(crate) super_walks: u64,
}

impl<'a> Translation<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self {
            machine,
            tlb: Tlb::new(&machine.design),
            first_missed: 0,
            base_walks: 0,
            super_walks: 0,
        }
    }

    /// Looks a page up, and takes in what the page table holds where that misses.
    #[inline]
    fn look_up(&mut self, tag: SpaceTag, visit: &PageVisit, memory: &Memory) {
        match self.tlb.lookup(tag, visit.page) {
            Lookup::First => {}
            Lookup::Second => self.first_missed += 1,
            Lookup::Miss => {
                self.first_missed += 1;
                let size = if memory.block(visit.block).is_promoted() {
                    self.super_walks += 1;
                    PageSize::SIZE_2M
                } else {
                    self.base_walks += 1;
                    PageSize::SIZE_4K
                };
                self.tlb.fill(tag, visit.page, size);
            }
        }
    }

    fn shoot_down(&mut self, shootdown: Shootdown, tag: SpaceTag) {
        match shootdown {
            Shootdown::Nothing => {}
            Shootdown::Superpage { first, .. } => {
                self.tlb.invalidate(tag, first, PageSize::SIZE_2M)
            }
            Shootdown::Range { pages, .. } => {
                self.tlb.invalidate_range(tag, pages.first(), pages.len())
            }
            Shootdown::Space(_) => self.tlb.invalidate_space(tag),
        }
    }
}

/// One policy with its memory, and a TLB for each machine.
pub(crate) struct Cell<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) memory: Memory,
    pub(crate) translations: Vec<Translation<'a>>,
    /// By the number of the reason.
    refusals: [u64; Refusal::ALL.len()],
    deadlines: Deadlines,
    /// Entries were shot down since this was last made false.
    disturbed: bool,
    /// What the policy may foresee; `None` where it does not ask.
    foreseen: Option<&'a Promoted>,
    /// What was promoted at least once, where somebody wants to know.
    promoted: Option<Promoted>,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(
        policy: &'a dyn Policy,
        machines: &'a [Machine],
        foreseen: Option<&'a Promoted>,
    ) -> Self {
        Self {
            policy,
            memory: Memory::new(),
            translations: machines.iter().map(Translation::new).collect(),
            refusals: [0; Refusal::ALL.len()],
            deadlines: Deadlines::new(policy.needs().asked_at_age),
            disturbed: false,
            foreseen,
            promoted: None,
        }
    }

    /// Remembers from now on what is promoted.
    pub(crate) fn remembering(mut self) -> Self {
        self.promoted = Some(Promoted::new());
        self
    }

    /// What was promoted since it was to be remembered.
    pub(crate) fn into_promoted(self) -> Promoted {
        self.promoted.unwrap_or_default()
    }

    /// Refusals that were counted, by reason.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        let counts = Refusal::ALL
            .iter()
            .map(|reason| (*reason, self.refusals[*reason as usize]));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Does what an event asks.
    pub(crate) fn apply(&mut self, change: &Change, stream: &Stream) {
        self.memory.make_room(stream.spaces.blocks());
        let shootdown = self.memory.apply(change);
        self.shoot_down(shootdown, &stream.tags);
        if let Change::Relocate(_, moves) = change {
            for moved in moves.iter().filter(|moved| moved.is_whole_block()) {
                if let Some(reserved_at) = self.memory.block(moved.target).reserved_at() {
                    self.deadlines.add(moved.target, reserved_at, stream.now());
                }
            }
        }
    }

    fn shoot_down(&mut self, shootdown: Shootdown, tags: &Tags) {
        let space = match shootdown {
            Shootdown::Nothing => return,
            Shootdown::Superpage { space, .. }
            | Shootdown::Range { space, .. }
            | Shootdown::Space(space) => space,
        };
        self.disturbed = true;
        // A space without a tag was never looked up.
        if let Some(tag) = tags.get(space) {
            self.translations
                .iter_mut()
                .for_each(|translation| translation.shoot_down(shootdown, tag));
        }
    }

    /// Replays a batch. Says whether entries were shot down, after which visits that the batch leaves out may change something: those of the batch
    /// have been replayed.
    pub(crate) fn replay(&mut self, batch: &Batch, stream: &Stream) -> bool {
        self.memory.make_room(stream.spaces.blocks());
        self.disturbed = false;
        let visits = batch.visits.as_slice();
        let kept = batch.kept.iter().map(|at| *at as usize);
        if let Some(at) = self.replay_some(visits, kept, batch.tag, stream, true) {
            let rest = at + 1..visits.len();
            self.replay_some(visits, rest, batch.tag, stream, false);
        }
        if let Some(last) = batch.end.checked_sub(1) {
            self.ask_due(last, stream);
        }
        self.disturbed
    }

    /// Replays these visits, or up to one that shoots entries down, if that is to stop it: the answer is which.
    fn replay_some(
        &mut self,
        visits: &[PageVisit],
        mut which: impl Iterator<Item = usize> + Clone,
        tag: SpaceTag,
        stream: &Stream,
        stops: bool,
    ) -> Option<usize> {
        loop {
            // Most visits change no memory. A run of them is looked up by one machine after another, in a loop that does
            // nothing else.
            let run = which.clone();
            let mut quiet = 0;
            let mut next = None;
            for at in which.by_ref() {
                if !self.is_quiet(&visits[at]) {
                    next = Some(at);
                    break;
                }
                quiet += 1;
            }
            for translation in &mut self.translations {
                for at in run.clone().take(quiet) {
                    translation.look_up(tag, &visits[at], &self.memory);
                }
            }
            let at = next?;
            self.visit(&visits[at], tag, stream);
            if self.disturbed && stops {
                return Some(at);
            }
        }
    }

    /// Whether nothing is decided during a visit.
    #[inline]
    fn is_quiet(&self, visit: &PageVisit) -> bool {
        // A deadline concerns the access that comes at its time, so one at the time after the last is for later.
        self.memory
            .is_settled(visit.block, visit.offset.into(), visit.any_store())
            && visit.time + visit.accesses <= self.deadlines.next()
    }

    fn look_up(&mut self, visit: &PageVisit, tag: SpaceTag) {
        for translation in &mut self.translations {
            translation.look_up(tag, visit, &self.memory);
        }
    }

    /// A visit during which something may be decided. Only a first reference, a first store, and deadlines count; all
    /// other accesses hit what the first lookup brought, unless a shootdown took that away.
    fn visit(&mut self, visit: &PageVisit, tag: SpaceTag, stream: &Stream) {
        let mut translated = false;
        let mut reference = |cell: &mut Self, time: u64, store: bool| {
            let shot_down = cell.reference(visit, time, store, stream);
            if !translated || shot_down {
                cell.look_up(visit, tag);
                translated = true;
            }
        };
        if visit.leads {
            // Its access was the last one before; the visit that it was counted in may have been left out.
            let time = visit.time.saturating_sub(1);
            self.ask_due(time, stream);
            reference(self, time, visit.leads_with_store);
        }
        if visit.accesses == 0 {
            return;
        }
        self.ask_due(visit.time, stream);
        reference(
            self,
            visit.time,
            visit.stores && visit.loads_before_store == 0,
        );
        if visit.stores && visit.loads_before_store > 0 {
            let time = visit.time + visit.loads_before_store;
            self.ask_due(time, stream);
            reference(self, time, true);
        }
        self.ask_due(visit.time + visit.accesses - 1, stream);
    }

    /// What has to be decided before a page is translated. Says whether TLB entries of its block were removed.
    fn reference(&mut self, visit: &PageVisit, now: u64, store: bool, stream: &Stream) -> bool {
        let (block, offset) = (visit.block, usize::from(visit.offset));
        if !self.memory.block(block).is_resident(offset) {
            let reservable = stream.spaces.facts(block, offset).reservable;
            if self.memory.fault(block, offset, now, reservable) {
                self.deadlines.add(block, now, now);
            }
            self.ask(Point::Fault, block, offset, now, stream);
        } else {
            self.memory.use_filled(block, offset);
        }
        if !store || self.memory.block(block).is_dirty(offset) {
            return false;
        }
        let state = self.memory.block(block);
        let shot_down = state.is_promoted()
            && state.dirty() == 0
            && self.ask(Point::StoreToCleanSuperpage, block, offset, now, stream);
        self.memory.store(block, offset);
        if !self.memory.block(block).is_promoted() {
            self.ask(Point::FirstStore, block, offset, now, stream);
        }
        shot_down
    }

    /// Asks about reservations that fall due before the access at that time.
    fn ask_due(&mut self, time: u64, stream: &Stream) {
        while let Some(deadline) = self.deadlines.take(time) {
            let state = self.memory.block(deadline.block);
            if state.reserved_at() == Some(deadline.reserved_at) && !state.is_promoted() {
                self.ask(Point::Due, deadline.block, 0, deadline.due, stream);
            }
        }
    }

    /// Asks the policy, and does what it says. Says whether a superpage was broken.
    fn ask(
        &mut self,
        point: Point,
        block: BlockId,
        offset: usize,
        now: u64,
        stream: &Stream,
    ) -> bool {
        let view = self.view(block, offset, now, &stream.spaces);
        match self.policy.decide(point, &view) {
            Verdict::Pass => {}
            Verdict::Stay(reason) => self.refuse(reason),
            Verdict::Promote => match view.coverage {
                Coverage::Covered => {
                    let shootdown = self.memory.promote(block, view.backing);
                    self.shoot_down(shootdown, &stream.tags);
                    if let Some(promoted) = &mut self.promoted {
                        promoted.insert(stream.spaces.place(block));
                    }
                }
                Coverage::NotCovered => self.refuse(Refusal::NotCovered),
                Coverage::MixedProtection => self.refuse(Refusal::MixedProtection),
            },
            Verdict::Demote => {
                let shootdown = self.memory.demote(block, stream.spaces.place(block));
                self.shoot_down(shootdown, &stream.tags);
                return true;
            }
        }
        false
    }

    fn refuse(&mut self, reason: Refusal) {
        self.refusals[reason as usize] += 1;
    }

    fn view(&self, block: BlockId, offset: usize, now: u64, spaces: &AddressSpaces) -> View {
        let state = self.memory.block(block);
        let facts = spaces.facts(block, offset);
        View {
            populated: state.populated(),
            dirty: state.dirty(),
            pages: broadleaf_memory::PAGES_PER_BLOCK as u32,
            reservation_age: state
                .reserved_at()
                .map(|reserved_at| now.saturating_sub(reserved_at)),
            promoted: state.is_promoted(),
            coverage: facts.coverage,
            backing: facts.backing,
            writable: facts.writable,
            advised_against: facts.advised_against,
            foreseen: self
                .foreseen
                .is_some_and(|foreseen| foreseen.contains(&spaces.place(block))),
        }
    }

    /// Asserts what has to hold between any two items of the trace.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.memory.check();
        self.translations
            .iter()
            .for_each(|translation| translation.tlb.check());
    }
}
