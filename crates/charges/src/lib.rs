//! What TLB misses say of pages that could have been larger: the charges of Romer, Ohlrich, Karlin
//! and Bershad 1995, "Reducing TLB and memory overhead using online superpage promotion", sections
//! 6.1 and 8.1 and appendix A.
//!
//! A *candidate* is an aligned run of base pages that may become a superpage. Each miss is charged
//! to the candidates that would have prevented it, had they been superpages by then, in one of two
//! ways. A candidate that holds the missing page and another that is in the TLB would have brought
//! the one's translation with the other's: a *prefetch charge* ([`PrefetchCharges`]). One that
//! holds none but several of the pages that pushed the missing one out would have taken one entry
//! where they took several: a *capacity charge* ([`CapacityCharges`]).
//!
//! Nothing here decides. What is charged how much, and what then becomes of it, is for whoever
//! asks; a *level* is told with each translation, since nothing here knows what is mapped.

#![forbid(unsafe_code)]

mod capacity;
mod count;
mod counters;
mod held;
mod ladder;
mod misses;
mod prefetch;
mod presence;
mod recent;
mod regions;
mod used;

pub use capacity::CapacityCharges;
pub use counters::ChargeCounters;
pub use ladder::{Ladder, LadderError};
pub use misses::MissCounts;
pub use prefetch::{Batching, PrefetchCharges};

use broadleaf_units::SpaceTag;

/// An aligned run of base pages that may become a superpage, or is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Whose pages they are.
    pub tag: SpaceTag,
    /// Its first page, in base pages.
    pub first: u64,
    /// Its size's place in the [`Ladder`]; that of base pages is 0.
    pub level: usize,
}

/// The base pages that an event concerns.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
}

impl Span {
    const fn new(start: u64, pages: u64) -> Self {
        Self {
            start,
            end: start.saturating_add(pages),
        }
    }

    /// The pages of a candidate; `None` where it is larger than the largest.
    fn of(ladder: &Ladder, candidate: Candidate) -> Option<Self> {
        let Candidate { first, level, .. } = candidate;
        (level <= ladder.largest())
            .then(|| Self::new(ladder.first_of(level, first), ladder.pages(level)))
    }

    /// The numbers of the first and the last region that it meets; `None` where it is empty.
    fn regions(self, ladder: &Ladder) -> Option<(u64, u64)> {
        let last = self.end.checked_sub(1).filter(|last| *last >= self.start)?;
        Some((ladder.region(self.start), ladder.region(last)))
    }

    /// What of it lies in a region, counted from the region's first page.
    fn within(self, ladder: &Ladder, region: u64) -> (u64, u64) {
        let first = region << ladder.order(ladder.largest());
        let pages = ladder.pages(ladder.largest());
        let inside = |page: u64| page.saturating_sub(first).min(pages);
        (inside(self.start), inside(self.end))
    }
}
