//! Visits as worlds with memories of their own replay them.

use broadleaf_trace::reduced::KeptVisit;
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

/// A visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) page: PageNumber,
    /// Accesses before its own.
    pub(crate) time: u64,
    pub(crate) loads_before_store: u32,
    pub(crate) accesses: bool,
    pub(crate) stores: bool,
    pub(crate) leads: bool,
    pub(crate) leads_with_store: bool,
    /// Instructions are fetched, and no data is referenced.
    pub(crate) fetches: bool,
}

impl Step {
    /// A visit after `time` accesses. `shift` is how many low bits of a unit lie inside a page.
    #[inline]
    pub(crate) fn of(visit: &Visit, shift: u32, time: u64) -> Self {
        Self {
            page: PageNumber(visit.unit >> shift),
            time,
            loads_before_store: visit.loads_before_store.min(visit.loads),
            accesses: visit.loads | visit.stores != 0,
            stores: visit.stores != 0,
            leads: visit.lead != Lead::None,
            leads_with_store: visit.lead == Lead::Store,
            fetches: visit.fetch,
        }
    }

    /// A visit that a filter kept, of a part that begins after `begin` accesses.
    #[inline]
    pub(crate) const fn kept(kept: &KeptVisit, begin: u64) -> Self {
        let manner = kept.manner;
        Self {
            page: PageNumber(kept.page),
            time: begin.saturating_add(kept.time),
            loads_before_store: kept.loads_before_store,
            accesses: manner.accesses(),
            stores: manner.stores(),
            leads: manner.leads(),
            leads_with_store: manner.leads_with_store(),
            fetches: false,
        }
    }

    /// The time of the first reference.
    #[inline]
    pub(crate) const fn first_time(&self) -> u64 {
        self.time.saturating_sub(self.leads as u64)
    }
}
