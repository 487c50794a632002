//! The leaves of a system's page tables, and notices of their changes.

use super::{Place, Pte, System};
use crate::Notice;
use broadleaf_units::{AlignedRun, Leaf, PageSize};
use std::collections::BTreeSet;

impl System<'_> {
    /// Keeps notices from here on. The pages that are mapped already are noticed first.
    pub fn keep_notices(&mut self) {
        self.tables.watch();
    }

    /// Returns true if notices wait.
    #[inline]
    pub fn has_notices(&self) -> bool {
        self.tables.has_changes()
    }

    /// The changes since the last call: first the leaves that are mapped no more, then the new
    /// ones.
    pub fn notices(&mut self) -> Vec<Notice> {
        let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
        for (at, before) in self.tables.take_changes() {
            let (before, after) = (self.leaf_of(at, before), self.leaf(at));
            if before != after {
                old.extend(before.map(|leaf| (at.space, leaf)));
                new.extend(after.map(|leaf| (at.space, leaf)));
            }
        }
        let old = old.into_iter();
        let old = old.map(|(space, leaf)| Notice::Unmapped(space, leaf));
        let new = new.into_iter();
        let new = new.map(|(space, leaf)| Notice::Mapped(space, leaf));
        old.chain(new).collect()
    }

    /// The page that maps this place. `None` if the place is not mapped.
    pub fn leaf(&self, at: Place) -> Option<Leaf> {
        self.leaf_of(at, self.tables.get(at))
    }

    /// Returns true if the modified bit of the page that maps this place is set: a store went to a
    /// part of the page.
    pub fn is_modified(&self, at: Place) -> bool {
        let pte = self.tables.get(at);
        let piece = self.piece(at, pte.level());
        match piece.level {
            0 => pte.has(Pte::DIRTY),
            level => self.tables.counts(piece.first, self.pages(level)).dirty > 0,
        }
    }

    fn leaf_of(&self, at: Place, pte: Pte) -> Option<Leaf> {
        if !pte.is_present() {
            return None;
        }
        let piece = self.piece(at, pte.level());
        let shift = self.base.shift() - PageSize::SIZE_4K.shift();
        let frame = pte.frame().0.wrapping_sub(at.page - piece.first.page);
        Some(Leaf {
            run: AlignedRun {
                first: self.units_of(piece.first.page),
                size: self.size(pte.level()),
            },
            frame: pte.has_frame().then_some(frame << shift),
        })
    }
}
