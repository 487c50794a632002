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

    /// The pages around a place that are properly placed for one TLB entry. Bit `i` is set if page
    /// `i` of the aligned block of 2^`order` pages is mapped to frame `i` of one aligned block of
    /// frames, the one that holds the frame of this place (Talluri 1995, section 4.3). At most 64
    /// pages.
    pub fn placed(&self, at: Place, order: u32) -> u64 {
        let pages = 1_u64 << order.min(6);
        let pte = self.tables.get(at);
        if !pte.has_frame() {
            return 0;
        }
        let block = pte.frame().0 & !(pages - 1);
        let first = at.page & !(pages - 1);
        let is_placed = |page: &u64| {
            let other = self.tables.get(Place {
                page: first + page,
                ..at
            });
            other.has_frame() && other.frame().0 == block + page
        };
        (0..pages).filter(is_placed).map(|page| 1 << page).sum()
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
