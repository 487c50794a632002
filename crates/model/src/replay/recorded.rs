//! Events of a recorded system.

use super::Replay;
use broadleaf_memory::Pages;
use broadleaf_trace::{FaultStep, GuestLeaf, Invalidation, SystemEvent};
use broadleaf_units::{PageSize, SpaceId, VirtAddr};

/// The pages of 4 KiB in the lower half of the addresses.
const LOWER_HALF: u64 = 1 << 51;

impl Replay<'_, '_> {
    /// Applies an event that only recordings of whole systems have.
    pub(super) fn system_event(&mut self, event: &SystemEvent) {
        match event {
            SystemEvent::Leaf(leaf) => self.leaf(leaf),
            SystemEvent::Invalidate(what) => {
                self.invalidate_in(self.stream.running, *what);
            }
            SystemEvent::PageFault(FaultStep::Handled) => {
                let worlds = self.worlds.all.iter_mut();
                worlds.for_each(|world| world.note_recorded_fault());
            }
            // Spaces have become events of every trace, and no model looks at privileges.
            SystemEvent::PageFault(FaultStep::Exception)
            | SystemEvent::Privilege(_)
            | SystemEvent::Space(_)
            | SystemEvent::SpaceEnd => {}
        }
    }

    fn leaf(&mut self, leaf: &GuestLeaf) {
        self.end_batch();
        self.worlds.run_daemons(&self.stream);
        let Some((space, changed)) = self.stream.note_leaf(leaf) else {
            return;
        };
        let is_kernels = Some(space) == self.stream.kernel();
        for world in &mut self.worlds.all {
            if let Some(size) = PageSize::from_shift(leaf.shift) {
                world.map_as_recorded(space, leaf.start, size, is_kernels, &self.stream);
            }
            if changed {
                let bytes = 1u64 << leaf.shift.min(PageSize::SIZE_2M.shift());
                let pages = Pages::of_bytes(leaf.start, bytes);
                world.drop_as_recorded(space, pages, &self.stream.spaces);
            }
        }
    }

    /// Drops translations of a space, or of all spaces.
    pub(super) fn invalidate_in(&mut self, running: SpaceId, what: Invalidation) {
        self.end_batch();
        let Some(kernel) = self.stream.kernel() else {
            return;
        };
        let spaces = &self.stream.spaces;
        let lower = Pages {
            start: 0,
            end: LOWER_HALF,
        };
        for world in &mut self.worlds.all {
            match what {
                Invalidation::Page(VirtAddr(at)) => {
                    let page = at >> PageSize::SIZE_4K.shift();
                    let (start, end) = (page, page + 1);
                    let of_kernel = page >= LOWER_HALF;
                    let space = if of_kernel { kernel } else { running };
                    world.drop_as_recorded(space, Pages { start, end }, spaces);
                }
                // The leaf of the page follows before its next use, if it has changed.
                Invalidation::UnknownPage => {}
                Invalidation::Space => world.drop_as_recorded(running, lower, spaces),
                Invalidation::Everything => world.drop_everything(spaces),
            }
        }
    }
}
