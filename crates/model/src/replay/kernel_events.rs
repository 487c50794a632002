//! Events of an instrumented kernel, as worlds follow them.

use super::Replay;
use crate::events::pages;
use crate::stream::Stream;
use broadleaf_memory::{Change, GEOMETRY, Pages};
use broadleaf_trace::{Invalidation, KernelAction, KernelEvent, TagFlush};
use broadleaf_units::{BlockNumber, PageNumber, PageSize, VirtAddr};

/// The block that begins at this address.
const fn block_at(start: VirtAddr) -> BlockNumber {
    GEOMETRY.block_of(PageNumber(start.0 >> PageSize::SIZE_4K.shift()))
}

/// Applies an event to the address spaces and returns the changes for every memory. The kernel's
/// own memory follows its leaves alone.
fn changes(stream: &mut Stream, event: &KernelEvent) -> Vec<Change> {
    let space = event.space;
    if stream.kernel() == Some(space) {
        return Vec::new();
    }
    stream.forget_facts();
    let now = stream.now();
    let spaces = stream.spaces_mut();
    match event.action {
        KernelAction::ReservationCreated(start) => {
            spaces.follow_kernel();
            spaces.reserved_by_kernel(space, block_at(start), now);
            // A kernel reserves a block of which no page is in memory.
            spaces.discard(space, Pages::of_block(block_at(start)))
        }
        KernelAction::ReservationBroken(start) => {
            spaces.follow_kernel();
            spaces.unreserved_by_kernel(space, block_at(start));
            Vec::new()
        }
        KernelAction::ReservationFreed(start) => {
            spaces.follow_kernel();
            spaces.unreserved_by_kernel(space, block_at(start));
            spaces.discard(space, Pages::of_block(block_at(start)))
        }
        KernelAction::Shared(start) => {
            spaces.reserved_by_kernel(space, block_at(start), now);
            Vec::new()
        }
        KernelAction::Unmapped(range) => spaces.unmap(space, pages(range)),
        KernelAction::Protected(range, rights) => spaces.protect(space, pages(range), rights),
        KernelAction::PagedOut(range) => spaces.discard(space, pages(range)),
        KernelAction::Promoted(_)
        | KernelAction::Demoted(_)
        | KernelAction::PageFlushed(_)
        | KernelAction::SpaceFlushed
        | KernelAction::AllFlushed
        | KernelAction::TagFlushed(_) => Vec::new(),
    }
}

impl Replay<'_, '_> {
    /// Applies an event that the recorded kernel emitted.
    pub(super) fn kernel_event(&mut self, event: &KernelEvent) {
        let space = event.space;
        match event.action {
            KernelAction::PageFlushed(at) | KernelAction::TagFlushed(TagFlush::Page(at)) => {
                self.invalidate_in(space, Invalidation::Page(at));
            }
            KernelAction::SpaceFlushed | KernelAction::TagFlushed(TagFlush::Space) => {
                self.invalidate_in(space, Invalidation::Space);
            }
            KernelAction::AllFlushed | KernelAction::TagFlushed(TagFlush::All) => {
                self.invalidate_in(space, Invalidation::Everything);
            }
            KernelAction::TagFlushed(TagFlush::AllButGlobal) => self.flush_all_but_global(),
            KernelAction::ReservationCreated(_)
            | KernelAction::ReservationBroken(_)
            | KernelAction::ReservationFreed(_)
            | KernelAction::Promoted(_)
            | KernelAction::Demoted(_)
            | KernelAction::Shared(_)
            | KernelAction::Unmapped(_)
            | KernelAction::Protected(..)
            | KernelAction::PagedOut(_) => self.change_memory(event),
        }
    }

    fn change_memory(&mut self, event: &KernelEvent) {
        self.end_batch();
        self.worlds.run_daemons(&self.stream);
        if self.stream.kernel() == Some(event.space) {
            return;
        }
        let changes = changes(&mut self.stream, event);
        let spaces = &self.stream.spaces;
        for world in &mut self.worlds.all {
            changes
                .iter()
                .for_each(|change| world.apply(change, spaces));
            world.follow_kernel(event, &self.stream);
        }
    }

    fn flush_all_but_global(&mut self) {
        self.end_batch();
        let Some(kernel) = self.stream.kernel() else {
            return;
        };
        let spaces = &self.stream.spaces;
        for world in &mut self.worlds.all {
            world.drop_all_but(kernel, spaces);
        }
    }
}
