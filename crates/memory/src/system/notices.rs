//! The leaves of a system's page tables, and notices of their changes.

use super::{Place, Pte, System};
use crate::{AddressSpaces, Notice, Shootdown};
use broadleaf_units::{AlignedRun, Leaf, PageSize, Rights, Scattering, SpaceId};
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
    /// ones, then those whose rights changed. `spaces` has the rights.
    pub fn notices(&mut self, spaces: &AddressSpaces) -> Vec<Notice> {
        let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
        let mut kept = BTreeSet::new();
        for (at, before) in self.tables.take_changes() {
            let (before, after) = (self.leaf_of(at, before), self.leaf(at));
            if before != after {
                old.extend(before.map(|leaf| (at.space, leaf)));
                new.extend(after.map(|leaf| (at.space, leaf)));
            } else {
                kept.extend(after.map(|leaf| (at.space, leaf)));
            }
        }
        let mut notices = Vec::with_capacity(old.len() + new.len());
        for (space, leaf) in old {
            let rights = self.noticed_rights.remove(&(space, leaf.run));
            let rights = rights.unwrap_or(leaf.rights);
            notices.push(Notice::Unmapped(space, Leaf { rights, ..leaf }));
        }
        for (space, leaf) in new {
            let rights = rights_of(spaces, space, leaf.run);
            self.noticed_rights.insert((space, leaf.run), rights);
            notices.push(Notice::Mapped(space, Leaf { rights, ..leaf }));
        }
        for (space, leaf) in kept {
            let rights = rights_of(spaces, space, leaf.run);
            if self.noticed_rights.insert((space, leaf.run), rights) != Some(rights) {
                notices.push(Notice::Protected(space, Leaf { rights, ..leaf }));
            }
        }
        notices
    }

    /// The rights of a range may have changed: the next notices have those of its pages.
    pub(super) fn notice_rights(&mut self, space: SpaceId, from: u64, to: u64) {
        self.tables.note_unchanged(space, from, to);
    }

    /// The translations of a range are stale.
    pub(super) fn forget_range(&mut self, at: Place, pages: u64) {
        let pages = self.units(at.page, pages);
        self.shootdowns.push(Shootdown::Range {
            space: at.space,
            pages,
        });
    }

    /// The page that maps this place, as if its mapping allowed loads and stores. `None` if the
    /// place is not mapped.
    pub fn leaf(&self, at: Place) -> Option<Leaf> {
        self.leaf_of(at, self.tables.get(at))
    }

    /// Returns true if the modified bit of the page that maps this place is set: a store went to a
    /// part of the page.
    pub fn is_modified(&self, at: Place) -> bool {
        self.is_modified_by(at, self.tables.get(at))
    }

    /// The page that maps this place, as [`Self::leaf`], its level and its modified bit.
    pub fn leaf_and_modified(&self, at: Place) -> Option<(Leaf, usize, bool)> {
        let pte = self.tables.get(at);
        let leaf = self.leaf_of(at, pte)?;
        Some((leaf, pte.level(), self.is_modified_by(at, pte)))
    }

    fn is_modified_by(&self, at: Place, pte: Pte) -> bool {
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
        let number = at.page - piece.first.page;
        let scattering = self.scattering_of(pte);
        let frame = match scattering {
            None => pte.frame().0.wrapping_sub(number),
            Some(scattering) => scattering.first_of(pte.frame().0, number),
        };
        let run = AlignedRun {
            first: self.units_of(piece.first.page),
            size: self.size(pte.level()),
        };
        Some(Leaf {
            scattering: scattering.and_then(Scattering::pack),
            ..Leaf::new(run, pte.has_frame().then_some(frame << shift))
        })
    }
}

/// The rights of a mapped page. A page that no mapping shows allows loads and stores.
fn rights_of(spaces: &AddressSpaces, space: SpaceId, run: AlignedRun) -> Rights {
    let mapping = spaces.mapping_at(space, run.first.0);
    mapping.map_or(Rights::READ_WRITE, |mapping| mapping.rights)
}
