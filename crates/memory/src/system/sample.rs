//! The state of memory at one time, and the totals at the end.

use super::System;
use super::frame_table::File;
use crate::AddressSpaces;
use crate::frames::Contiguity;

/// The state of memory at one time. Pages are base pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The time, in accesses since the trace began.
    pub time: u64,
    /// Pages that are mapped.
    pub resident: u64,
    /// Resident pages that a promotion filled and the program has not referenced.
    pub bloat: u64,
    /// Of these, pages inside superpages.
    pub in_superpages: u64,
    /// Free frames without pages that could be found again.
    pub free: u64,
    /// Frames that are mapped, each once.
    pub mapped: u64,
    /// Frames that were occupied before the trace began.
    pub occupied: u64,
    /// Frames that reservations keep for pages to come.
    pub reserved: u64,
    /// Frames that page tables take, with what is kept together with them.
    pub wired: u64,
    /// Frames with pages of files that no place maps, and free frames that still hold such pages.
    pub file_cache: u64,
    /// Free extents of each order.
    pub extents: Vec<u64>,
    /// The number of extents of each order that could be allocated.
    pub possible: Vec<u64>,
    /// The counters until then.
    pub counters: super::SystemCounters,
}

/// The totals of a system, if the trace ends here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The totals that every kind of memory has.
    pub common: crate::MemoryTotals,
    /// Present mappings, by level.
    pub mappings: Vec<u64>,
    /// Pages in the swap.
    pub in_swap: u64,
    /// Pages of files that still have to be written back.
    pub unsaved_file_pages: u64,
    /// Free frames in physical superpages that scattered superpages use in part.
    pub beside_scattered: u64,
}

impl Sample {
    /// All frames that there are: each is counted once.
    pub const fn frames(&self) -> u64 {
        self.free + self.mapped + self.file_cache + self.reserved + self.wired + self.occupied
    }
}

impl System<'_> {
    /// The frame of each resident page, by address space and page.
    pub fn frames_of_pages(&self) -> impl Iterator<Item = (super::Place, u64)> + '_ {
        let resident = self.tables.iter().filter(|(_, pte)| pte.has_frame());
        resident.map(|(at, pte)| (at, pte.frame().0))
    }

    /// The state of memory now.
    pub fn sample(&self) -> Sample {
        let Contiguity {
            extents, possible, ..
        } = Contiguity::of(&self.buddy);
        Sample {
            time: self.now,
            resident: self.counters.resident,
            bloat: self.tables.unused(),
            in_superpages: self.counters.in_superpages,
            free: self.buddy.free_frames() - self.cache.len() as u64,
            mapped: self.frames.used() - self.frames.unmapped(),
            occupied: self.occupied + self.movable.count(),
            wired: self.wired_pages.held(),
            reserved: self.reservations.reserved_unpopulated(),
            file_cache: self.frames.unmapped() + self.cache.len() as u64,
            extents,
            possible,
            counters: self.counters,
        }
    }

    /// The totals, if the trace ends here. `spaces` are the mappings.
    pub fn totals(&self, spaces: &AddressSpaces) -> Totals {
        let mut totals = Totals {
            common: crate::MemoryTotals {
                extra_zeroed_pages: self.counters.zeroed_and_gone,
                extra_disk_read_pages: self.counters.read_and_gone,
                ..crate::MemoryTotals::default()
            },
            mappings: vec![0; self.sizes.levels()],
            in_swap: self.in_swap,
            beside_scattered: self.frames_beside_scattered(),
            unsaved_file_pages: (self.frames.iter())
                .filter(|frame| {
                    let file = self.frames.file_page(*frame);
                    matches!(file, Some((File::OnDisk(_), _))) && self.is_unsaved(*frame)
                })
                .count() as u64,
        };
        for (at, pte) in self.tables.iter() {
            if !pte.has_frame() {
                continue;
            }
            let (zeroed, read) = pte.filled();
            totals.common.extra_zeroed_pages += u64::from(zeroed);
            totals.common.extra_disk_read_pages += u64::from(read);
            let piece = self.piece(at, pte.level());
            if piece.first == at {
                totals.mappings[piece.level] += 1;
                let pages = self.pages(piece.level);
                let dirty = u64::from(self.tables.counts(at, pages).dirty);
                if piece.level > 0 {
                    let kind = self.facts(spaces, piece, at.page).backing;
                    totals.common.add_superpage(kind, pages, dirty);
                }
            }
        }
        totals
    }
}
