//! References as the cells take them: visits with everything found out that is the same for every policy.

use broadleaf_memory::BlockId;
use broadleaf_translation::SpaceTag;
use broadleaf_units::PageNumber;

/// A visit to a base page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
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

impl Stay {
    /// Whether the page is stored to at all.
    #[inline]
    pub(crate) const fn any_store(&self) -> bool {
        self.stores || self.leads_with_store
    }
}

/// Stays in one address space without an event between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) tag: SpaceTag,
    pub(crate) stays: Vec<Stay>,
}

impl Batch {
    /// Adds a stay, to the one before where that is on the same page: what comes between two visits to one page is nothing,
    /// so both are one, and a straddling access between them stays inside the page.
    #[inline]
    pub(crate) fn push(&mut self, stay: Stay) {
        match self.stays.last_mut() {
            Some(last) if last.page == stay.page => {
                if stay.stores && !last.stores {
                    last.loads_before_store = last.accesses + stay.loads_before_store;
                    last.stores = true;
                }
                last.accesses += stay.accesses;
            }
            _ => self.stays.push(stay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stay(page: u64, loads_before_store: u64, accesses: u64, time: u64) -> Stay {
        Stay {
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
        batch.push(stay(7, 3, 3, 0));
        batch.push(stay(7, 2, 4, 3));
        batch.push(stay(7, 0, 1, 7));
        batch.push(stay(8, 0, 1, 8));
        batch.push(stay(7, 1, 1, 9));
        assert_eq!(
            batch.stays,
            [stay(7, 5, 8, 0), stay(8, 0, 1, 8), stay(7, 1, 1, 9)]
        );
    }
}
