//! Visits that change nothing under any policy on any of the machines: found once, and left out by every cell.

use crate::batch::{Batch, PageVisit};
use broadleaf_translation::{Machine, Recency};
use broadleaf_units::PageNumber;

/// How many pages that were stored to are remembered. A power of two.
const STORED: usize = 256;

/// Finds visits that change nothing.
///
/// Such a visit is to a page that was visited before, so it faults under no policy; stores to it only where it was stored to
/// before, so it dirties nothing; and its lookup changes no TLB ([`Recency`]). Whether the time at which a policy wanted to be asked
/// passes meanwhile is no matter: what it will find is the same at the next visit that changes something, or at the end of the batch.
///
/// All that holds until a page is taken away or an entry is shot down. Events do that for all cells, which forgets everything; a cell
/// whose policy breaks a superpage goes through the rest of its batch visit by visit, and says so, which does the same.
pub(crate) struct Filter {
    recency: Recency,
    stored: Box<[Option<PageNumber>; STORED]>,
}

impl Filter {
    pub(crate) fn new(machines: &[Machine]) -> Self {
        Self {
            recency: Recency::new(machines.iter().map(|machine| &machine.design)),
            stored: Box::new([None; STORED]),
        }
    }

    /// Finds out which visits of a batch may change something.
    pub(crate) fn sift(&mut self, batch: &mut Batch) {
        for (at, visit) in batch.visits.iter().enumerate() {
            if !self.changes_nothing(visit) {
                batch.kept.push(at as u32);
            }
        }
    }

    /// Notes a visit, and says whether it changes nothing.
    #[inline]
    fn changes_nothing(&mut self, visit: &PageVisit) -> bool {
        let mut settled = true;
        if visit.any_store() {
            let stored = &mut self.stored[visit.page.0 as usize % STORED];
            settled = stored.replace(visit.page) == Some(visit.page);
        }
        self.recency.repeats(visit.page) & settled
    }

    /// What was noted no longer holds.
    pub(crate) fn forget(&mut self) {
        self.recency.forget();
        self.stored.fill(None);
    }
}
