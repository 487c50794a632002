//! The actions of a recorded system in a world.

use super::{Scene, World};
use crate::stream::Stream;
use broadleaf_memory::system::Place;
use broadleaf_memory::{AddressSpaces, Pages};
use broadleaf_trace::{KernelAction, KernelEvent};
use broadleaf_units::{PageNumber, PageSize, SpaceId, VirtAddr};

/// The pages of 4 KiB in all addresses of 64 bits.
const ALL_PAGES: u64 = 1 << (u64::BITS - PageSize::SIZE_4K.shift() as u32);

impl World<'_> {
    /// Switches all machines to the space of a page: the upper half of the addresses is the
    /// kernel's in every space. Its translations have a tag of their own, so they are global.
    /// Lookups that wait are of the space that ran, and are made first.
    #[inline]
    pub(super) fn enter_space_of(&mut self, page: PageNumber, scene: &Scene<'_>) {
        let space = scene.part.space_of(page);
        if self.mmu.running.0 != space {
            self.translate_before_changes(&scene.stream.spaces);
            self.switch(space);
        }
    }

    /// Maps a page as the recorded kernel did, if it is the kernel's own or the policy is to follow
    /// the recorded sizes.
    pub(crate) fn map_as_recorded(
        &mut self,
        space: SpaceId,
        start: VirtAddr,
        size: PageSize,
        is_kernels: bool,
        stream: &Stream,
    ) {
        let spaces = &stream.spaces;
        if self.ended.is_some() || !(is_kernels || self.policy.needs().recorded_sizes) {
            return;
        }
        let page = PageNumber(start.0 >> PageSize::SIZE_4K.shift());
        let at = Place {
            space,
            page: self.system.base_page(page),
        };
        let mut mapped = Ok(());
        self.impose(spaces, |system| {
            mapped = system.map_as_recorded(spaces, at, size, is_kernels);
        });
        if mapped.is_err() {
            self.ended = Some(stream.now());
            let totals = self.system.totals(spaces);
            self.totals_when_ended = Some(Box::new(totals));
        }
    }

    /// Counts a page fault of the recorded system, if the policy is the recorded one.
    pub(crate) fn note_recorded_fault(&mut self) {
        if self.ended.is_none() && self.policy.needs().recorded_sizes {
            self.system.note_recorded_fault();
        }
    }

    /// Drops the translations of pages, as the recorded processor did.
    pub(crate) fn drop_as_recorded(
        &mut self,
        space: SpaceId,
        pages: Pages,
        spaces: &AddressSpaces,
    ) {
        if self.ended.is_none() {
            self.system.drop_as_recorded(space, pages);
            self.shoot_down(spaces);
        }
    }

    /// Drops all translations, global ones included.
    pub(crate) fn drop_everything(&mut self, spaces: &AddressSpaces) {
        let all = Pages {
            start: 0,
            end: ALL_PAGES,
        };
        let known: Vec<SpaceId> = self.mmu.tags.spaces().collect();
        for space in known {
            self.drop_as_recorded(space, all, spaces);
        }
    }

    /// Drops the translations of all spaces but this one, whose pages are global.
    pub(crate) fn drop_all_but(&mut self, kernel: SpaceId, spaces: &AddressSpaces) {
        let all = Pages {
            start: 0,
            end: ALL_PAGES,
        };
        let known: Vec<SpaceId> = self.mmu.tags.spaces().collect();
        for space in known.into_iter().filter(|space| *space != kernel) {
            self.drop_as_recorded(space, all, spaces);
        }
    }

    /// Follows the recorded kernel's superpages and reservations. Its own decisions about
    /// superpages concern the policy that follows the recorded sizes.
    pub(crate) fn follow_kernel(&mut self, event: &KernelEvent, stream: &Stream) {
        let spaces = &stream.spaces;
        let at = |start: VirtAddr| Place {
            space: event.space,
            page: self
                .system
                .base_page(PageNumber(start.0 >> PageSize::SIZE_4K.shift())),
        };
        if self.ended.is_some() {
            return;
        }
        let follows_sizes = self.policy.needs().recorded_sizes;
        match event.action {
            KernelAction::ReservationBroken(start) => {
                let at = at(start);
                self.impose(spaces, |system| system.break_as_recorded(at));
            }
            KernelAction::Demoted(start) if follows_sizes => {
                let at = at(start);
                self.impose(spaces, |system| system.demote_as_recorded(at));
            }
            KernelAction::Promoted(start) | KernelAction::Shared(start) if follows_sizes => {
                self.map_as_recorded(event.space, start, PageSize::SIZE_2M, false, stream);
            }
            _ => {}
        }
    }
}
