//! Which superpages there are.

use std::collections::BTreeSet;

use super::piece::Piece;

/// Superpages that are there from the very beginning: aligned pieces, no two of which overlap. All else is base pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout(BTreeSet<Piece>);

impl Layout {
    /// The layout of these superpages, or `None` where one is a base page, is not aligned, or overlaps another.
    pub fn of(pieces: impl IntoIterator<Item = Piece>) -> Option<Self> {
        let mut layout = Self::default();
        for piece in pieces {
            let aligned = Piece::around(piece.space, piece.first, piece.order) == piece;
            let overlaps = |&other: &Piece| other.contains(piece) || piece.contains(other);
            if piece.order == 0 || !aligned || layout.0.iter().any(overlaps) {
                return None;
            }
            layout.0.insert(piece);
        }
        Some(layout)
    }

    /// The superpages, smaller ones first.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.0.iter().copied()
    }

    /// The page that a base page lies in: the superpage around it, or itself.
    pub fn page_around(&self, space: u32, page: u64) -> Piece {
        let itself = Piece::around(space, page, 0);
        let around = self.pieces().find(|piece| piece.contains(itself));
        around.unwrap_or(itself)
    }

    /// Whether `piece` is a superpage or lies in one.
    pub fn covers(&self, piece: Piece) -> bool {
        self.pieces().any(|superpage| superpage.contains(piece))
    }

    /// The superpages in `piece`.
    pub fn inside(&self, piece: Piece) -> impl Iterator<Item = Piece> {
        self.pieces()
            .filter(move |&superpage| piece.contains(superpage))
    }

    /// The layout in which `piece`, which is no base page, is a superpage, in place of those inside it. Where it lies in one already nothing changes.
    pub fn with(&self, piece: Piece) -> Self {
        let mut layout = self.clone();
        if !self.covers(piece) {
            layout.0.retain(|&superpage| !piece.contains(superpage));
            layout.0.insert(piece);
        }
        layout
    }
}
