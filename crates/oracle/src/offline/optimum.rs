//! The cheapest layout, by branch and bound.

use std::collections::VecDeque;

use super::{Answer, Layout, Piece, Problem};

/// A layout of which some is decided.
struct Partial {
    /// Superpages for good.
    taken: Layout,
    /// Pieces that may become superpages or be split, the largest first. What is neither here nor in `taken` is base pages.
    undecided: VecDeque<Piece>,
    /// What it costs at least, however the rest is decided.
    bound: u128,
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    best: Answer,
    nodes_left: u64,
}

impl Problem<'_> {
    /// A cheapest layout of all, or `None` where more than `most_nodes` partial layouts would have to be looked at. There may be others that cost the same.
    ///
    /// Pieces are decided from the largest order down: each is a superpage, or is split into those of the next smaller order of the ladder. Pieces without a referenced page are left
    /// out: a superpage there saves nothing.
    pub fn optimum(&self, most_nodes: u64) -> Option<Answer> {
        let mut search = Search {
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

impl Search<'_> {
    /// Bounds what the layout costs.
    ///
    /// Each undecided piece is taken to be a superpage, at no price. That misses no more often than any layout that can come of it. For let every page of one layout lie in a page of
    /// another, coarser one. Where a reference hits under the first, fewer pages than the TLB has entries were used since its page was last used. The coarser page around it was used then
    /// too, or since; and what was used since lies in no more coarser pages than it is pages. So it hits there as well. Prices are never negative; what is taken is paid for.
    fn partial(&mut self, taken: Layout, undecided: VecDeque<Piece>) -> Option<Partial> {
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

    /// Looks for a cheaper layout among those that can come of `partial`. `None` where it had to give up.
    fn decide(&mut self, mut partial: Partial) -> Option<()> {
        if partial.bound >= self.best.cost {
            return Some(());
        }
        let Some(piece) = partial.undecided.pop_front() else {
            // Nothing was assumed: the bound is the cost.
            self.best = Answer {
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
        // What seems cheaper first, so that more of the rest is seen to be dearer.
        ways.sort_by_key(|way| way.bound);
        ways.into_iter().try_for_each(|way| self.decide(way))
    }

    /// The pieces of the next smaller order in `piece` that hold a referenced page; none where those are base pages.
    fn parts(&self, piece: Piece) -> Vec<Piece> {
        let mut smaller = self.problem.prices.superpages.range(..piece.order);
        let next = smaller.next_back();
        let all = next.map(|(&order, _)| self.problem.referenced(order));
        let all = all.into_iter().flatten();
        all.filter(|&part| piece.contains(part)).collect()
    }
}
