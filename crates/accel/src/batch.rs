//! References as the cells take them: visits with everything found out that is the same for every
//! policy.

use crate::PageId;
use crate::followed::Followed;
use broadleaf_memory::{BlockId, PageHistory};
use broadleaf_trace::reduced::{KeptVisit, Manner};
use broadleaf_units::{PageNumber, SpaceId};

/// A visit that changes the memory of every policy: it is the first to its page, or the first to
/// store to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incident {
    /// The index of the visit in its batch.
    pub(crate) at: usize,
    pub(crate) block: BlockId,
    /// The offset of the page in its block.
    pub(crate) offset: u16,
    pub(crate) manner: Manner,
    /// Accesses before its own.
    pub(crate) time: u64,
    /// The number of the visit's loads before its first store.
    pub(crate) loads_before_store: u32,
    /// The state of the page before the visit.
    pub(crate) seen: PageHistory,
}

/// Visits in one address space without an event between them that any policy sees the effect of.
/// Each list but the incidents and the trail has one entry for each visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) space: SpaceId,
    pub(crate) pages: Vec<PageNumber>,
    pub(crate) ids: Vec<PageId>,
    /// Accesses before the one that is looked up first; empty if no policy is asked at an age.
    pub(crate) times: Vec<u64>,
    pub(crate) incidents: Vec<Incident>,
    /// All pages that were looked up, if lookups are followed.
    pub(crate) trail: Followed,
}

impl Batch {
    /// Begins a batch of `visits` visits in that address space. The caller writes the page and the
    /// id of each visit, and adds the times.
    pub(crate) fn begin(&mut self, space: SpaceId, visits: usize) {
        self.space = space;
        self.pages.resize(visits, PageNumber(0));
        self.ids.resize(visits, PageId::new(0, 0));
        self.times.clear();
        self.incidents.clear();
        self.trail.clear();
    }
}

impl Incident {
    /// The incident of a visit, the `at`th of its batch. `begin` accesses came before the visits.
    pub(crate) fn new(
        visit: &KeptVisit,
        at: usize,
        id: PageId,
        begin: u64,
        seen: PageHistory,
    ) -> Self {
        Self {
            at,
            block: BlockId(id.block()),
            offset: id.offset(),
            manner: visit.manner,
            time: begin.saturating_add(visit.time),
            loads_before_store: visit.loads_before_store,
            seen,
        }
    }
}
