//! Visits as cells with memories of their own replay them.

use broadleaf_trace::{Lead, Visit};
use broadleaf_units::{PageNumber, SpaceId};

/// A visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) page: PageNumber,
    /// Accesses before its own.
    pub(crate) time: u64,
    /// Instructions up to its last reference.
    pub(crate) instructions: u64,
    pub(crate) loads_before_store: u32,
    pub(crate) accesses: bool,
    pub(crate) stores: bool,
    pub(crate) leads: bool,
    pub(crate) leads_with_store: bool,
    /// Instructions are fetched, and no data is referenced.
    pub(crate) fetches: bool,
}

/// Visits of one address space, with no event between them.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) space: SpaceId,
    pub(crate) steps: Vec<Step>,
}

impl Steps {
    /// Adds a visit to that page, behind `time` accesses and `before` instructions.
    pub(crate) fn add(&mut self, visit: &Visit, page: PageNumber, time: u64, before: u64) {
        self.steps.push(Step {
            page,
            time,
            instructions: before.saturating_add(visit.instructions.into()),
            loads_before_store: visit.loads_before_store.min(visit.loads),
            accesses: visit.loads | visit.stores != 0,
            stores: visit.stores != 0,
            leads: visit.lead != Lead::None,
            leads_with_store: visit.lead == Lead::Store,
            fetches: visit.fetch,
        });
    }
}
