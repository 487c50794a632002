//! Layouts: sets of superpages.

use std::collections::BTreeSet;

use super::piece::LayoutPiece;

/// A set of superpages from the beginning: disjoint aligned pieces. All other pages are base pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout(BTreeSet<LayoutPiece>);

impl Layout {
    /// The layout of these superpages, or `None` if one is a base page, is not aligned, or overlaps
    /// another.
    pub fn of(pieces: impl IntoIterator<Item = LayoutPiece>) -> Option<Self> {
        let mut layout = Self::default();
        for piece in pieces {
            let aligned = LayoutPiece::around(piece.space, piece.first, piece.order) == piece;
            let overlaps = |&other: &LayoutPiece| other.contains(piece) || piece.contains(other);
            if piece.order == 0 || !aligned || layout.0.iter().any(overlaps) {
                return None;
            }
            layout.0.insert(piece);
        }
        Some(layout)
    }

    /// The superpages, smaller ones first.
    pub fn pieces(&self) -> impl Iterator<Item = LayoutPiece> {
        self.0.iter().copied()
    }

    /// The page around a base page: a superpage, or the base page itself.
    pub fn page_around(&self, space: u32, page: u64) -> LayoutPiece {
        let itself = LayoutPiece::around(space, page, 0);
        let around = self.pieces().find(|piece| piece.contains(itself));
        around.unwrap_or(itself)
    }

    /// Returns true if `piece` is a superpage or lies in one.
    pub fn covers(&self, piece: LayoutPiece) -> bool {
        self.pieces().any(|superpage| superpage.contains(piece))
    }

    /// The superpages in `piece`.
    pub fn inside(&self, piece: LayoutPiece) -> impl Iterator<Item = LayoutPiece> {
        self.pieces()
            .filter(move |&superpage| piece.contains(superpage))
    }

    /// The layout with `piece`, which is not a base page, in place of the superpages inside it. A
    /// piece inside a superpage changes nothing.
    pub fn with(&self, piece: LayoutPiece) -> Self {
        let mut layout = self.clone();
        if !self.covers(piece) {
            layout.0.retain(|&superpage| !piece.contains(superpage));
            layout.0.insert(piece);
        }
        layout
    }
}
