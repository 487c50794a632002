//! The page sizes of a recorded system: its own page tables say which page maps a place.

use super::{OutOfMemory, Place, Pte, System};
use crate::{AddressSpaces, Pages, Shootdown};
use broadleaf_policy::Effort;
use broadleaf_units::{PageSize, SpaceId};

impl System<'_> {
    /// Maps a place by a page of the recorded size, or by base pages if the memory has no pages of
    /// that size. With `settled`, the page is the kernel's own: it costs nothing, counts only as
    /// resident, and policies are never asked about it. Pages that give way to it count.
    ///
    /// # Errors
    /// If no frame is available.
    pub fn map_as_recorded(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        size: PageSize,
        settled: bool,
    ) -> Result<(), OutOfMemory> {
        let before = self.counters;
        self.fault_cycles = 0;
        let level = self.level_of(size.min(PageSize::SIZE_2M)).unwrap_or(0);
        let piece = self.piece(at, level);
        if level == 0 {
            self.demote_to_base_page(at);
        }
        let own_demotions = self.counters.demotions - before.demotions;
        let is_mapped = self.tables.get(at).is_present() && self.tables.get(at).level() == level;
        if !is_mapped && level == 0 {
            let behind = self.behind(spaces, at);
            self.bring_in(spaces, at, &behind, true)?;
        } else if !is_mapped {
            let first = self.extent(spaces, level, Effort::Now).ok_or(OutOfMemory)?;
            self.copy_together(spaces, piece, first);
        }
        if settled {
            self.kernels.insert(at.space);
            let flags = Pte::USED | Pte::REFERENCED | Pte::DIRTY | Pte::CONTENT | Pte::UNSAVED;
            for at in self.places(piece) {
                self.tables.set(at, self.tables.get(at).with(flags));
            }
        }
        let (after, cycles) = (self.counters, std::mem::take(&mut self.fault_cycles));
        if settled {
            // Other pages that gave way count.
            self.counters = super::SystemCounters {
                resident: after.resident,
                peak_resident: after.peak_resident,
                in_superpages: after.in_superpages,
                peak_in_superpages: after.peak_in_superpages,
                demotions: after.demotions - own_demotions,
                zeroed_and_gone: after.zeroed_and_gone,
                read_and_gone: after.read_and_gone,
                reservations_broken: after.reservations_broken,
                part_filled_broken: after.part_filled_broken,
                swapped_out: after.swapped_out,
                file_writes: after.file_writes,
                dropped: after.dropped,
                ..before
            };
        } else {
            self.counters.fault_cycles += cycles;
        }
        Ok(())
    }

    /// The level of blocks of 2 MiB, if they can be superpages.
    fn level_of_blocks(&self) -> Option<usize> {
        self.level_of(PageSize::SIZE_2M).filter(|level| *level > 0)
    }

    /// The recorded kernel broke the superpage of a block. Nothing happens if the memory has no
    /// superpages of that size.
    pub fn demote_as_recorded(&mut self, at: Place) {
        let Some(level) = self.level_of_blocks() else {
            return;
        };
        self.fault_cycles = 0;
        while self.tables.get(at).level() >= level {
            self.demote(self.piece(at, self.tables.get(at).level()));
        }
        self.counters.fault_cycles += std::mem::take(&mut self.fault_cycles);
    }

    /// The recorded kernel broke the reservation of a block, and took back the pages that it never
    /// gave out: those that a promotion filled and no reference used. A superpage of the block is
    /// broken. Nothing happens if the memory has no superpages of that size.
    pub fn break_as_recorded(&mut self, at: Place) {
        let Some(level) = self.level_of_blocks() else {
            return;
        };
        let piece = self.piece(at, level);
        let was_superpage = self.tables.get(piece.first).level() >= level;
        self.demote_as_recorded(piece.first);
        if let Some((id, _)) = self.reservation_at(piece.first) {
            self.dissolve(id);
            self.counters.reservations_broken += 1;
        }
        let unused = |at: &Place| {
            let (zeroed, read) = self.tables.get(*at).filled();
            zeroed || read
        };
        let filled: Vec<Place> = self.places(piece).filter(unused).collect();
        self.counters.part_filled_broken += u64::from(was_superpage && !filled.is_empty());
        self.fault_cycles = 0;
        for run in filled.chunk_by(|one, next| one.page + 1 == next.page) {
            for at in run {
                self.demote_to_base_page(*at);
            }
            self.release(at.space, self.units(run[0].page, run.len() as u64));
        }
        self.counters.fault_cycles += std::mem::take(&mut self.fault_cycles);
    }

    /// Counts a page fault of the recorded system, with its fixed cost.
    pub const fn note_recorded_fault(&mut self) {
        self.counters.page_faults += 1;
        self.counters.fault_cycles += self.costs.fault;
    }

    /// The recorded processor dropped the translations of these pages of 4 KiB.
    pub fn drop_as_recorded(&mut self, space: SpaceId, pages: Pages) {
        self.shootdowns.push(Shootdown::Range { space, pages });
    }
}
