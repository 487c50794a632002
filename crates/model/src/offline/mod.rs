//! OFFLINE of Romer 1995, section 7.1: the superpages that are worth their price to a policy that
//! knows the whole trace, and the time at which each begins.
//!
//! A replay in base pages records the course of the trace ([`recorder`]). A trial of this course
//! with some superpages returns its cost and the misses that each other piece would spare
//! ([`trial`]). The pieces that pay are added ([`accept`], [`search`]), until no piece pays
//! ([`choose`]).
//!
//! The misses that a piece would spare are counted for a fully associative TLB with exact LRU
//! replacement. It has as many entries as the machine's largest structure for base pages. On such a
//! machine the count is exact for a single piece that is a superpage from the first use of its
//! pages to their end. For a piece that becomes a superpage later or breaks, and on other machines,
//! the count and the choice are estimates. Reported figures are replayed on the machine itself.

mod accept;
mod broken;
mod bulk;
mod choose;
mod course;
mod lives;
mod numbers;
mod recency;
mod recorder;
mod regions;
mod search;
mod told;
mod trial;

#[cfg(test)]
mod tests;

pub(crate) use choose::{Decision, choose};
pub(crate) use recorder::Recorder;
pub use told::{Choice, ChosenPiece, ChosenRange, LeftCharges, MappedRegion};

use broadleaf_memory::system::{Costs, Place};
use broadleaf_policy::{Cycles, OfflineSearch};
use broadleaf_units::{PageSize, PageSizes};
use lives::LifeId;
use std::collections::BTreeSet;

/// Chosen lives of pieces: the first page of each piece, its level, and the life.
pub(crate) type Chosen = BTreeSet<(Place, usize, LifeId)>;

/// The machine and the costs that OFFLINE chooses for.
#[derive(Clone, Debug)]
pub(crate) struct OfflineSetting {
    pub(crate) search: OfflineSearch,
    /// The size of a base page.
    pub(crate) base: PageSize,
    pub(crate) sizes: PageSizes,
    /// Entries of the TLB.
    pub(crate) entries: usize,
    /// Cycles of a walk, by level.
    pub(crate) walk_cycles: Vec<u64>,
    pub(crate) costs: Costs,
    /// True if the savings are reported by range.
    pub(crate) by_range: bool,
}

impl OfflineSetting {
    /// Cycles of a fault that fills `filled` pages, if faults count.
    fn fault(&self, filled: u64) -> u64 {
        match self.search.cycles {
            Cycles::All => self.costs.fault.saturating_add(filled),
            Cycles::Tlb => 0,
        }
    }

    /// Cycles of a demotion, if demotions count.
    const fn demotion(&self) -> u64 {
        match self.search.cycles {
            Cycles::All => self.costs.demotion,
            Cycles::Tlb => 0,
        }
    }

    /// Cycles of a promotion of a piece of a level. Filling one base page of the piece takes
    /// `page_cycles`.
    fn promotion(&self, level: usize, work: Work, page_cycles: u64) -> u64 {
        let copied = self.costs.copy(self.base, work.copied);
        let filled = work.filled.saturating_mul(page_cycles);
        self.costs
            .promotion(self.sizes.pages(level))
            .saturating_add(copied)
            .saturating_add(filled)
    }
}

/// The base pages that a promotion copies, and those that the promotion fills: zeroes or reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    copied: u64,
    filled: u64,
}
