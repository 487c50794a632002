//! Pages around one that faulted: those in memory are mapped, and others are read.

use super::fault::Behind;
use super::frame_table::{File, FilePage, List};
use super::{Files, Place, Pte, System};
use crate::AddressSpaces;
use broadleaf_policy::ReadAround;

impl System<'_> {
    /// Reads the neighbours of a page of a file that faulted, in the background (section 6.3.4).
    /// They get the frames that are reserved for them, or free ones, and no mapping. The block is
    /// that of the policy's smallest superpage size, so no block is begun before it is used.
    pub(super) fn read_around(&mut self, spaces: &AddressSpaces, (file, page): FilePage) {
        let File::OnDisk(id) = file else { return };
        if self.files == Files::InMemory || self.sizes.levels() < 2 {
            return;
        }
        let pages = self.pages(1);
        let first = page & !(pages - 1);
        let around = match self.needs.read_around {
            ReadAround::No => return,
            ReadAround::Block => first..first + pages,
            ReadAround::Next(next) => page + 1..(page + 1 + u64::from(next)).min(first + pages),
        };
        for page in around {
            let near = (file, page);
            let is_there =
                self.frames.file_frame(near).is_some() || self.cached.contains_key(&near);
            if is_there || !spaces.file_holds(id, page << self.base.shift()) {
                continue;
            }
            let kept = self
                .objects
                .place(near)
                .and_then(|home| self.kept_for(home));
            let frame = match kept {
                Some((id, page, frame)) => {
                    self.reservations.populate(id, page);
                    frame
                }
                None => match self.take_free(0) {
                    Some(frame) => frame,
                    None => return,
                },
            };
            self.beside(|system| system.read(1));
            self.counters.read_around += 1;
            self.frames.begin(frame);
            self.frames.hold_file(frame, near);
            self.frames.put(frame, List::Inactive);
        }
    }

    /// Maps pages of a file around the one that faulted that are in memory already.
    pub(super) fn map_around(&mut self, spaces: &AddressSpaces, at: Place, store: bool) {
        let pages = u64::from(self.needs.fault_around);
        if pages < 2 || !pages.is_power_of_two() || store || !self.tables.get(at).has(Pte::OF_FILE)
        {
            return;
        }
        let unit = self.units(at.page, 1).start;
        let Some(mapping) = spaces.mapping_at(at.space, unit) else {
            return;
        };
        // The range begins at the aligned page or at the start of the mapping, whichever is later
        // (Linux, mm/memory.c, do_fault_around).
        let (begin, end) = self.within(mapping.pages);
        let first = (at.page & !(pages - 1)).max(begin);
        for page in first..(first + pages).min(end) {
            let unit = self.units(page, 1).start;
            let near = Place { page, ..at };
            if self.tables.get(near) != Pte::NONE {
                continue;
            }
            let Some(of_file) = self.file_page(&mapping, unit) else {
                continue;
            };
            let behind = Behind {
                file: Some(of_file),
                shared: mapping.shared,
                plain: false,
            };
            if let Some(frame) = self.in_memory(of_file) {
                self.map_file(near, frame, &behind);
            } else if self.files == Files::InMemory
                && let File::OnDisk(file) = of_file.0
                && spaces.file_holds(file, of_file.1 << self.base.shift())
                && let Some(frame) = self.take_free(0)
            {
                self.map_new(near, frame, behind.of_file());
                self.frames.hold_file(frame, of_file);
            }
        }
    }
}
