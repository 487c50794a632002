//! OFFLINE: the best candidate, again and again.

use std::cmp::Ordering;

use super::{Layout, LayoutPiece, OfflineAnswer, Problem, misses};

/// A candidate with the effects of choosing it.
struct Offer {
    piece: LayoutPiece,
    /// The cycles of the misses that the candidate saves.
    saved: i128,
    /// The candidate's price, less the prices of the superpages inside it, which it replaces. May
    /// be zero or negative.
    net: i128,
}

impl Offer {
    /// Orders offers by preference. Free offers come before others, and among them the larger gain
    /// wins. Among priced offers the larger saving per price wins. Ties go to the smaller
    /// candidate, then the lower space, then the lower address.
    fn compare(&self, other: &Self) -> Ordering {
        let by_worth = match (self.net <= 0, other.net <= 0) {
            (true, true) => (self.saved - self.net).cmp(&(other.saved - other.net)),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            // This compares saved / net, multiplied by both prices.
            (false, false) => (self.saved * other.net).cmp(&(other.saved * self.net)),
        };
        by_worth.then(other.piece.cmp(&self.piece))
    }
}

impl Problem<'_> {
    /// Runs OFFLINE to the letter (Romer 1995, section 7; `seeds` 8.4). It begins without
    /// superpages. It makes the candidate with the largest saving of miss cycles per price a
    /// superpage from the beginning, and counts all misses anew. It ends when no candidate saves
    /// more than its price.
    ///
    /// A candidate is a piece of the ladder that holds a referenced page, may be a superpage, and
    /// neither is one nor lies in one. It replaces the superpages inside it, whose prices are then
    /// not paid.
    ///
    /// The result is not always the best: two candidates may pay only together, and a candidate
    /// with the best ratio may spoil a better one. `tests/suite/offline/greedy.rs` has a small
    /// stream of each kind, and counts their frequency.
    pub fn greedy(&self) -> OfflineAnswer {
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
            piece: LayoutPiece {
                order,
                space,
                first,
            },
            saved,
            net,
        }
    }

    /// Each offer comes before all later ones.
    #[test]
    fn offers_are_in_order() {
        let some = (2, 1, 4);
        let offers = [
            offer(1, -9, some),
            offer(9, 0, some),
            offer(3, -5, some),
            offer(7, 0, some),
            // Free offers come first, whatever the savings of later offers.
            offer(1 << 60, 1, some),
            // The ratios differ by less than the precision of a float.
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
