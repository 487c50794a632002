//! Ladders: the sizes of candidates, and the places of candidates in their region.

use broadleaf_units::{MOST_LEVELS, PageSizes, PageSizesError};

/// The largest order that a candidate may have: 1 GiB of 4 KiB pages.
const LARGEST_CANDIDATE: u8 = 18;

/// The base page and the sizes of candidates, each as an *order*, the base-two logarithm of its
/// number of base pages. A size is named by its *level*, its place among them. The *children* of a
/// candidate are the pieces of the next smaller size that it is made of: two on Romer's ladder,
/// more where sizes lie further apart.
///
/// Every size that the TLB holds and that is not larger than the largest candidate has to be on the
/// ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    orders: [u8; MOST_LEVELS],
    /// The first place of each level's candidates in a region: the largest first, as in a heap.
    offsets: [u32; MOST_LEVELS],
    largest: u8,
}

/// The reason why some orders are no ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// The orders are no set of page sizes.
    #[error(transparent)]
    Sizes(#[from] PageSizesError),
    /// There is no order above that of the base page.
    #[error("there is no size above that of the base page")]
    NoCandidates,
    /// An order that is too large for a candidate.
    #[error("order {0} is more than {LARGEST_CANDIDATE}")]
    TooLarge(u8),
}

impl Ladder {
    /// The orders of Romer's: every power of two from two base pages to 2048 of them, 8 KiB to 8
    /// MiB (1995, section 6).
    pub const ROMER: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

    /// The base page and candidates of these orders; the base page's, 0, is the first.
    ///
    /// # Errors
    /// Returns an error if the orders are no [`PageSizes`], there is one alone, or one is too
    /// large.
    pub fn new(orders: &[u8]) -> Result<Self, LadderError> {
        let sizes = PageSizes::new(orders)?;
        let largest = sizes.largest();
        if largest == 0 {
            return Err(LadderError::NoCandidates);
        }
        if sizes.order(largest) > LARGEST_CANDIDATE {
            return Err(LadderError::TooLarge(sizes.order(largest)));
        }
        let mut ladder = Self {
            orders: [0; MOST_LEVELS],
            offsets: [0; MOST_LEVELS],
            largest: largest as u8,
        };
        ladder.orders[..orders.len()].copy_from_slice(sizes.orders());
        for level in (1..largest).rev() {
            ladder.offsets[level] = ladder.candidates_from(level + 1) as u32;
        }
        Ok(ladder)
    }

    /// The level of the largest candidates.
    #[inline]
    pub const fn largest(&self) -> usize {
        self.largest as usize
    }

    /// The order of the size of a level. Levels above the largest return the largest order.
    #[inline]
    pub fn order(&self, level: usize) -> u8 {
        self.orders[level.min(self.largest())]
    }

    /// The number of base pages in a candidate of a level.
    #[inline]
    pub fn pages(&self, level: usize) -> u64 {
        1 << self.order(level)
    }

    /// The first page of the candidate of that level that a page lies in.
    #[inline]
    pub fn first_of(&self, level: usize, page: u64) -> u64 {
        page & !(self.pages(level) - 1)
    }

    /// The number of a page's region: the largest candidate around the page.
    #[inline]
    pub(super) fn region(&self, page: u64) -> u64 {
        page >> self.order(self.largest())
    }

    /// A page's place in its region.
    #[inline]
    pub(super) fn within(&self, page: u64) -> u64 {
        page & (self.pages(self.largest()) - 1)
    }

    /// The place, among the candidates of a region, of the one of that level that a page of it lies
    /// in.
    #[inline]
    pub(super) fn candidate(&self, level: usize, within: u64) -> usize {
        let level = level % MOST_LEVELS;
        self.offsets[level] as usize + (within >> self.orders[level]) as usize
    }

    /// The places of a level's candidates in their region.
    pub(super) fn candidates(&self, level: usize) -> std::ops::Range<usize> {
        let start = self.offsets[level] as usize;
        start..start + (1 << (self.order(self.largest()) - self.order(level)))
    }

    /// The first page in the region of the candidate of a level at a place.
    #[inline]
    pub(super) fn first_within(&self, level: usize, candidate: usize) -> u64 {
        ((candidate - self.offsets[level] as usize) as u64) << self.orders[level]
    }

    /// The number of candidates of a region of this level and above.
    pub(super) fn candidates_from(&self, level: usize) -> usize {
        if level > self.largest() {
            return 0;
        }
        self.candidates(level).end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_ladder() {
        let romer = Ladder::new(&Ladder::ROMER).unwrap();
        assert_eq!((romer.largest(), romer.pages(11)), (11, 2048));
        assert_eq!(romer.candidates_from(1), 2047);
        let sparse = Ladder::new(&[0, 4, 9]).unwrap();
        assert_eq!((sparse.order(1), sparse.pages(2)), (4, 512));
        assert_eq!(sparse.first_of(1, 700), 688);
        assert_eq!((sparse.region(700), sparse.within(700)), (1, 188));
        assert_eq!((sparse.candidates(2), sparse.candidates(1)), (0..1, 1..33));
        assert_eq!(sparse.candidate(1, 188), 12);
        assert_eq!(sparse.first_within(1, 12), 176);
    }

    #[test]
    fn what_is_not() {
        for (orders, error) in [
            (&[][..], PageSizesError::NoBasePage.into()),
            (&[1, 2], PageSizesError::NoBasePage.into()),
            (&[0], LadderError::NoCandidates),
            (&[0, 0], PageSizesError::NotAscending(0).into()),
            (&[0, 9, 4], PageSizesError::NotAscending(4).into()),
            (&[0, 9, 19], LadderError::TooLarge(19)),
        ] {
            assert_eq!(Ladder::new(orders), Err(error));
        }
        let many: Vec<u8> = (0..17).collect();
        assert_eq!(Ladder::new(&many), Err(PageSizesError::TooMany(17).into()));
    }
}
