//! Processes that begin as copies of others.

use super::{Place, Pte, System};
use crate::{AddressSpaces, Pages, Shootdown};
use broadleaf_units::SpaceId;

impl System<'_> {
    /// Forks a space: the child begins with the pages that the parent holds now. Both share the
    /// frames, and a store to private memory copies.
    ///
    /// A trace does not say whether it follows the child. A child that never begins holds its pages
    /// until the parent ends. A child that the trace named before the fork began with nothing.
    pub fn fork(&mut self, spaces: &AddressSpaces, parent: SpaceId, child: u32) {
        if self.begun.insert(child, false) == Some(true) {
            return;
        }
        // No trace has enough spaces to use these names.
        let unborn = SpaceId(u32::MAX - child);
        if let Some((old, _)) = self.forked.insert(child, (unborn, parent)) {
            self.abandon(old);
        }
        // Entries that allow stores to what is shared now have to go.
        self.shootdowns.push(Shootdown::Range {
            space: parent,
            pages: Pages::ALL,
        });
        for (at, pte) in self.tables.pages_in(parent, 0, u64::MAX) {
            let private = !self.behind(spaces, at).shared;
            let pte = if private && pte.has_frame() {
                pte.with(Pte::PROTECTED)
            } else {
                pte
            };
            self.tables.set(at, pte);
            let there = Place {
                space: unborn,
                ..at
            };
            if pte.has(Pte::SWAPPED) {
                self.in_swap += 1;
            }
            self.tables.set(there, pte);
            if pte.has_frame() {
                self.frames.map(pte.frame(), there);
                self.mark_shared(pte.frame());
                self.counters.resident += 1;
                self.counters.in_superpages += u64::from(pte.level() > 0);
            }
        }
        self.note_peaks();
    }

    /// A space begins: as a copy of the one that forked it, or with nothing.
    pub fn begin(&mut self, space: SpaceId, process: u32) {
        self.release_pages(space, 0, u64::MAX);
        let Some((unborn, _)) = self.forked.remove(&process) else {
            // The recorder writes the fork first, but other traces may write the start of the child
            // first.
            self.begun.entry(process).or_insert(true);
            return;
        };
        let pages = self.tables.pages_in(unborn, 0, u64::MAX);
        for (at, pte) in pages {
            let there = Place { space, ..at };
            self.tables.set(at, Pte::NONE);
            self.tables.set(there, pte);
            if pte.has_frame() {
                self.frames.unmap(pte.frame(), at);
                self.frames.map(pte.frame(), there);
            }
        }
        self.tables.tidy(unborn, 0, u64::MAX);
        self.inheriting.insert(space);
    }

    /// A space ended: children of it that never began will not.
    pub(super) fn abandon_children_of(&mut self, parent: SpaceId) {
        let unborn: Vec<(u32, SpaceId)> = (self.forked.iter())
            .filter(|(_, (_, of))| *of == parent)
            .map(|(child, (unborn, _))| (*child, *unborn))
            .collect();
        for (child, unborn) in unborn {
            self.forked.remove(&child);
            self.abandon(unborn);
        }
    }

    fn abandon(&mut self, unborn: SpaceId) {
        self.release_pages(unborn, 0, u64::MAX);
    }
}
