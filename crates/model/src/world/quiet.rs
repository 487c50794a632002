//! Quiet visits: each reference changes nothing, neither in memory nor in the TLB.
//!
//! A lookup becomes quiet in the TLB when it hits ([`broadleaf_tlb::Tlb::is_quiet`]). Memory sees
//! each reference before the TLB does, so a quiet lookup's page is settled for its kind of
//! reference. Both facts hold until memory unsettles a page, a daemon falls due, or the TLB forgets
//! the lookup.

use super::{Scene, World};
use crate::filter::BatchPart;
use crate::mmu::Mmu;
use crate::steps::VisitStep;
use broadleaf_tlb::{ReferenceKind, RuleNeed, TlbRequest};
use broadleaf_trace::{Lead, Phrased, Visit};
use broadleaf_units::{Asid, PageNumber};

/// A world's quiet visits.
#[derive(Debug, Default)]
pub(super) struct QuietVisits {
    /// True if they are left out.
    pub(super) are_left_out: bool,
    /// [`System::unsettled`](broadleaf_memory::system::System::unsettled) when the TLB began to
    /// know quiet lookups.
    unsettled: u64,
}

/// The words of a part of the trace whose visits are quiet.
#[derive(Debug, Default)]
pub(super) struct QuietWords {
    /// For each word, the turn in which its visit was quiet. 0 if there is none.
    turns: Vec<u32>,
    /// All words are of this part of the trace.
    trace_part: u64,
    /// The visits of other turns are forgotten.
    turn: u32,
    /// The turn relies on these: the tag of the space, and the lookups that the TLB forgot.
    of: (Asid, u64),
}

impl QuietWords {
    /// Begins words of a part of the trace.
    fn begin(&mut self, trace_part: u64, words: usize) {
        if (self.trace_part, self.turns.len()) != (trace_part, words) {
            self.trace_part = trace_part;
            self.turns.clear();
            self.turns.resize(words, 0);
            self.turn = 1;
        }
    }

    /// Begins another turn if the TLB forgot a lookup, or another space runs.
    fn renew(&mut self, of: (Asid, u64)) {
        if self.of != of {
            self.of = of;
            self.turn = self.turn.wrapping_add(1);
            if self.turn == 0 {
                self.turns.fill(0);
                self.turn = 1;
            }
        }
    }
}

/// The references that a visit without a lead makes, as memory counts them.
fn references(visit: &Visit) -> u64 {
    1 + u64::from(visit.stores > 0 && visit.loads_before_store.min(visit.loads) > 0)
}

impl World<'_> {
    /// Replays visits that are given by their words. A word whose visit was quiet is quiet again
    /// until the TLB forgets a lookup.
    pub(super) fn replay_words(&mut self, phrased: &Phrased<'_>, scene: &Scene<'_>) {
        let part = scene.part;
        let (mut time, mut instructions) = (part.begin, part.instructions);
        let mut words = std::mem::take(&mut self.quiet_words);
        words.begin(part.trace_part, phrased.vocabulary.len());
        self.forget_unsettled();
        words.renew((self.mmu.running.1, self.mmu.tlb.forgotten_quiet()));
        let mut due = self.system.next_time();
        for &word in phrased.words {
            let (word, visit) = (usize::from(word), &phrased.vocabulary[usize::from(word)]);
            instructions = instructions.saturating_add(visit.instructions.into());
            let after = time.saturating_add(visit.accesses());
            if words.turns[word] == words.turn && after < due {
                self.moment += references(visit);
                time = after;
                continue;
            }
            if self.pass_quiet(visit, part, time) {
                words.turns[word] = words.turn;
                time = after;
                continue;
            }
            if part.references(visit) {
                self.instructions = instructions;
                let step = VisitStep::of(visit, part.shift, time);
                if self.visit(&step, VisitStep::uses(visit), scene).is_none() {
                    break;
                }
                time = after;
                self.forget_unsettled();
                words.renew((self.mmu.running.1, self.mmu.tlb.forgotten_quiet()));
                due = self.system.next_time();
            }
        }
        self.quiet_words = words;
    }

    /// Forgets which lookups are quiet if memory unsettled a page.
    pub(super) fn forget_unsettled(&mut self) {
        let unsettled = self.system.unsettled();
        if self.quiet.unsettled != unsettled {
            self.quiet.unsettled = unsettled;
            self.mmu.tlb.forget_quiet();
        }
    }

    /// Leaves out lookups that change nothing from now on. Several machines form classes. One
    /// machine leaves whole visits out, if its TLB knows quiet lookups. No lookup was made so far.
    pub(crate) fn leave_lookups_out(&mut self) {
        if self.observers.is_empty() {
            let knows_future = self.mmu.machine.design.needs(RuleNeed::Future);
            let is_plain = !knows_future && self.mmu.cached.is_none();
            let is_plain = is_plain && self.charged.is_none() && self.recorder.is_none();
            // Uses that change nothing need not be counted.
            self.quiet.are_left_out = is_plain && self.mmu.tlb.knows_quiet();
        } else {
            self.classify_machines();
        }
        if self.charged.is_none() {
            self.mmus_mut().for_each(Mmu::remember_walks);
        }
        self.group_visits();
    }

    /// Returns true if a visit is quiet, and counts its references then. The visit begins after
    /// `time` accesses.
    #[inline]
    pub(super) fn pass_quiet(&mut self, visit: &Visit, part: &BatchPart<'_>, time: u64) -> bool {
        if visit.fetch || visit.lead != Lead::None || visit.loads | visit.stores == 0 {
            return false;
        }
        let page = PageNumber(visit.unit >> part.shift);
        // The other half of the addresses of a recorded system has another tag.
        if part.kernel.is_some() && part.space_of(page) != self.mmu.running.0 {
            return false;
        }
        let loads_first = visit.stores == 0 || visit.loads_before_store.min(visit.loads) > 0;
        let loads_last = self.parts_loads && visit.loads > 0;
        let request = TlbRequest {
            tag: self.mmu.running.1,
            page,
            kind: ReferenceKind::Load,
        };
        let stored = TlbRequest {
            kind: ReferenceKind::Store,
            ..request
        };
        let is_quiet = (!(loads_first || loads_last) || self.mmu.tlb.is_quiet(&request))
            && (visit.stores == 0 || self.mmu.tlb.is_quiet(&stored));
        if !is_quiet || self.system.next_time() <= time.saturating_add(visit.accesses()) {
            return false;
        }
        if self.quiet.unsettled != self.system.unsettled() {
            self.forget_unsettled();
            return false;
        }
        self.moment += references(visit);
        true
    }
}
