//! OFFLINE of Romer 1995 and the exact optimum: against counts by hand, against plain enumeration,
//! against the policies that run online, and against each other.

mod enumerated;
mod greedy;
mod misses;
mod recordings;

use std::collections::BTreeMap;

use broadleaf_oracle::offline::{Layout, LayoutPiece, Prices, Problem, ReferenceStream};
use broadleaf_oracle::random::{Rng, loops};

/// References to these pages of space 0.
fn pages(pages: &[u64]) -> ReferenceStream {
    ReferenceStream(pages.iter().map(|&page| (0, page)).collect())
}

/// The piece of space 0 of this order around a page.
fn piece(page: u64, order: u32) -> LayoutPiece {
    LayoutPiece::around(0, page, order)
}

fn layout(pieces: &[LayoutPiece]) -> Layout {
    Layout::of(pieces.iter().copied()).expect("disjoint superpages")
}

fn prices(miss: u64, superpages: &[(u32, u64)]) -> Prices {
    Prices {
        miss,
        superpages: superpages.iter().copied().collect(),
    }
}

fn anything(_: LayoutPiece) -> bool {
    true
}

fn problem<'a>(stream: &'a ReferenceStream, entries: usize, prices: &'a Prices) -> Problem<'a> {
    Problem {
        stream,
        entries,
        prices,
        may: &anything,
    }
}

/// A random problem.
#[derive(Debug)]
struct Case {
    stream: ReferenceStream,
    spaces: u32,
    pages: u64,
    entries: usize,
    prices: Prices,
}

impl Case {
    /// Up to sixteen pages in one or two spaces.
    fn random(rng: &mut Rng, length: usize) -> Self {
        let proportional = !rng.one_in(3);
        Self::priced(rng, length, proportional)
    }

    /// A random problem with superpage prices proportional to base pages, as in the paper, or with
    /// random prices: zero, or less than the price of a smaller superpage.
    fn priced(rng: &mut Rng, length: usize, proportional: bool) -> Self {
        let spaces = rng.pick(&[1, 2]);
        let pages = 16 / u64::from(spaces) - rng.pick(&[0, 0, 3]);
        let ladder: &[u32] = rng.pick(&[&[0, 1, 2, 3], &[0, 2]]);
        let for_each = 1 + rng.below(60);
        let larger = ladder.iter().filter(|&&order| order > 0);
        let superpages: BTreeMap<u32, u64> = larger
            .map(|&order| match proportional {
                true => (order, for_each << order),
                false => (order, rng.below(300)),
            })
            .collect();
        Self {
            stream: loops(rng, spaces, pages, length),
            spaces,
            pages,
            entries: 2 + rng.below(5) as usize,
            prices: Prices {
                miss: 1 + rng.below(30),
                superpages,
            },
        }
    }

    fn problem(&self) -> Problem<'_> {
        problem(&self.stream, self.entries, &self.prices)
    }

    /// All layouts, including superpages without a reference.
    fn layouts(&self) -> Vec<Layout> {
        let mut all = vec![Layout::default()];
        let largest = self.prices.superpages.keys().max().copied().unwrap_or(0);
        for space in 0..self.spaces {
            for first in (0..self.pages).step_by(1 << largest) {
                let ways = self.ways(LayoutPiece::around(space, first, largest));
                let each = all.iter().flat_map(|layout| {
                    ways.iter().map(move |way| {
                        Layout::of(layout.pieces().chain(way.pieces())).expect("disjoint")
                    })
                });
                all = each.collect();
            }
        }
        all
    }

    /// All layouts of a piece.
    fn ways(&self, piece: LayoutPiece) -> Vec<Layout> {
        let mut smaller = self.prices.superpages.range(..piece.order);
        let mut all = vec![Layout::default()];
        if let Some((&order, _)) = smaller.next_back() {
            for first in piece.pages().step_by(1 << order) {
                let ways = self.ways(LayoutPiece::around(piece.space, first, order));
                let each = all.iter().flat_map(|layout| {
                    ways.iter().map(move |way| {
                        Layout::of(layout.pieces().chain(way.pieces())).expect("disjoint")
                    })
                });
                all = each.collect();
            }
        }
        all.push(layout(&[piece]));
        all
    }
}
