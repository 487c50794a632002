//! Miss charges (Romer 1995, section 6.1; `seeds` 8.2), by scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_units::SpaceId;

use super::piece::RomerPiece;
use super::tlb::RomerTlb;

/// The miss charges of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) prefetch: u64,
    pub(super) capacity: u64,
}

/// The charges of all candidates.
#[derive(Clone, Debug, Default)]
pub(super) struct RomerCharges(BTreeMap<RomerPiece, Charge>);

impl RomerCharges {
    pub(super) fn of(&self, candidate: RomerPiece) -> Charge {
        self.0.get(&candidate).copied().unwrap_or_default()
    }

    /// Charges a miss of `page` for prefetching, and returns the charged candidates: those
    /// that hold the page and a page in the TLB.
    pub(super) fn prefetch(
        &mut self,
        page: RomerPiece,
        tlb: &RomerTlb,
        sizes: &[u64],
    ) -> BTreeSet<RomerPiece> {
        let mut charged = BTreeSet::new();
        for &size in sizes.iter().filter(|&&size| size > page.size) {
            let candidate = page.within(size);
            if tlb.entries.iter().any(|&entry| candidate.contains(entry)) {
                self.0.entry(candidate).or_default().prefetch += 1;
                charged.insert(candidate);
            }
        }
        charged
    }

    /// Charges a miss of `page` for capacity, and returns the charged candidates. `depth` is
    /// the page's LRU stack distance, 1 for the most recently used. If a candidate holds `count` of
    /// the pages above, its promotion would lift the page by `count - 1`. The page would be in the
    /// TLB if its new distance is at most the number of entries.
    pub(super) fn capacity(
        &mut self,
        page: RomerPiece,
        tlb: &RomerTlb,
        entries: usize,
        sizes: &[u64],
    ) -> BTreeSet<RomerPiece> {
        let Some(above) = tlb.stack.iter().position(|&other| other == page) else {
            return BTreeSet::new();
        };
        let depth = above + 1;
        if depth <= entries {
            // The page would be in the TLB if the current superpages had existed from the start.
            return BTreeSet::new();
        }
        let more_recent = &tlb.stack[..above];
        let mut candidates = BTreeSet::new();
        for entry in more_recent {
            for &size in sizes.iter().filter(|&&size| size > entry.size) {
                candidates.insert(entry.within(size));
            }
        }
        candidates.retain(|&candidate| {
            let parts = more_recent
                .iter()
                .filter(|&&entry| candidate.contains(entry));
            let count = parts.count();
            !candidate.contains(page) && count + entries > depth
        });
        for &candidate in &candidates {
            self.0.entry(candidate).or_default().capacity += 1;
        }
        candidates
    }

    /// Adjusts the charges after a promotion. Larger candidates that hold the new superpage lose
    /// its prefetch charges. All capacity charges become zero, and so do all charges of the
    /// superpage and its parts, in case it is broken.
    pub(super) fn promoted(&mut self, promoted: RomerPiece) {
        let own = self.of(promoted).prefetch;
        self.0.retain(|&candidate, _| !promoted.contains(candidate));
        for (&candidate, charge) in &mut self.0 {
            charge.capacity = 0;
            if candidate.contains(promoted) {
                charge.prefetch = charge.prefetch.saturating_sub(own);
            }
        }
    }

    /// Removes the charges of every candidate that lies in pages given back.
    pub(super) fn forget(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.0
            .retain(|candidate, _| candidate.space != space || !candidate.lies_in(pages));
    }
}
