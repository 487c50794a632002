//! Misses that are charged to candidates for superpages, and the promotions that they cause.

use super::World;
use crate::charged::Charged;
use crate::mapped::{MappedMemory, PageLookup, walk_of};
use crate::stream::Stream;
use broadleaf_charges::Candidate;
use broadleaf_memory::system::{Place, System};
use broadleaf_tlb::{Evicted, Lookup, ReferenceKind, TlbRequest};
use broadleaf_units::{Asid, PageNumber, PageSize, SpaceId};
use std::cell::RefCell;

impl World<'_> {
    /// Looks up a page, and charges a miss. The miss is counted first, then the policy is notified,
    /// and then the translation is loaded. A miss of a fetch is not charged. Instructions that
    /// start again and rules that know the future are refused with a policy that is notified of
    /// misses (`plan_error`).
    pub(super) fn translate_charging(&mut self, lookup: &PageLookup, stream: &Stream) {
        let Some(mut charged) = self.charged.take() else {
            return;
        };
        if !self.mmu.looks_up(lookup) {
            self.charged = Some(charged);
            return;
        }
        let PageLookup {
            page, level, kind, ..
        } = *lookup;
        let tag = self.mmu.running.1;
        let request = TlbRequest { tag, page, kind };
        let at = self.system.base_page(page);
        let found = (self.mmu.tlb)
            .access_evicting(&request, |gone| evicted(&mut charged, &self.system, gone));
        self.mmu.kernel.note(page, found);
        // Only hits of data references change charges. A miss of a fetch charges no candidate, but
        // its page counts as loaded. No page of a recorded kernel is charged.
        let is_fetch = kind == ReferenceKind::Fetch;
        let is_charged = !is_fetch && stream.kernel() != Some(self.mmu.running.0);
        if found != Lookup::Miss && is_charged {
            charged.hit(tag, at, level);
        }
        match found {
            Lookup::First => {}
            Lookup::Second => self.mmu.second_hits += 1,
            Lookup::Third => self.mmu.third_hits += 1,
            Lookup::Miss if is_fetch => {
                let (level, _) = self.mmu.walk(&request, level);
                self.mmu.end_walk(&[]);
                self.load_after_walk(&mut charged, &request, level, stream);
            }
            Lookup::Miss => {
                let (level, _) = self.mmu.walk(&request, level);
                self.mmu.end_walk(&[]);
                charged.due.clear();
                if is_charged {
                    let active = charged.is_active(|| self.mmu.walk_cycles(), self.instructions);
                    charged.miss(tag, at, level, active);
                }
                self.system.set_moment(self.moment);
                self.foresee(&mut charged, at, level);
                let changed =
                    !charged.due.is_empty() && self.ask_those_due(&mut charged, at, stream);
                if changed {
                    // The page may be part of a superpage now, and that be loaded already.
                    let place = Place {
                        space: self.mmu.running.0,
                        page: at,
                    };
                    let level = self.system.level_at(place);
                    let gone = |gone| evicted(&mut charged, &self.system, gone);
                    if self.mmu.tlb.retry_evicting(&request, gone) == Lookup::Miss {
                        self.load_after_walk(&mut charged, &request, level, stream);
                    } else {
                        charged.loaded(tag, at, level);
                    }
                } else {
                    self.load_after_walk(&mut charged, &request, level, stream);
                }
            }
        }
        self.charged = Some(charged);
    }

    /// Asks the policy about the candidates that are due: smaller candidates first, then by
    /// address, then by space. Each promotion changes the charges of larger candidates before the
    /// policy is asked about them. The translations of the promoted pages leave the TLB, and the
    /// new translation is loaded. Returns true if any translation changed.
    fn ask_those_due(&mut self, charged: &mut Charged<'_>, missing: u64, stream: &Stream) -> bool {
        let mut due = std::mem::take(&mut charged.due);
        due.sort_by(|one, other| {
            let place = |candidate: &Candidate| (candidate.level, candidate.first);
            let space = |candidate: &Candidate| self.space_of(candidate.tag);
            (place(one).cmp(&place(other))).then_with(|| space(one).cmp(&space(other)))
        });
        due.dedup();
        let mut changed = false;
        for candidate in &due {
            let Some(space) = self.space_of(candidate.tag) else {
                continue;
            };
            let page = if candidate.tag == self.mmu.running.1 {
                missing
            } else {
                candidate.first
            };
            let inside = page & !(self.system.pages_of(candidate.level) - 1) == candidate.first;
            let page = if inside { page } else { candidate.first };
            let view = charged.shown(*candidate, self.system.charged(candidate.level));
            let at = Place { space, page };
            if !(self.system).ask_at_miss(&stream.spaces, at, candidate.level, &view) {
                continue;
            }
            self.at_misses += 1;
            self.shoot_down_charged(charged, &stream.spaces);
            let first = self.system.units_of(candidate.first);
            let units = self.system.size(candidate.level).bytes() >> PageSize::SIZE_4K.shift();
            self.mmu.tlb.invalidate_range(candidate.tag, first, units);
            charged.promoted(*candidate);
            changed = true;
            let request = TlbRequest::load(candidate.tag, first);
            // The system has the translations that it has just made.
            self.load(charged, &request, candidate.level, stream);
        }
        // A promotion may have taken an extent from other pages.
        changed |= self.system.has_shootdowns();
        self.shoot_down_charged(charged, &stream.spaces);
        self.update_tables(&stream.spaces);
        charged.due = due;
        changed
    }

    /// Makes pieces due at a miss of `page`: those around the page that the schedule promotes now,
    /// and those whose span begins.
    fn foresee(&self, charged: &mut Charged<'_>, page: u64, level: usize) {
        let Some(schedule) = charged.schedule else {
            return;
        };
        for level in level + 1..self.mmu.walks.len() {
            let first = page & !(self.system.pages_of(level) - 1);
            let space = self.mmu.running.0;
            if schedule.promotes(Place { space, page: first }, level, self.moment) {
                let tag = self.mmu.running.1;
                charged.due.push(Candidate { tag, first, level });
            }
        }
        for (Place { space, page }, level) in schedule.beginning_at(self.moment) {
            if let Some(tag) = self.mmu.tags.get(space) {
                let first = page;
                charged.due.push(Candidate { tag, first, level });
            }
        }
    }

    /// Loads the translation of the missing page after its walk. The walk ended before the policy
    /// was asked. Now it reads the entries of the pages that are loaded beside the missing one.
    fn load_after_walk(
        &mut self,
        charged: &mut Charged<'_>,
        request: &TlbRequest,
        level: usize,
        stream: &Stream,
    ) {
        let beside = self.load(charged, request, level, stream);
        self.mmu.read_beside(&beside);
    }

    /// Brings the translation of a page of that level into the TLB, where it is not. Returns the
    /// other pages whose entries of the page table the TLB asked for.
    fn load(
        &mut self,
        charged: &mut Charged<'_>,
        request: &TlbRequest,
        level: usize,
        stream: &Stream,
    ) -> Vec<PageNumber> {
        let TlbRequest { tag, page, .. } = *request;
        let space = self.space_of(tag).filter(|_| self.mmu.wants_tables());
        let memory = MappedMemory::new(&self.system, Some(&stream.spaces));
        let sizes = &self.mmu.translated;
        let has_table = self.mmu.walks_a_table();
        let asked = RefCell::new(Vec::new());
        let read = |other| {
            if has_table && other != page {
                asked.borrow_mut().push(other);
            }
            memory.translation((space?, tag), other, sizes)
        };
        let walk = walk_of(request, sizes[level], &read);
        let gone = |gone| evicted(charged, &self.system, gone);
        self.mmu.tlb.load_evicting(&walk, gone);
        charged.loaded(tag, self.system.base_page(page), level);
        asked.into_inner()
    }

    fn space_of(&self, tag: Asid) -> Option<SpaceId> {
        if self.mmu.running.1 == tag {
            return Some(self.mmu.running.0);
        }
        self.mmu.tags.space_of(tag)
    }
}

/// A translation gave way to another.
fn evicted(charged: &mut Charged<'_>, system: &System<'_>, gone: Evicted) {
    if let Some(level) = system.level_of(gone.size) {
        charged.evicted(gone.tag, system.base_page(gone.page), level);
    }
}
