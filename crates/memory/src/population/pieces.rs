//! A population piece by piece.

use super::Population;

/// An aligned piece, all of it populated or none of it, that lies in no larger one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PopulatedPiece {
    /// Its first page.
    pub page: u64,
    /// The level of its size.
    pub level: usize,
    /// True if the piece's pages are populated.
    pub populated: bool,
}

impl Population {
    /// The largest aligned pieces that are either full or empty, in order. Together they are the
    /// whole.
    pub fn pieces(&self) -> impl Iterator<Item = PopulatedPiece> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let page = (next < self.len()).then_some(next)?;
            let (level, populated) = self.uniform(page);
            next += self.sizes.pages(level);
            Some(PopulatedPiece {
                page,
                level,
                populated,
            })
        })
    }

    /// The largest aligned pieces in which nothing is populated, in order: the first page and the
    /// level of each.
    pub fn free_pieces(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.pieces()
            .filter(|piece| !piece.populated)
            .map(|piece| (piece.page, piece.level))
    }

    /// The populated pages, in order.
    pub fn pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.pieces()
            .filter(|piece| piece.populated)
            .flat_map(|piece| piece.page..piece.page + self.sizes.pages(piece.level))
    }
}
