//! Romer, Ohlrich, Karlin and Bershad 1995, a second time: policies that are notified of each TLB
//! miss. The TLB has any number of entries, and pages any set of sizes. Promotions and counters
//! have costs.
//!
//! `docs/spec/charges.md` decides what the paper leaves open. All data is in
//! lists or ordered maps, and is scanned: the TLB and the LRU stack at each miss, and all sizes for
//! the page around a base page. The model has no frames: memory never runs short, files are in
//! memory, and processes share nothing.

mod charges;
mod counts;
#[cfg(test)]
mod foreseen;
mod memory;
mod piece;
mod replay;
mod tlb;

pub use counts::RomerCounts;
pub use replay::replay_romer;

/// The machine and the prices of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RomerMachine {
    /// The number of entries of the only TLB, which is fully associative with LRU replacement.
    pub entries: usize,
    /// The page sizes in base pages with the cycles of a miss that finds such a page, smallest
    /// first. The first is the base page.
    pub sizes: Vec<(u64, u64)>,
    /// Cycles for each KiB of a new superpage.
    pub copy_per_kib: u64,
    /// Cycles that prefetch counters take at a miss: 100 in the paper, section 8.1.
    pub prefetch_bookkeeping: u64,
    /// Cycles that capacity counters take at a miss: 2,470 in the paper, section 8.1.
    pub capacity_bookkeeping: u64,
}

impl RomerMachine {
    /// The machine of the paper, except for the number of entries and the sizes, which are in base
    /// pages.
    pub fn of_paper(entries: usize, sizes: &[u64]) -> Self {
        Self {
            entries,
            sizes: sizes.iter().map(|&pages| (pages, 30)).collect(),
            copy_per_kib: 3000,
            prefetch_bookkeeping: 100,
            capacity_bookkeeping: 2470,
        }
    }
}

/// A policy of section 7, except OFFLINE, which is [`crate::offline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RomerPolicy {
    /// FIXED: pages of this number of base pages from the first touch on.
    Fixed(u64),
    /// ASAP: a superpage as soon as a part of it was referenced; the largest such superpage at
    /// once.
    Asap {
        /// The superpage sizes, in base pages.
        sizes: Vec<u64>,
        /// The percentage of base pages that must have been referenced.
        percent: u64,
    },
    /// ONLINE.
    Online {
        /// Thousandths of R that prefetch charges must exceed.
        prefetch: u64,
        /// Thousandths of R that capacity charges must exceed.
        capacity: u64,
        /// Walk cycles per thousand instructions below which the policy is idle.
        idle_below: u64,
    },
    /// APPROX-ONLINE.
    ApproxOnline {
        /// Thousandths of R that prefetch charges must reach.
        prefetch: u64,
        /// Walk cycles per thousand instructions below which the policy is idle.
        idle_below: u64,
    },
}

impl RomerPolicy {
    /// The page sizes of the policy on `machine`, in base pages, the base page first.
    fn sizes(&self, machine: &RomerMachine) -> Vec<u64> {
        let base = machine.sizes[0].0;
        let asked = |pages: &u64| match self {
            Self::Fixed(size) => pages == size,
            Self::Asap { sizes, .. } => sizes.contains(pages),
            Self::Online { .. } | Self::ApproxOnline { .. } => true,
        };
        let all = machine.sizes.iter().map(|&(pages, _)| pages);
        all.filter(|pages| *pages == base || asked(pages)).collect()
    }
}
