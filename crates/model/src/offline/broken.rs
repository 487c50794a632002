//! Demotions that pieces have not recovered from: OFFLINE may promote a broken piece again at a
//! reference that does not fault.

use broadleaf_memory::system::Place;
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// The most breaks that are remembered in one piece of the largest size.
const MOST: usize = 16;

/// A place at which superpages were broken.
#[derive(Clone, Copy, Debug)]
struct Break {
    page: u64,
    /// Pieces of this order and larger ones around the place have had a chance since; one more than
    /// the largest order where none has.
    had: u8,
}

/// The ends of ranges whose translations were taken away.
#[derive(Clone, Debug)]
pub(super) struct Breaks {
    /// The order of the largest pieces.
    largest: u8,
    /// By address space and piece of the largest size.
    by_piece: BTreeMap<(SpaceId, u64), Vec<Break>>,
}

impl Breaks {
    /// No break yet, of pieces up to an order.
    pub(super) const fn new(largest: u8) -> Self {
        Self {
            largest,
            by_piece: BTreeMap::new(),
        }
    }

    /// Superpages are broken at the ends of a range.
    pub(super) fn add(&mut self, first: Place, pages: u64) {
        let last = first.page.saturating_add(pages).saturating_sub(1);
        for page in [first.page, last] {
            let breaks = self.by_piece.entry((first.space, page >> self.largest));
            let breaks = breaks.or_default();
            breaks.retain(|known| known.page != page);
            if breaks.len() == MOST {
                breaks.remove(0);
            }
            let had = self.largest + 1;
            breaks.push(Break { page, had });
        }
    }

    /// Returns true if a reference to a page is the first chance of a broken piece around the page.
    #[inline]
    pub(super) fn is_chance(&self, at: Place) -> bool {
        !self.by_piece.is_empty()
            && (self.by_piece.get(&(at.space, at.page >> self.largest)))
                .is_some_and(|breaks| breaks.iter().any(|known| order(*known, at) < known.had))
    }

    /// Pieces around a page have had a chance.
    pub(super) fn had(&mut self, at: Place) {
        let key = (at.space, at.page >> self.largest);
        let Some(breaks) = self.by_piece.get_mut(&key) else {
            return;
        };
        for known in &mut *breaks {
            known.had = known.had.min(order(*known, at));
        }
        breaks.retain(|known| known.had > 1);
        if breaks.is_empty() {
            self.by_piece.remove(&key);
        }
    }
}

/// The order of the smallest piece that holds both places.
const fn order(known: Break, at: Place) -> u8 {
    (u64::BITS - (known.page ^ at.page).leading_zeros()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_piece_has_one_chance() {
        let at = |page| Place {
            space: SpaceId(0),
            page,
        };
        let mut breaks = Breaks::new(4);
        assert!(!breaks.is_chance(at(3)));
        breaks.add(at(3), 1);
        assert!(breaks.is_chance(at(9)) && !breaks.is_chance(at(16)));
        breaks.had(at(9));
        // The whole piece of 16 pages had it; that of 8 has not.
        assert!(!breaks.is_chance(at(10)) && breaks.is_chance(at(7)));
        breaks.had(at(3));
        assert!(breaks.by_piece.is_empty());
    }
}
