//! Lookups that need not be made.

use super::Mmu;
use crate::mapped::PageLookup;
use broadleaf_tlb::TlbRequest;

impl Mmu<'_> {
    /// Returns true if a lookup that changes nothing need not be made.
    #[inline]
    pub(crate) const fn can_leave_out(&self) -> bool {
        self.future.is_none() && self.instruction.is_none()
    }

    /// The number of lookups at the beginning of `lookups` that need not be made: they hit the
    /// first level and change nothing.
    #[inline]
    pub(crate) fn quiet_first(&self, lookups: &[PageLookup]) -> usize {
        if !self.can_leave_out() {
            return 0;
        }
        let tag = self.running.1;
        let requests = lookups.iter().map(|lookup| TlbRequest {
            tag,
            page: lookup.page,
            kind: lookup.kind,
        });
        self.tlb.quiet_first(requests)
    }
}
