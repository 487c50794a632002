//! References at which policies decide.

use super::Team;
use crate::batch::{Batch, Incident};
use crate::bits::numbers;
use crate::cell::view_of;
use crate::members::Members;
use crate::prepare::Touch;
use broadleaf_memory::{AddressSpaces, Facts, Shootdown};

/// The decisions of all policies about a reference.
#[derive(Clone, Copy)]
struct Decided {
    /// The policies that broke the superpage. Its entry must leave their TLBs.
    shot_down: Members,
    /// The policies under which the block is a superpage now.
    huge: Members,
}

impl Team<'_> {
    /// Replays a visit that no policy decides about: the block is a superpage under all policies,
    /// and all know that the block is dirty if the visit stores. Returns false, and replays
    /// nothing, for other visits.
    #[inline]
    pub(super) fn passes(&mut self, incident: &Incident) -> bool {
        let stores = incident.manner.any_store();
        let loads = u64::from(incident.loads_before_store) * u64::from(stores);
        let owed = &mut self.owed[incident.block.index()];
        let passes = (!stores | (*owed > 0))
            & (self.due > incident.time.saturating_add(loads))
            & self.curves.is_empty()
            & (self.superpages.of(incident.block) == self.everyone);
        if passes {
            *owed += u16::from(stores & !incident.seen.dirty);
        }
        passes
    }

    /// Replays a visit at which a policy may decide. Only a first reference, a first store and
    /// reservations that fall due matter. All other accesses hit the entry of the first lookup,
    /// unless a shootdown removed it. Lookups from `from` on are still to be made.
    pub(super) fn visit(
        &mut self,
        batch: &Batch,
        incident: &Incident,
        from: &mut usize,
        spaces: &AddressSpaces,
    ) {
        let mut incident = *incident;
        let (manner, time) = (incident.manner, incident.time);
        let facts = spaces.facts(incident.block, usize::from(incident.offset));
        let loads = u64::from(incident.loads_before_store);
        let mut first = true;
        let mut reference = |time, store| {
            self.reference(
                batch,
                &mut incident,
                (time, store),
                (&mut *from, &mut first),
                &facts,
                spaces,
            );
        };
        if manner.leads() {
            // The access that the visit leads with was the last one before.
            reference(time.saturating_sub(1), manner.leads_with_store());
        }
        if !manner.accesses() {
            return;
        }
        let store_at_once = manner.stores() && loads == 0;
        reference(time, store_at_once);
        if manner.stores() && loads > 0 {
            reference(time.saturating_add(loads), true);
        }
    }

    /// Replays one reference of a visit: every policy decides. The visit is looked up at its first
    /// reference, and again if its entry was removed. Lookups from `from` on are still to be made.
    /// They wait as long as no policy changes their result.
    fn reference(
        &mut self,
        batch: &Batch,
        incident: &mut Incident,
        (time, store): (u64, bool),
        (from, first): (&mut usize, &mut bool),
        facts: &Facts,
        spaces: &AddressSpaces,
    ) {
        let (at, block) = (incident.at, incident.block);
        let to = at + usize::from(!*first);
        if self.due <= time {
            if *first && self.curves.is_empty() {
                self.replay_settled(batch, *from, to, spaces);
                *from = to;
            } else {
                self.look_up(batch, from, to);
            }
            self.ask_due(time, spaces);
        }
        let Decided { shot_down, huge } = self.decide(incident, time, store, facts, spaces);
        if shot_down != 0 || huge != self.superpages.of(block) {
            self.look_up(batch, from, to);
            self.note_all(block, huge);
            let page = batch.pages[at];
            if let Some(script) = self.script.as_mut().filter(|_| shot_down != 0) {
                script.shoot_down_superpage(shot_down, page, block);
                if !*first {
                    script.look_up_again(shot_down, at);
                }
            }
            for translation in &mut self.translations {
                if shot_down != 0 {
                    translation.shoot_down_superpage(shot_down, page, block);
                }
                if shot_down != 0 && !*first {
                    translation.look_up_for(shot_down, batch, at..at + 1, &self.superpages);
                }
            }
        }
        *first = false;
        if self.due <= time {
            // No lookup waits past the time at which a reservation falls due.
            self.look_up(batch, from, at + 1);
        }
        // The decisions may have changed the size of the page.
        if !self.curves.is_empty() {
            self.last = Some((batch.space, batch.pages[at], block));
            self.look_last_up();
        }
    }

    /// Lets each policy decide about a reference. The caller [notes](Self::note_all) the decisions.
    fn decide(
        &mut self,
        incident: &mut Incident,
        time: u64,
        store: bool,
        facts: &Facts,
        spaces: &AddressSpaces,
    ) -> Decided {
        let block = incident.block;
        let mut huge = self.superpages.of(block);
        let mut shot_down = 0;
        if incident.seen.is_settled(store) {
            return Decided { shot_down, huge };
        }
        // All pages of a superpage are resident, so a load decides nothing about it.
        let mut asked = self.everyone & !huge;
        let owed = &mut self.owed[block.index()];
        if store && huge != 0 {
            if *owed > 0 {
                *owed += 1;
            } else {
                *owed = 1;
                asked = self.everyone;
            }
        }
        let mut view = view_of(facts);
        for member in numbers(asked) {
            let cell = &mut self.cells[member];
            let known = (&mut view, facts.reservable);
            let shootdown = cell.reference(incident, time, store, known, spaces);
            let is = Members::from(cell.memory.is_promoted(block));
            huge = huge & !(1 << member) | is << member;
            shot_down |= Members::from(shootdown != Shootdown::Nothing) << member;
            if self.timed >> member & 1 != 0 {
                self.due = self.due.min(cell.deadlines.next());
            }
            if let Some(curve) = self.curves.get_mut(member) {
                curve.shoot_down(&shootdown);
            }
        }
        incident.seen.used = true;
        incident.seen.dirty |= store;
        Decided { shot_down, huge }
    }

    /// Replays pages that the kernel touches. Each policy decides as at a reference, and no page is
    /// looked up.
    pub(crate) fn populate(&mut self, touches: &[Touch], spaces: &AddressSpaces) {
        self.make_room(spaces.blocks());
        for touch in touches {
            let mut incident = touch.incident;
            let time = incident.time;
            let facts = spaces.facts(incident.block, usize::from(incident.offset));
            let Decided { shot_down, huge } =
                self.decide(&mut incident, time, touch.store, &facts, spaces);
            self.note_all(incident.block, huge);
            if shot_down != 0 {
                if let Some(script) = &mut self.script {
                    script.shoot_down_superpage(shot_down, touch.page, incident.block);
                }
                for translation in &mut self.translations {
                    translation.shoot_down_superpage(shot_down, touch.page, incident.block);
                }
            }
        }
    }
}
