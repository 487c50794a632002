//! OFFLINE of Romer, Ohlrich, Karlin and Bershad 1995, section 7 (`seeds` 8.4): which superpages there should have been from the very beginning, when all
//! references are known; and the cheapest such choice, which OFFLINE does not always find.
//!
//! A stream of references goes through a fully associative TLB that replaces the least recently used. Before it begins, pieces of the address spaces are made
//! superpages, each at the price of its order; whatever they hold is mapped, and nothing is taken away. Everything is scanned, and a layout is judged by replaying the whole
//! stream under it.
//!
//! [`Problem::greedy`] is the paper's policy, [`Problem::optimum`] the exact answer, by branch and bound.

mod greedy;
mod layout;
mod misses;
mod optimum;
mod piece;
mod stream;

use std::collections::{BTreeMap, BTreeSet};

pub use layout::Layout;
pub use misses::misses;
pub use piece::Piece;
pub use stream::Stream;

/// What misses and superpages cost, in cycles. The number of references times the cycles of a miss times the price of a superpage has to be less than 2^127: products
/// are compared exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// A miss, of whatever size the page is that it finds.
    pub miss: u64,
    /// A superpage of each order. The orders are those of the ladder, without the base page's.
    pub superpages: BTreeMap<u32, u64>,
}

impl Prices {
    /// The prices of the paper, section 6 (`seeds` 8.1), for a ladder of these orders: a miss takes 30 cycles, and copying 3,000 for each KiB.
    pub fn of_paper(ladder: &[u32]) -> Self {
        let larger = ladder.iter().filter(|&&order| order > 0);
        Self {
            miss: 30,
            superpages: larger.map(|&order| (order, 12_000 << order)).collect(),
        }
    }
}

/// What is asked.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The references.
    pub stream: &'a Stream,
    /// Entries of the TLB.
    pub entries: usize,
    /// The orders of superpages that there are, and what everything costs.
    pub prices: &'a Prices,
    /// Which pieces may be superpages.
    pub may: &'a dyn Fn(Piece) -> bool,
}

/// A layout and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The superpages.
    pub layout: Layout,
    /// Cycles of their prices and of all misses.
    pub cost: u128,
}

impl Problem<'_> {
    /// What `layout` costs: all misses, and the price of each superpage.
    ///
    /// # Panics
    ///
    /// Where a superpage has an order that has no price.
    pub fn cost(&self, layout: &Layout) -> u128 {
        let misses = misses(self.stream, self.entries, layout);
        self.price_of_all(layout) + u128::from(misses) * u128::from(self.prices.miss)
    }

    fn answer(&self, layout: Layout) -> Answer {
        let cost = self.cost(&layout);
        Answer { layout, cost }
    }

    fn price(&self, piece: Piece) -> u64 {
        self.prices.superpages[&piece.order]
    }

    fn price_of_all(&self, layout: &Layout) -> u128 {
        layout
            .pieces()
            .map(|piece| u128::from(self.price(piece)))
            .sum()
    }

    /// The pieces of this order that hold a page which is referenced.
    fn referenced(&self, order: u32) -> BTreeSet<Piece> {
        let pages = self.stream.0.iter();
        pages
            .map(|&(space, page)| Piece::around(space, page, order))
            .collect()
    }
}
