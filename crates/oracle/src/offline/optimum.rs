//! The cheapest layout, by branch and bound.

use std::collections::VecDeque;

use super::{Layout, LayoutPiece, OfflineAnswer, Problem};

/// A partly decided layout.
struct Partial {
    /// The chosen superpages.
    taken: Layout,
    /// Pieces that may become superpages or be split, the largest first. All memory outside this
    /// list and `taken` is base pages.
    undecided: VecDeque<LayoutPiece>,
    /// A lower bound of the cost, over all decisions left.
    bound: u128,
}

struct OptimumSearch<'a> {
    problem: &'a Problem<'a>,
    best: OfflineAnswer,
    nodes_left: u64,
}

impl Problem<'_> {
    /// Finds a cheapest layout, or returns `None` if that needs more than `most_nodes` partial
    /// layouts. Other layouts may cost the same.
    ///
    /// The search decides pieces from the largest order down: each becomes a superpage, or is split
    /// into pieces of the next smaller order. A superpage without a referenced page saves nothing,
    /// so the search omits such pieces.
    pub fn optimum(&self, most_nodes: u64) -> Option<OfflineAnswer> {
        let mut search = OptimumSearch {
            problem: self,
            best: self.answer(Layout::default()),
            nodes_left: most_nodes,
        };
        let largest = self.prices.superpages.last_key_value();
        let all = largest.map(|(&order, _)| self.referenced(order));
        let root = search.partial(Layout::default(), all.into_iter().flatten().collect())?;
        search.decide(root)?;
        Some(search.best)
    }
}

impl OptimumSearch<'_> {
    /// Computes a lower bound of the cost of a partial layout.
    ///
    /// The bound makes each undecided piece a superpage without a price. This layout misses no more
    /// often than any layout that the decisions can give.
    ///
    /// Proof: let each page of one layout lie in a page of a coarser layout. If a reference hits
    /// under the first layout, fewer pages than the TLB has entries were used since its page. Those
    /// pages lie in no more coarser pages than they are pages, and the coarser page was used no
    /// earlier. So the reference hits under the coarser layout as well. Prices are never negative,
    /// and the bound includes the prices of chosen superpages.
    fn partial(&mut self, taken: Layout, undecided: VecDeque<LayoutPiece>) -> Option<Partial> {
        self.nodes_left = self.nodes_left.checked_sub(1)?;
        let coarsest = undecided.iter().fold(taken.clone(), |all, &u| all.with(u));
        let problem = self.problem;
        let undecided_prices = problem.price_of_all(&coarsest) - problem.price_of_all(&taken);
        Some(Partial {
            bound: problem.cost(&coarsest) - undecided_prices,
            taken,
            undecided,
        })
    }

    /// Searches for a cheaper layout among the completions of `partial`. Returns `None` if the
    /// search gave up.
    fn decide(&mut self, mut partial: Partial) -> Option<()> {
        if partial.bound >= self.best.cost {
            return Some(());
        }
        let Some(piece) = partial.undecided.pop_front() else {
            // Nothing is undecided, so the bound is the cost.
            self.best = OfflineAnswer {
                layout: partial.taken,
                cost: partial.bound,
            };
            return Some(());
        };
        let mut split = partial.undecided.clone();
        split.extend(self.parts(piece));
        let mut ways = vec![self.partial(partial.taken.clone(), split)?];
        if (self.problem.may)(piece) {
            ways.push(self.partial(partial.taken.with(piece), partial.undecided)?);
        }
        // The seemingly cheaper layout comes first, so that its cost prunes more of the rest.
        ways.sort_by_key(|way| way.bound);
        ways.into_iter().try_for_each(|way| self.decide(way))
    }

    /// The pieces of the next smaller order in `piece` that hold a referenced page; none if those
    /// are base pages.
    fn parts(&self, piece: LayoutPiece) -> Vec<LayoutPiece> {
        let mut smaller = self.problem.prices.superpages.range(..piece.order);
        let next = smaller.next_back();
        let all = next.map(|(&order, _)| self.problem.referenced(order));
        let all = all.into_iter().flatten();
        all.filter(|&part| piece.contains(part)).collect()
    }
}
