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
pub use told::{Choice, ChosenPiece, ChosenRange, LeftCharges, Region};

use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Place};
use broadleaf_policy::{Cycles, Search};
use broadleaf_units::PageSize;
use lives::LifeId;
use std::collections::BTreeSet;

/// Chosen lives of pieces: the first page of each piece, its level, and the life.
pub(crate) type Chosen = BTreeSet<(Place, usize, LifeId)>;

/// What there is to choose for.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) search: Search,
    /// The size of a base page.
    pub(crate) base: PageSize,
    pub(crate) sizes: Sizes,
    /// Entries of the TLB.
    pub(crate) entries: usize,
    /// Cycles of a walk, by level.
    pub(crate) walk_cycles: Vec<u64>,
    pub(crate) costs: Costs,
    /// Whether what is chosen is told by range.
    pub(crate) tells_ranges: bool,
}

impl Setting {
    /// Cycles of a fault that fills pages in so many, where they count.
    fn fault(&self, filled: u64) -> u64 {
        match self.search.cycles {
            Cycles::All => self.costs.fault.saturating_add(filled),
            Cycles::Tlb => 0,
        }
    }

    /// Cycles of breaking a superpage, where they count.
    const fn demotion(&self) -> u64 {
        match self.search.cycles {
            Cycles::All => self.costs.demotion,
            Cycles::Tlb => 0,
        }
    }

    /// The cycles that one promotion costs, of the kind to minimize, less the `faults` that it
    /// spares.
    fn net_price(&self, level: usize, page_cycles: u64, faults: u64) -> i128 {
        let each = i128::from(self.price(level, page_cycles));
        match self.search.cycles {
            Cycles::Tlb => each,
            Cycles::All => {
                let fault = i128::from(self.costs.fault);
                each + fault - i128::from(faults) * (i128::from(page_cycles) + fault)
            }
        }
    }

    /// What making a piece of that level one page takes, where filling one base page of it takes so much.
    fn price(&self, level: usize, page_cycles: u64) -> u64 {
        (self.sizes.pages(level))
            .saturating_mul(page_cycles.saturating_add(self.costs.promotion_page))
            .saturating_add(self.costs.promotion)
    }
}
