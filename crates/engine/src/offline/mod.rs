//! Which pieces are worth being superpages from the beginning, for someone who knows the whole trace: OFFLINE of Romer 1995, section 7.1.
//!
//! A replay in base pages writes down what matters ([`recorder`]); that is tried with some superpages, which says what it costs and what each other piece would spare ([`trial`]);
//! of these the ones that pay are added ([`accept`], [`search`]), and so on until nothing pays ([`choose`]).
//!
//! What a piece would spare is counted for a TLB of as many entries as the machine's largest structure for base pages has, any of which holds any page, with exact LRU replacement. On such a
//! machine it is exact for each piece by itself that is a superpage from the first use of its pages to their end. For one that becomes a superpage later or breaks, and on another machine, it is an
//! estimate, and so is the choice; what is reported of it is replayed on the machine itself.

mod accept;
mod choose;
mod course;
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
pub use told::{Choice, ChosenPiece, ChosenRange, Region};

use broadleaf_memory::population::Sizes;
use broadleaf_memory::system::{Costs, Place};
use broadleaf_policy::{Cycles, Search};
use broadleaf_units::PageSize;
use std::collections::BTreeMap;

/// Pieces that are to be superpages: where each begins, and its level.
pub(crate) type Chosen = BTreeMap<Place, usize>;

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

    /// What making a piece of that level one page takes, where filling one base page of it takes so much.
    fn price(&self, level: usize, page_cycles: u64) -> u64 {
        (self.sizes.pages(level))
            .saturating_mul(page_cycles.saturating_add(self.costs.promotion_page))
            .saturating_add(self.costs.promotion)
    }
}
