//! Romer, Ohlrich, Karlin and Bershad 1995, a second time: policies that are told of each TLB miss, on a TLB of any number of entries
//! and for any set of page sizes, with what their promotions and their counters cost.
//!
//! What the paper leaves open is decided by `docs/spec/charges.md`. Everything is a list or an ordered map, and is scanned: the
//! TLB and the LRU stack at each miss, all sizes at each question which page a base page lies in. Where memory does not run short, and files are in
//! memory already: there is no frame here. What processes share is left out.

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
    /// Entries of the one TLB, which is fully associative and replaces the least recently used.
    pub entries: usize,
    /// The page sizes in base pages with the cycles of a miss that finds such a page, smallest first. The first is the base page.
    pub sizes: Vec<(u64, u64)>,
    /// Cycles for each KiB of a new superpage.
    pub copy_per_kib: u64,
    /// Cycles that prefetch counters take at a miss: 100 in the paper, section 8.1.
    pub prefetch_bookkeeping: u64,
    /// Cycles that capacity counters take at a miss: 2,470 in the paper, section 8.1.
    pub capacity_bookkeeping: u64,
}

impl RomerMachine {
    /// The machine of the paper, but for the number of entries and the sizes, which are in base pages.
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

/// A policy of section 7, but for OFFLINE, which is [`crate::offline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RomerPolicy {
    /// FIXED: pages of so many base pages from the first touch on.
    Fixed(u64),
    /// ASAP: a superpage as soon as so much of it was referenced, to the largest such one at once.
    Asap {
        /// The superpages that there are, in base pages.
        sizes: Vec<u64>,
        /// How many of a hundred base pages must have been referenced.
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
    /// The sizes that the policy makes pages of on `machine`, in base pages, the base page first.
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
