//! Steps: visits as worlds replay them, and the origins that listeners need beside them.

use crate::origin::StepOrigin;
use broadleaf_trace::reduced::KeptVisit;
use broadleaf_trace::{Lead, Visit};
use broadleaf_units::PageNumber;

/// A visit, or one access of a visit, as worlds replay it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitStep {
    /// The base page of 4 KiB.
    pub page: PageNumber,
    /// Accesses before its own.
    pub time: u64,
    /// Loads before the first store; meaningless if there is no store.
    pub loads_before_store: u32,
    /// Stores after the first one. 0 in visits that a filter kept.
    pub more_stores: u32,
    /// Loads after the stores. 0 in visits that a filter kept.
    pub loads_after_stores: u32,
    /// There is an access.
    pub accesses: bool,
    /// There is a store.
    pub stores: bool,
    /// The first reference is the rest of the access before.
    pub leads: bool,
    /// That access was a store.
    pub leads_with_store: bool,
    /// Instructions are fetched, and no data is referenced.
    pub fetches: bool,
    /// No instruction began since the last reference before. Traces that are read by instruction
    /// have it for each visit.
    pub continues: bool,
}

impl VisitStep {
    /// A visit after `time` accesses. `shift` is how many low bits of a unit lie inside a page.
    #[inline]
    pub(crate) fn of(visit: &Visit, shift: u32, time: u64) -> Self {
        Self {
            page: PageNumber(visit.unit >> shift),
            time,
            loads_before_store: visit.loads_before_store.min(visit.loads),
            more_stores: visit.stores.saturating_sub(1),
            loads_after_stores: match visit.stores {
                0 => 0,
                _ => visit.loads.saturating_sub(visit.loads_before_store),
            },
            accesses: visit.loads | visit.stores != 0,
            stores: visit.stores != 0,
            leads: visit.lead != Lead::None,
            leads_with_store: visit.lead == Lead::Store,
            fetches: visit.fetch,
            continues: visit.instructions == 0,
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
            // Filters serve no machine that asks.
            more_stores: 0,
            loads_after_stores: 0,
            accesses: manner.accesses(),
            stores: manner.stores(),
            leads: manner.leads(),
            leads_with_store: manner.leads_with_store(),
            fetches: false,
            continues: false,
        }
    }

    /// The uses of a visit's page: accesses, or instructions that are fetched.
    #[inline]
    pub(crate) const fn uses(visit: &Visit) -> u64 {
        if visit.fetch {
            visit.instructions as u64
        } else {
            visit.accesses()
        }
    }

    /// The time of the first reference.
    #[inline]
    pub(crate) const fn first_time(&self) -> u64 {
        self.time.saturating_sub(self.leads as u64)
    }

    /// The steps of the visit's single accesses, in order. True for those that may change memory or
    /// a TLB: the lead, the first access and the first store.
    ///
    /// A trace keeps the order of a visit's accesses up to its first store. After this store come
    /// the other stores, and then the other loads.
    pub(crate) fn unfolded(&self, visit: &Visit) -> impl Iterator<Item = (Self, bool)> + use<> {
        let visited = Self {
            loads_before_store: 0,
            more_stores: 0,
            loads_after_stores: 0,
            leads: false,
            leads_with_store: false,
            ..*self
        };
        let lead = self.leads.then_some(Self {
            loads_before_store: 0,
            more_stores: 0,
            loads_after_stores: 0,
            accesses: false,
            stores: false,
            ..*self
        });
        let before = u64::from(self.loads_before_store);
        let stores = before..before + u64::from(visit.stores);
        let accesses = (0..visit.accesses()).map(move |number| {
            let access = Self {
                time: visited.time.saturating_add(number),
                stores: stores.contains(&number),
                ..visited
            };
            let is_first_store = access.stores && number == before;
            (access, number == 0 || is_first_store)
        });
        lead.map(|lead| (lead, true)).into_iter().chain(accesses)
    }
}

/// A step of a replay, for listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The visit or access.
    pub visit: VisitStep,
    /// The origin of all its references.
    pub origin: StepOrigin,
}
