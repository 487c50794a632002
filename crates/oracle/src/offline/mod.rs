//! OFFLINE of Romer, Ohlrich, Karlin and Bershad 1995, section 7 (`seeds` 8.4): the best superpages
//! from the beginning, with all references known. The module also finds the cheapest choice, which
//! OFFLINE sometimes misses.
//!
//! A stream of references goes through a fully associative LRU TLB. Before the stream, pieces of
//! the address spaces become superpages, each at the price of its order. All pages are mapped, and
//! stay mapped. The code scans everything, and judges a layout by replaying the whole stream under
//! it.
//!
//! [`Problem::greedy`] is the paper's policy, [`Problem::optimum`] the exact answer, by branch and
//! bound.

mod greedy;
mod layout;
mod misses;
mod optimum;
mod piece;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

pub use layout::Layout;
pub use misses::misses;
pub use piece::LayoutPiece;
pub use stream::ReferenceStream;

/// The costs of misses and superpages, in cycles. The product of references, miss cycles and the
/// price of a superpage must be less than 2^127, because products are compared exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The cost of a miss, for any page size.
    pub miss: u64,
    /// The price of a superpage of each order: the orders of the ladder, without the base page.
    pub superpages: BTreeMap<u32, u64>,
}

impl Prices {
    /// The prices of the paper, section 6 (`seeds` 8.1), for a ladder of these orders. A miss takes
    /// 30 cycles, and copying takes 3,000 cycles per KiB.
    pub fn of_paper(ladder: &[u32]) -> Self {
        let larger = ladder.iter().filter(|&&order| order > 0);
        Self {
            miss: 30,
            superpages: larger.map(|&order| (order, 12_000 << order)).collect(),
        }
    }
}

/// A problem for OFFLINE.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The references.
    pub stream: &'a ReferenceStream,
    /// The number of TLB entries.
    pub entries: usize,
    /// The orders of superpages, with all costs.
    pub prices: &'a Prices,
    /// Returns true for the pieces that may be superpages.
    pub may: &'a dyn Fn(LayoutPiece) -> bool,
}

/// A layout with its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineAnswer {
    /// The superpages.
    pub layout: Layout,
    /// The cycles of the superpages' prices and of all misses.
    pub cost: u128,
}

impl Problem<'_> {
    /// The cost of `layout`: all misses, and the price of each superpage.
    ///
    /// # Panics
    ///
    /// Panics if a superpage's order has no price.
    pub fn cost(&self, layout: &Layout) -> u128 {
        let misses = misses(self.stream, self.entries, layout);
        self.price_of_all(layout) + u128::from(misses) * u128::from(self.prices.miss)
    }

    fn answer(&self, layout: Layout) -> OfflineAnswer {
        let cost = self.cost(&layout);
        OfflineAnswer { layout, cost }
    }

    fn price(&self, piece: LayoutPiece) -> u64 {
        self.prices.superpages[&piece.order]
    }

    fn price_of_all(&self, layout: &Layout) -> u128 {
        layout
            .pieces()
            .map(|piece| u128::from(self.price(piece)))
            .sum()
    }

    /// The pieces of this order that hold a referenced page.
    fn referenced(&self, order: u32) -> BTreeSet<LayoutPiece> {
        let pages = self.stream.0.iter();
        pages
            .map(|&(space, page)| LayoutPiece::around(space, page, order))
            .collect()
    }
}
