//! Miss charges (Romer 1995, section 6.1; `seeds` 8.2), by scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use broadleaf_units::SpaceId;

use super::piece::Piece;
use super::tlb::Tlb;

/// The miss charges of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) prefetch: u64,
    pub(super) capacity: u64,
}

/// The charges of all candidates.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges(BTreeMap<Piece, Charge>);

impl Charges {
    pub(super) fn of(&self, candidate: Piece) -> Charge {
        self.0.get(&candidate).copied().unwrap_or_default()
    }

    /// Charges a miss to `page` for prefetching, and says to whom: each candidate that holds it and something in the TLB.
    pub(super) fn prefetch(&mut self, page: Piece, tlb: &Tlb, sizes: &[u64]) -> BTreeSet<Piece> {
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

    /// Charges a miss to `page` for capacity, and says to whom. `depth` is the page's place in the LRU stack, the most recently used at 1; with `count`
    /// of a candidate's pages above it made one, it would be `count - 1` higher, and in the TLB if that is no deeper than the TLB.
    pub(super) fn capacity(
        &mut self,
        page: Piece,
        tlb: &Tlb,
        entries: usize,
        sizes: &[u64],
    ) -> BTreeSet<Piece> {
        let Some(above) = tlb.stack.iter().position(|&other| other == page) else {
            return BTreeSet::new();
        };
        let depth = above + 1;
        if depth <= entries {
            // It would be in the TLB if what are superpages now had been so from the start.
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

    /// A candidate became a superpage: the larger ones that hold it lose its prefetch charges, and all capacity charges begin at zero. So do its own and its
    /// parts', should it be broken.
    pub(super) fn promoted(&mut self, promoted: Piece) {
        let own = self.of(promoted).prefetch;
        self.0.retain(|&candidate, _| !promoted.contains(candidate));
        for (&candidate, charge) in &mut self.0 {
            charge.capacity = 0;
            if candidate.contains(promoted) {
                charge.prefetch = charge.prefetch.saturating_sub(own);
            }
        }
    }

    /// Pages are given back: the charges of every candidate that lies in them are forgotten.
    pub(super) fn forget(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.0
            .retain(|candidate, _| candidate.space != space || !candidate.lies_in(pages));
    }
}
