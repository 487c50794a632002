//! References as the cells take them: visits with everything found out that is the same for every policy.

use broadleaf_memory::BlockId;
use broadleaf_translation::SpaceTag;
use broadleaf_units::PageNumber;

/// A visit to a base page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageVisit {
    pub(crate) page: PageNumber,
    pub(crate) block: BlockId,
    /// Where the page lies in its block.
    pub(crate) offset: u16,
    /// Whether it begins with the upper part of an access that was counted before.
    pub(crate) leads: bool,
    /// Whether that access is a store.
    pub(crate) leads_with_store: bool,
    /// Whether any of its own accesses is a store.
    pub(crate) stores: bool,
    /// How many loads come before the first store.
    pub(crate) loads_before_store: u64,
    /// Accesses before it.
    pub(crate) time: u64,
    /// Its own accesses.
    pub(crate) accesses: u64,
}

impl PageVisit {
    /// Whether the page is stored to at all.
    #[inline]
    pub(crate) const fn any_store(&self) -> bool {
        self.stores || self.leads_with_store
    }
}

/// Visits in one address space without an event between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) tag: SpaceTag,
    pub(crate) visits: Vec<PageVisit>,
    /// Which of them may change something, once that was found out.
    pub(crate) kept: Vec<u32>,
    /// Accesses before its end.
    pub(crate) end: u64,
}

impl Batch {
    /// Nothing, in an address space of this tag.
    pub(crate) fn begin(&mut self, tag: SpaceTag) {
        self.tag = tag;
        self.visits.clear();
        self.kept.clear();
    }

    /// Adds a visit, to the one before where that is on the same page: what comes between two visits to one page is nothing,
    /// so both are one, and a straddling access between them stays inside the page.
    #[inline]
    pub(crate) fn push(&mut self, visit: PageVisit) {
        match self.visits.last_mut() {
            Some(last) if last.page == visit.page => {
                if visit.stores && !last.stores {
                    last.loads_before_store = last.accesses + visit.loads_before_store;
                    last.stores = true;
                }
                last.accesses += visit.accesses;
            }
            _ => self.visits.push(visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(page: u64, loads_before_store: u64, accesses: u64, time: u64) -> PageVisit {
        PageVisit {
            page: PageNumber(page),
            block: BlockId(0),
            offset: page as u16,
            leads: false,
            leads_with_store: false,
            stores: loads_before_store < accesses,
            loads_before_store,
            time,
            accesses,
        }
    }

    #[test]
    fn split_visits_are_one() {
        let mut batch = Batch::default();
        batch.push(visit(7, 3, 3, 0));
        batch.push(visit(7, 2, 4, 3));
        batch.push(visit(7, 0, 1, 7));
        batch.push(visit(8, 0, 1, 8));
        batch.push(visit(7, 1, 1, 9));
        assert_eq!(
            batch.visits,
            [visit(7, 5, 8, 0), visit(8, 0, 1, 8), visit(7, 1, 1, 9)]
        );
    }
}
