//! Changes of memory that the trace imposes.

use super::World;
use broadleaf_memory::system::{Place, Resized, System};
use broadleaf_memory::{AddressSpaces, Change};
use broadleaf_units::PageNumber;

impl<'a> World<'a> {
    /// Changes memory as the trace asks. The changes of superpages are not the policy's own.
    pub(super) fn impose(&mut self, spaces: &AddressSpaces, change: impl FnOnce(&mut System<'a>)) {
        let logged = |world: &Self| world.system.changes().map_or(0, <[Resized]>::len);
        let before = logged(self);
        change(&mut self.system);
        let after = logged(self);
        if after > before {
            self.imposed.push(before..after);
        }
        self.shoot_down(spaces);
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, change: &Change, spaces: &AddressSpaces) {
        if self.ended.is_some() {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.pass(self.moment + 1);
        }
        self.impose(spaces, |system| system.apply(change));
        // The charges of pages do not move with the pages.
        let (Change::Release(extent) | Change::Relocate { from: extent, .. }) = change else {
            return;
        };
        if self.system.is_inheriting(extent.space) {
            return;
        }
        let (page, pages) = self.system.base_pages(extent.pages);
        if let Some(recorder) = &mut self.recorder {
            let space = extent.space;
            if let Change::Relocate { to, .. } = change {
                let to = self.system.base_page(PageNumber(*to));
                recorder.moved(Place { space, page }, pages, to);
            }
            recorder.gone(Place { space, page }, pages);
        }
        if let (Some(charged), Some(tag)) = (&mut self.charged, self.mmu.tags.get(extent.space)) {
            charged.gone(tag, page, pages);
        }
    }
}
