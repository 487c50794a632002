//! One trace, one policy, one visit after another.

use std::collections::BTreeSet;
use std::ops::Range;

use broadleaf_trace::{Advice, Event, Item, Lead, Visit};
use broadleaf_units::SpaceId;

use super::charges::RomerCharges;
use super::memory::RomerMemory;
use super::piece::RomerPiece;
use super::tlb::RomerTlb;
use super::{RomerCounts, RomerMachine, RomerPolicy};
use crate::mappings::pages_in;
use crate::{Recording, Survey};

struct RomerReplay<'a> {
    machine: &'a RomerMachine,
    policy: &'a RomerPolicy,
    /// The page sizes of the policy, in base pages.
    sizes: Vec<u64>,
    memory: RomerMemory,
    tlb: RomerTlb,
    charges: RomerCharges,
    counts: RomerCounts,
    space: SpaceId,
    ended: Vec<SpaceId>,
}

/// Returns the counts of `policy` over `recording` on `machine`.
pub fn replay_romer(
    recording: &Recording,
    policy: &RomerPolicy,
    machine: &RomerMachine,
) -> RomerCounts {
    let mut survey = Survey::default();
    recording.items().for_each(|item| survey.item(&item));
    let sizes = policy.sizes(machine);
    let mut replay = RomerReplay {
        machine,
        policy,
        memory: RomerMemory::new(sizes.clone(), survey.finish()),
        sizes,
        tlb: RomerTlb::default(),
        charges: RomerCharges::default(),
        counts: RomerCounts::default(),
        space: SpaceId(0),
        ended: Vec::new(),
    };
    let shift = 12 - recording.grain.shift();
    for item in recording.items() {
        match item {
            Item::Visits(visits) => {
                visits
                    .iter()
                    .for_each(|visit| replay.visit(visit, visit.unit >> shift));
            }
            Item::Event(event) => replay.event(event),
        }
    }
    replay.finish()
}

impl RomerReplay<'_> {
    /// Replays a visit. Later references of a visit are to a resident page with the most recently
    /// used translation.
    fn visit(&mut self, visit: &Visit, page: u64) {
        self.counts.instructions += u64::from(visit.instructions);
        if !visit.fetch {
            self.release_ended();
            self.counts.accesses += visit.accesses();
            if visit.accesses() > 0 || visit.lead != Lead::None {
                self.reference(page);
            }
        }
    }

    /// Replays one access: the fault, the lookup, the policy's notice of a miss, the load of the
    /// entry.
    fn reference(&mut self, page: u64) {
        self.fault_if_absent(page);
        let found = self.memory.page_around(self.space, page);
        if !self.tlb.entries.contains(&found) {
            self.counts.misses += 1;
            *self.counts.misses_by_size.entry(found.size).or_default() += 1;
            self.counts.walk_cycles += self.cycles_of(found.size);
            self.notice_miss(found);
        }
        let page = self.memory.page_around(self.space, page);
        self.using(page);
    }

    fn fault_if_absent(&mut self, page: u64) {
        if !self.memory.is_resident(self.space, page) {
            self.counts.page_faults += 1;
            self.memory.bring_in(self.space, page);
            self.asked_at_fault(page);
        }
    }

    fn note_use(&mut self, page: RomerPiece) {
        let largest = self.sizes.iter().copied().max().unwrap_or(1);
        self.tlb.note(page, self.machine.entries, largest);
    }

    fn using(&mut self, page: RomerPiece) {
        self.tlb.load(page, self.machine.entries);
        self.note_use(page);
    }

    fn cycles_of(&self, size: u64) -> u64 {
        let mut costs = self.machine.sizes.iter();
        costs
            .find(|&&(pages, _)| pages == size)
            .map_or(0, |&(_, cycles)| cycles)
    }

    /// FIXED and ASAP: makes the largest suitable page. The following lookup loads the new
    /// translation.
    fn asked_at_fault(&mut self, page: u64) {
        for &size in self.sizes.iter().rev().filter(|&&size| size > 1) {
            let piece = RomerPiece::around(self.space, page, size);
            let population = self.memory.population(piece);
            let suits = match self.policy {
                RomerPolicy::Fixed(_) => population == 1,
                RomerPolicy::Asap { percent, .. } => population * 100 >= size * percent,
                RomerPolicy::Online { .. } | RomerPolicy::ApproxOnline { .. } => false,
            };
            if suits && self.memory.promote(piece) {
                self.tlb.flush_parts(piece);
                if let RomerPolicy::Asap { .. } = self.policy {
                    self.counts.promotion_cycles += self.price(piece);
                }
                return;
            }
        }
    }

    /// The full cost of a superpage, in cycles.
    fn price(&self, piece: RomerPiece) -> u64 {
        piece.kib() * self.machine.copy_per_kib
    }

    /// ONLINE and APPROX-ONLINE: charges a miss, and promotes.
    fn notice_miss(&mut self, page: RomerPiece) {
        let idle_below = match *self.policy {
            RomerPolicy::Fixed(_) | RomerPolicy::Asap { .. } => return,
            RomerPolicy::Online { idle_below, .. }
            | RomerPolicy::ApproxOnline { idle_below, .. } => idle_below,
        };
        if self.counts.walk_cycles * 1000 < idle_below * self.counts.instructions {
            return;
        }
        let mut charged = self.charges.prefetch(page, &self.tlb, &self.sizes);
        self.counts.bookkeeping_cycles += self.machine.prefetch_bookkeeping;
        if let RomerPolicy::Online { .. } = self.policy {
            let entries = self.machine.entries;
            charged.extend(self.charges.capacity(page, &self.tlb, entries, &self.sizes));
            self.counts.bookkeeping_cycles += self.machine.capacity_bookkeeping;
        }
        // The page is used now; the caller loads its translation.
        self.note_use(page);
        self.promote_what_crossed(&charged);
    }

    /// Promotes charged candidates, smallest first. Each promotion adjusts the charges before the
    /// next.
    fn promote_what_crossed(&mut self, charged: &BTreeSet<RomerPiece>) {
        let miss = self.cycles_of(self.sizes[0]);
        for &piece in charged {
            // R is the cost of a superpage, in misses.
            let paid = |charges: u64| charges * miss * 1000;
            let part = |thousandths: u64| thousandths * self.price(piece);
            let charge = self.charges.of(piece);
            let crossed = match *self.policy {
                RomerPolicy::Online {
                    prefetch, capacity, ..
                } => {
                    paid(charge.prefetch) > part(prefetch) || paid(charge.capacity) > part(capacity)
                }
                RomerPolicy::ApproxOnline { prefetch, .. } => {
                    paid(charge.prefetch) >= part(prefetch)
                }
                RomerPolicy::Fixed(_) | RomerPolicy::Asap { .. } => false,
            };
            if crossed && self.memory.promote(piece) {
                self.counts.promotion_cycles += self.price(piece);
                self.charges.promoted(piece);
                self.tlb.flush_parts(piece);
                self.using(piece);
            }
        }
    }

    // ---- events ----

    fn release(&mut self, space: SpaceId) {
        self.memory.release(space);
        self.given_back(space, &(0..u64::MAX));
    }

    /// Removes the translations and charges of pages given back.
    fn given_back(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.tlb.invalidate(space, pages);
        self.charges.forget(space, pages);
    }

    fn release_ended(&mut self) {
        for space in std::mem::take(&mut self.ended) {
            self.release(space);
        }
    }

    fn event(&mut self, event: &Event) {
        let space = self.space;
        let memory = &mut self.memory;
        match event {
            Event::Map(mapping) => {
                memory.map(space, mapping);
                self.given_back(space, &pages_in(mapping.range));
            }
            Event::Unmap(range) => {
                memory.unmap(space, &pages_in(*range));
                self.given_back(space, &pages_in(*range));
            }
            Event::Protect(range, protection) => {
                for changed in memory.protect(space, &pages_in(*range), *protection) {
                    self.tlb.invalidate(space, &changed);
                }
            }
            Event::Remap { from, to } => {
                let (from, to) = (pages_in(*from), pages_in(*to));
                memory.remap(space, &from, &to);
                if from.start == to.start {
                    let kept = from.end.min(to.end);
                    self.given_back(space, &(kept..from.end.max(to.end)));
                } else {
                    self.given_back(space, &from);
                    self.given_back(space, &to);
                }
            }
            Event::Advise(range, Advice::DontNeed | Advice::Remove) => {
                memory.lose_pages(space, &pages_in(*range));
                self.given_back(space, &pages_in(*range));
            }
            Event::Populate { range, touch, .. } => {
                for page in pages_in(*range) {
                    if self.memory.is_touched_by_kernel(space, page, *touch) {
                        self.fault_if_absent(page);
                    }
                }
            }
            Event::Brk(range) => {
                let gone = memory.set_heap(space, pages_in(*range));
                self.given_back(space, &gone);
            }
            Event::StackGrow(range) => memory.grow_stack(space, pages_in(*range)),
            Event::File { id, size, .. } => memory.file(*id, *size),
            Event::SpaceSwitch(to) => self.space = *to,
            Event::SpaceStart { .. } => {
                self.release_ended();
                self.release(space);
            }
            Event::SpaceEnd { .. } => self.ended.push(space),
            Event::Advise(..)
            | Event::Exec { .. }
            | Event::Fork { .. }
            | Event::Misplaced { .. }
            | Event::ThreadStart(_)
            | Event::ThreadSwitch(_)
            | Event::ThreadEnd(_)
            | Event::CoreSwitch(_)
            | Event::Site(..)
            | Event::Allocation(_)
            | Event::Window(_)
            | Event::System(_)
            | Event::Kernel(_) => {}
        }
    }

    fn finish(mut self) -> RomerCounts {
        self.counts.promotions = self.memory.promotions.clone();
        self.counts.demotions = self.memory.demotions;
        self.counts.resident_pages = self.memory.resident.len() as u64;
        self.counts.peak_resident_pages = self.memory.peak;
        self.counts.page_sizes = self.memory.page_sizes();
        self.counts
    }
}
