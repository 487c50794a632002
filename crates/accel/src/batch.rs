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
    /// Accesses before the one that is looked up first.
    pub(crate) times: Vec<u64>,
    pub(crate) incidents: Vec<Incident>,
    /// All pages that were looked up, if lookups are followed.
    pub(crate) trail: Followed,
}

impl Batch {
    /// Nothing, in that address space.
    pub(crate) fn begin(&mut self, space: SpaceId) {
        self.space = space;
        self.pages.clear();
        self.ids.clear();
        self.times.clear();
        self.incidents.clear();
        self.trail.clear();
    }

    /// Adds visits without their blocks. `begin` is the number of accesses before them.
    pub(crate) fn extend(&mut self, visits: &[KeptVisit], begin: u64) {
        self.pages
            .extend(visits.iter().map(|visit| PageNumber(visit.page)));
        // The access that a visit leads with was the last one before.
        self.times.extend(visits.iter().map(|visit| {
            let time = begin.saturating_add(visit.time);
            time.saturating_sub(u64::from(visit.manner.leads()))
        }));
    }

    /// Takes the list of ids, with room for `visits` visits. The caller puts the list back.
    pub(crate) fn room_for_blocks(&mut self, visits: usize) -> Vec<PageId> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.resize(visits, PageId::new(0, 0));
        ids
    }

    /// The visit `at` changes memories: its page was in that state. `time` accesses were made
    /// before its own.
    pub(crate) fn add_incident(
        &mut self,
        visit: &KeptVisit,
        at: usize,
        id: PageId,
        time: u64,
        seen: PageHistory,
    ) {
        self.incidents.push(Incident {
            at,
            block: BlockId(id.block()),
            offset: id.offset(),
            manner: visit.manner,
            time,
            loads_before_store: visit.loads_before_store,
            seen,
        });
    }
}
