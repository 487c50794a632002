//! Quiet visits: each reference changes nothing, neither in memory nor in the TLB.
//!
//! A lookup becomes quiet in the TLB when it hits ([`broadleaf_tlb::Tlb::is_quiet`]). Memory sees each
//! reference before the TLB does, so a quiet lookup's page is settled for its kind of reference. Both
//! facts hold until memory unsettles a page, a daemon falls due, or the TLB forgets the lookup.

use super::World;
use crate::filter::BatchPart;
use broadleaf_tlb::{ReferenceKind, RuleNeed, TlbRequest};
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

impl World<'_> {
    /// Leaves out lookups that change nothing from now on. Several machines form classes. One machine
    /// leaves whole visits out, if its TLB knows quiet lookups. No lookup was made so far.
    pub(crate) fn leave_lookups_out(&mut self) {
        if !self.observers.is_empty() {
            return self.classify_machines();
        }
        let knows_future = self.mmu.machine.design.needs(RuleNeed::Future);
        let is_plain = !self.counts_uses && !knows_future && self.mmu.cached.is_none();
        let is_plain = is_plain && self.charged.is_none() && self.recorder.is_none();
        self.leaves_quiet_out = is_plain && self.mmu.tlb.knows_quiet();
    }

    /// Returns true if a visit is quiet, and counts its references then. The visit begins after
    /// `time` accesses.
    #[inline]
    pub(super) fn pass_quiet(&mut self, visit: &Visit, part: &BatchPart<'_>, time: u64) -> bool {
        if visit.fetch || visit.lead != Lead::None || visit.loads | visit.stores == 0 {
            return false;
        }
        let loads_first = visit.stores == 0 || visit.loads_before_store.min(visit.loads) > 0;
        let loads_last = self.parts_loads && visit.loads > 0;
        let request = TlbRequest {
            tag: self.mmu.running.1,
            page: PageNumber(visit.unit >> part.shift),
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
        let unsettled = self.system.unsettled();
        if self.quiet_unsettled != unsettled {
            self.quiet_unsettled = unsettled;
            self.mmu.tlb.forget_quiet();
            return false;
        }
        self.moment += 1 + u64::from(loads_first && visit.stores > 0);
        true
    }
}
