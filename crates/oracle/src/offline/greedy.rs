//! OFFLINE: the best candidate, again and again.

use std::cmp::Ordering;

use super::{Answer, Layout, Piece, Problem, misses};

/// A candidate, and what taking it would do.
struct Offer {
    piece: Piece,
    /// Cycles of the misses that it saves.
    saved: i128,
    /// Its price, less what the superpages inside it cost, which are then not made. May be zero or less.
    net: i128,
}

impl Offer {
    /// Greater is taken rather than less. What costs nothing more comes before what does, and of that what gains more; of all else what saves more for its price. Of equals the
    /// first: the smaller, then that of the lower space, then that at the lower address.
    fn compare(&self, other: &Self) -> Ordering {
        let by_worth = match (self.net <= 0, other.net <= 0) {
            (true, true) => (self.saved - self.net).cmp(&(other.saved - other.net)),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            // saved / net, both sides times both prices.
            (false, false) => (self.saved * other.net).cmp(&(other.saved * self.net)),
        };
        by_worth.then(other.piece.cmp(&self.piece))
    }
}

impl Problem<'_> {
    /// OFFLINE to the letter (Romer 1995, section 7; `seeds` 8.4): from no superpages on, the candidate that saves the most miss cycles for its price is made a superpage from
    /// the beginning, and all misses are counted anew, until no candidate saves more than it costs.
    ///
    /// A candidate is a piece of the ladder that holds a referenced page, may be a superpage, and is none and lies in none. It takes the place of the superpages inside it,
    /// whose prices are not paid then.
    ///
    /// It is not always the best: two may be worth it only together, and one that is the best for its price may spoil a better one. `tests/suite/offline/greedy.rs` has a small stream of each kind, and
    /// counts how often that is so.
    pub fn greedy(&self) -> Answer {
        let mut layout = Layout::default();
        while let Some(best) = self.best_offer(&layout) {
            layout = layout.with(best.piece);
        }
        self.answer(layout)
    }

    fn best_offer(&self, layout: &Layout) -> Option<Offer> {
        let orders = self.prices.superpages.keys();
        let pieces = orders.flat_map(|&order| self.referenced(order));
        let candidates = pieces.filter(|&piece| !layout.covers(piece) && (self.may)(piece));
        let now = self.misses_of(layout);
        let offers = candidates.map(|piece| {
            let parts = layout.inside(piece);
            let replaced: i128 = parts.map(|part| i128::from(self.price(part))).sum();
            Offer {
                piece,
                saved: (now - self.misses_of(&layout.with(piece))) * i128::from(self.prices.miss),
                net: i128::from(self.price(piece)) - replaced,
            }
        });
        offers
            .filter(|offer| offer.saved > offer.net)
            .max_by(Offer::compare)
    }

    fn misses_of(&self, layout: &Layout) -> i128 {
        i128::from(misses(self.stream, self.entries, layout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(saved: i128, net: i128, piece: (u32, u32, u64)) -> Offer {
        let (order, space, first) = piece;
        Offer {
            piece: Piece {
                order,
                space,
                first,
            },
            saved,
            net,
        }
    }

    /// Each comes before all that follow it.
    #[test]
    fn offers_are_in_order() {
        let some = (2, 1, 4);
        let offers = [
            offer(1, -9, some),
            offer(9, 0, some),
            offer(3, -5, some),
            offer(7, 0, some),
            // What is for nothing first, whatever comes behind it saves.
            offer(1 << 60, 1, some),
            // Ratios that differ by less than a float can tell.
            offer(3 * (1 << 55) + 1, 1 << 55, some),
            offer(3 * (1 << 56) + 1, 1 << 56, some),
            offer(9, 3, (1, 1, 8)),
            offer(6, 2, (2, 0, 8)),
            offer(3, 1, (2, 1, 0)),
            offer(9, 3, some),
            offer(8, 3, some),
        ];
        for (at, first) in offers.iter().enumerate() {
            for second in &offers[at + 1..] {
                assert_eq!(first.compare(second), Ordering::Greater, "after {at}");
                assert_eq!(second.compare(first), Ordering::Less, "after {at}");
            }
        }
    }
}
