//! Charges: TLB misses that a superpage would have prevented, counted for each candidate. The rules
//! are those of Romer, Ohlrich, Karlin and Bershad 1995, "Reducing TLB and memory overhead using
//! online superpage promotion", sections 6.1 and 8.1 and appendix A.
//!
//! A *candidate* is an aligned run of base pages that may become a superpage. Each miss is charged
//! to the candidates that would have prevented it as superpages. There are two kinds of charge. A
//! *prefetch charge* ([`PrefetchCharges`]) goes to a candidate that holds the missing page and
//! another page in the TLB: one translation would have served both. A *capacity charge*
//! ([`CapacityCharges`]) goes to a candidate that holds several of the pages that pushed the
//! missing one out, and not that page itself: they would have taken one entry.
//!
//! This crate makes no decision: its caller compares charges with thresholds and promotes. The
//! caller passes a *level* with each translation, since this crate does not know the mapped pages.

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

use broadleaf_units::Asid;

/// An aligned run of base pages that may become a superpage, or is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The address space of the pages.
    pub tag: Asid,
    /// Its first page, in base pages.
    pub first: u64,
    /// The level of the candidate's size in the [`Ladder`]. Base pages have level 0.
    pub level: usize,
}

/// The base pages that an event concerns.
#[derive(Clone, Copy, Debug)]
struct PageSpan {
    start: u64,
    end: u64,
}

impl PageSpan {
    const fn new(start: u64, pages: u64) -> Self {
        Self {
            start,
            end: start.saturating_add(pages),
        }
    }

    /// The pages of a candidate. `None` if the candidate is larger than the largest.
    fn of(ladder: &Ladder, candidate: Candidate) -> Option<Self> {
        let Candidate { first, level, .. } = candidate;
        (level <= ladder.largest())
            .then(|| Self::new(ladder.first_of(level, first), ladder.pages(level)))
    }

    /// The numbers of the first and the last region that the range meets. `None` if the range is
    /// empty.
    fn regions(self, ladder: &Ladder) -> Option<(u64, u64)> {
        let last = self.end.checked_sub(1).filter(|last| *last >= self.start)?;
        Some((ladder.region(self.start), ladder.region(last)))
    }

    /// The part of the range in a region, counted from the region's first page.
    fn within(self, ladder: &Ladder, region: u64) -> (u64, u64) {
        let first = region << ladder.order(ladder.largest());
        let pages = ladder.pages(ladder.largest());
        let inside = |page: u64| page.saturating_sub(first).min(pages);
        (inside(self.start), inside(self.end))
    }
}
