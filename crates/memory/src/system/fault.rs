//! Faults: a page that is referenced becomes resident.

use super::frame_table::{File, FilePage, List};
use super::{Files, OutOfMemory, Piece, Place, Pte, System};
use crate::frames::Frame;
use crate::reservations::ReservationId;
use crate::{AddressSpaces, Backing, Mapping};
use broadleaf_policy::{Placement, Point, Verdict};

/// The source of a page's content, as far as a fault needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    /// The page of a file, if that is where its content comes from.
    pub(super) file: Option<FilePage>,
    /// True if other mappings see stores to the page.
    pub(super) shared: bool,
    /// True if the page is private and begins with zeroes.
    pub(super) plain: bool,
}

impl Behind {
    /// The flags of a page that maps the file's own frame. A store to a private mapping faults.
    pub(super) const fn of_file(&self) -> u64 {
        let protected = if self.shared { 0 } else { Pte::PROTECTED };
        let content = if self.is_on_disk() { Pte::CONTENT } else { 0 };
        Pte::OF_FILE | content | protected
    }

    /// Returns true if the source is a file on the disk.
    pub(super) const fn is_on_disk(&self) -> bool {
        matches!(self.file, Some((File::OnDisk(_), _)))
    }
}

impl System<'_> {
    pub(super) fn behind(&self, spaces: &AddressSpaces, at: Place) -> Behind {
        let unit = self.units(at.page, 1).start;
        let Some(mapping) = spaces.mapping_at(at.space, unit) else {
            return Behind {
                file: None,
                shared: false,
                plain: true,
            };
        };
        Behind {
            file: self.file_page(&mapping, unit),
            shared: mapping.shared,
            plain: !mapping.shared
                && matches!(
                    mapping.backing,
                    Backing::Anonymous | Backing::Heap | Backing::Stack
                ),
        }
    }

    pub(super) fn file_page(&self, mapping: &Mapping, unit: u64) -> Option<FilePage> {
        let (file, offset) = match mapping.backing {
            Backing::File { file, offset } => (File::OnDisk(file), offset),
            Backing::SharedMemory { memory, offset } => (File::Memory(memory), offset),
            _ => return None,
        };
        let bytes = (unit - mapping.pages.start) << crate::GEOMETRY.base().shift();
        Some((file, offset.wrapping_add(bytes) >> self.base.shift()))
    }

    /// A page that is not resident is referenced.
    pub(super) fn fault(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        store: bool,
    ) -> Result<(), OutOfMemory> {
        self.counters.page_faults += 1;
        self.fault_cycles += self.costs.fault;
        let behind = self.behind(spaces, at);
        let swapped = self.tables.get(at).has(Pte::SWAPPED);
        let zeroes = self.needs.zero_page && !store && behind.plain && !swapped;
        if self.needs.placement == Placement::Reserved {
            if zeroes {
                self.map_zeroes(self.piece(at, 0));
                return Ok(());
            }
            let new = self.reserve_at_fault(spaces, at, &behind, store);
            let brought = self.bring_in(spaces, at, &behind, store);
            // The page may have been in memory elsewhere, where others map it.
            if let Some(id) = new
                && self.reservations.get(id).holds_nothing()
            {
                self.dissolve(id);
            }
            brought?;
            self.map_around(spaces, at, store);
            if let Some(page) = behind.file.filter(|_| self.needs.by_object && !swapped) {
                self.read_around(spaces, page);
            }
            if store {
                self.dirty(at);
            }
            self.ask_upwards(spaces, at, Point::Fault);
            return Ok(());
        }
        let mut wanted = None;
        for level in self.asked_levels(at.space).rev() {
            let piece = self.piece(at, level);
            let mut view = self.view(spaces, piece, at.page, 1);
            view.dirty += u32::from(store);
            match self.policy.decide(Point::Fault, &view) {
                Verdict::Promote => {}
                Verdict::Stay(reason) => {
                    self.refuse(piece, reason);
                    continue;
                }
                Verdict::Demote | Verdict::Pass => continue,
            }
            if let Some(reason) = Self::cannot_be_mapped(view.coverage) {
                self.refuse(piece, reason);
            } else if view.populated > 1 || view.swapped > 0 {
                wanted = wanted.or(Some((piece, view)));
            } else if zeroes {
                self.map_zeroes(piece);
                return Ok(());
            } else if behind.file.is_some() && !self.can_be_filled(spaces, piece) {
                self.refuse(piece, broadleaf_policy::Refusal::NotInPlace);
            } else {
                if self.scatters(level) {
                    if self.fill_scattered(spaces, piece) {
                        return Ok(());
                    }
                } else {
                    let effort = self.policy.effort(Point::Fault, &view);
                    if let Some(first) = self.extent(spaces, level, effort) {
                        self.fill_extent(spaces, piece, first);
                        return Ok(());
                    }
                }
                self.refuse(piece, broadleaf_policy::Refusal::NoExtent);
            }
        }
        if zeroes {
            self.map_zeroes(self.piece(at, 0));
            return Ok(());
        }
        self.bring_in(spaces, at, &behind, store)?;
        self.map_around(spaces, at, store);
        if store {
            self.dirty(at);
        }
        if let Some((piece, view)) = wanted {
            let effort = self.policy.effort(Point::Fault, &view);
            self.promote(spaces, piece, &view, effort);
        }
        Ok(())
    }

    /// Maps the page of zeroes throughout a piece.
    fn map_zeroes(&mut self, piece: Piece) {
        for at in self.places(piece) {
            let pte = Pte::of(Frame(0), Pte::PRESENT | Pte::ZERO | Pte::PROTECTED);
            self.tables.set(at, pte.at_level(piece.level));
        }
        self.compact_piece(piece);
    }

    /// Gives one page a frame with its content.
    pub(super) fn bring_in(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        behind: &Behind,
        store: bool,
    ) -> Result<(), OutOfMemory> {
        let swapped = self.tables.get(at).has(Pte::SWAPPED);
        let of_file = behind
            .file
            .filter(|_| !swapped && (behind.shared || !store));
        if let Some(page) = of_file
            && let Some(frame) = self.in_memory(page)
        {
            self.map_file(at, frame, behind);
            return Ok(());
        }
        let frame = self.frame_for(spaces, at, behind, of_file)?;
        let flags = self.content(at, behind, of_file.is_some());
        self.map_new(at, frame, flags);
        if let Some(page) = of_file {
            self.frames.hold_file(frame, page);
        }
        Ok(())
    }

    /// Reserves frames around a place that faults, if none are reserved. A page that is in memory
    /// and stays there needs none, nor does a copy of an object's page.
    fn reserve_at_fault(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        behind: &Behind,
        store: bool,
    ) -> Option<ReservationId> {
        let swapped = self.tables.get(at).has(Pte::SWAPPED);
        let in_place = (behind.file).is_some_and(|page| !swapped && self.stays(page, 1));
        let copies =
            self.needs.by_object && behind.file.is_some() && (swapped || (store && !behind.shared));
        if copies {
            self.reserve_for_copies(spaces, at);
            return None;
        }
        let home = self.home(at, behind.file);
        let around = home.and_then(|home| self.reservations.around(home));
        match around {
            None if !in_place => self.reserve(spaces, at, behind.file),
            _ => None,
        }
    }

    /// A frame for a place: the one that its reservation keeps, or any. `of_file` is the page of
    /// the file that the frame holds, and not a copy of it.
    fn frame_for(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        behind: &Behind,
        of_file: Option<FilePage>,
    ) -> Result<Frame, OutOfMemory> {
        let is_copy = self.needs.by_object && behind.file.is_some() && of_file.is_none();
        let home = match is_copy {
            true => Some(at),
            false => self.home(at, behind.file),
        };
        if let Some((id, page, frame)) = home.and_then(|home| self.kept_for(home)) {
            self.reservations.populate(id, page);
            return Ok(frame);
        }
        self.one_frame(spaces, at)
    }

    /// Puts its content into the new frame of a place, and says what its page table has to.
    pub(super) fn content(&mut self, at: Place, behind: &Behind, of_file: bool) -> u64 {
        if self.tables.get(at).has(Pte::SWAPPED) {
            self.counters.swapped_in += 1;
            self.in_swap -= 1;
            self.fault_cycles += self.costs.disk;
            return Pte::CONTENT | Pte::UNSAVED;
        }
        let Some(page) = behind.file else {
            self.zero(1);
            return 0;
        };
        if self.frames.file_frame(page).is_none() && !self.cached.contains_key(&page) {
            match page.0 {
                File::OnDisk(_) => self.read(1),
                File::Memory(_) => return self.content_of_memory(page, behind, of_file),
            }
        }
        if of_file {
            return behind.of_file();
        }
        self.copy(1);
        Pte::CONTENT | Pte::UNSAVED
    }

    /// The content of a page of shared memory that is in no frame: from the swap, or zeroes. A
    /// place that shares the page takes it out of the swap. A place that wants a copy leaves the
    /// page in the swap.
    fn content_of_memory(&mut self, page: FilePage, behind: &Behind, of_file: bool) -> u64 {
        let swapped = if of_file {
            let was_there = self.shared_in_swap.remove(&page);
            self.in_swap -= u64::from(was_there);
            was_there
        } else {
            self.shared_in_swap.contains(&page)
        };
        if swapped {
            self.counters.swapped_in += 1;
            self.fault_cycles += self.costs.disk;
        } else {
            self.zero(1);
        }
        match (of_file, swapped) {
            (true, true) => behind.of_file() | Pte::CONTENT | Pte::UNSAVED,
            (true, false) => behind.of_file(),
            (false, true) => Pte::CONTENT | Pte::UNSAVED,
            (false, false) => 0,
        }
    }

    /// Counts pages that are read from files, and the cycles.
    pub(super) fn read(&mut self, pages: u64) {
        if self.files == Files::OnDisk {
            self.counters.file_reads += pages;
            self.fault_cycles += pages * self.costs.disk;
        }
    }

    /// Counts pages that are zeroed, except frames that hold zeroes already.
    pub(super) fn zero(&mut self, pages: u64) {
        let ahead = self.zeroed_given.min(pages);
        self.zeroed_given -= ahead;
        self.counters.zeroed_ahead += ahead;
        self.counters.zeroed += pages - ahead;
        self.fault_cycles += self.costs.zero(self.base, pages - ahead);
    }

    pub(super) fn copy(&mut self, pages: u64) {
        self.counters.copied += pages;
        self.fault_cycles += self.costs.copy(self.base, pages);
    }

    /// Returns true if a page of a file, among `pages` pages from `first` on, is in memory and will
    /// not move. There can be no superpage over such a page, and no reservation (Navarro 2002, on
    /// overlaps).
    pub(super) fn stays(&self, first: FilePage, pages: u64) -> bool {
        let range = first..(first.0, first.1 + pages);
        (self.needs.files_stay || self.needs.by_object)
            && (self.frames.holds_any(range.clone()) || self.cached.range(range).next().is_some())
    }

    /// The frame that holds a page of a file, brought back from the cache where it had left.
    pub(super) fn in_memory(&mut self, page: FilePage) -> Option<Frame> {
        if let Some(frame) = self.frames.file_frame(page) {
            return Some(frame);
        }
        let frame = self.cached.get(&page).copied()?;
        let taken = self.buddy.take(frame, 0);
        assert!(taken, "the cache names a frame that is not free");
        self.cached.remove(&page);
        self.cache.remove(&frame);
        self.counters.cache_hits += 1;
        self.frames.begin(frame);
        self.frames.hold_file(frame, page);
        self.frames.put(frame, List::Inactive);
        Some(frame)
    }

    /// Maps a frame that holds a page of a file. A frame that no other place maps moves to the
    /// reserved frame, unless the policy lets files stay.
    pub(super) fn map_file(&mut self, at: Place, frame: Frame, behind: &Behind) {
        let mut frame = frame;
        if !self.needs.files_stay
            && !self.needs.by_object
            && self.frames.mapped(frame) == 0
            && let Some((id, page, kept)) = self.kept_for(at)
        {
            self.reservations.populate(id, page);
            self.replace_frame(frame, kept);
            self.give_back(frame, 0);
            self.copy(1);
            frame = kept;
        }
        self.map(at, frame, Self::found(behind));
    }

    /// The flags of a page that was found in memory. The page was not zeroed for this fault.
    pub(super) const fn found(behind: &Behind) -> u64 {
        behind.of_file() | Pte::CONTENT
    }

    pub(super) fn map_new(&mut self, at: Place, frame: Frame, flags: u64) {
        self.frames.begin(frame);
        self.map(at, frame, flags);
    }

    /// Maps a frame at a place as a base page.
    pub(super) fn map(&mut self, at: Place, frame: Frame, flags: u64) {
        let shared = if self.frames.mapped(frame) > 0 {
            Pte::SHARED
        } else {
            0
        };
        self.frames.map(frame, at);
        let pte = Pte::of(frame, Pte::PRESENT | shared | flags);
        self.tables.set(at, pte);
        self.frames.put(frame, List::Active);
        self.mark_shared(frame);
        self.counters.resident += 1;
        self.note_peaks();
    }

    /// Sets or clears the shared flag in the page tables that map a frame. From the third mapper
    /// on, the flags of the others are set already.
    pub(super) fn mark_shared(&mut self, frame: Frame) {
        if self.frames.mapped(frame) > 2 {
            return;
        }
        let mappers = self.frames.mappers(frame);
        for at in &mappers {
            let pte = self.tables.get(*at);
            let marked = if mappers.len() > 1 {
                pte.with(Pte::SHARED)
            } else {
                pte.without(Pte::SHARED)
            };
            if marked != pte {
                self.tables.set(*at, marked);
            }
        }
    }
}
