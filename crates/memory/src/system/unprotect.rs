//! Stores to protected pages: a page gets a frame of its own.

use super::frame_table::{File, List};
use super::{OutOfMemory, Place, Pte, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_policy::Point;

impl System<'_> {
    /// Handles a store to a page that is resident and protected. The page gets a frame of its own
    /// unless it has one.
    pub(super) fn unprotect(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
    ) -> Result<(), OutOfMemory> {
        let pte = self.tables.get(at);
        self.counters.write_faults += 1;
        self.fault_cycles += self.costs.fault;
        if pte.has(Pte::ZERO) {
            return self.replace_zeroes(spaces, at);
        }
        if self.unprotect_superpage(at) {
            return Ok(());
        }
        let frame = pte.frame();
        let file = self.frames.file_page(frame);
        // Shared memory keeps its page, which is nowhere else.
        let keeps = file.is_some_and(|(file, _)| matches!(file, File::Memory(_)));
        if self.frames.mapped(frame) == 1 && !keeps && self.object_of(frame).is_none() {
            if let Some(page) = file {
                self.copy(1);
                // Stores of other places to the file's page have to be saved before the page leaves
                // memory.
                self.save(page, self.frames.is_unsaved(frame));
                self.frames.forget_file(frame);
            }
            let own = pte.without(Pte::PROTECTED | Pte::OF_FILE);
            self.tables.set(at, own.with(Pte::UNSAVED));
            return Ok(());
        }
        if self.copy_superpage(spaces, at) {
            return Ok(());
        }
        self.demote_to_base_page(at);
        let pte = self.tables.get(at);
        let new = self.frame_for_copy(spaces, at)?;
        self.copy(1);
        self.note_unsaved(pte);
        self.leave_frame(at, frame);
        self.take_for_own(at, pte.with(Pte::UNSAVED), new);
        self.forget_range(at, 1);
        Ok(())
    }

    /// Moves an entry to a new frame that no other place maps.
    pub(super) fn take_for_own(&mut self, at: Place, pte: Pte, frame: Frame) {
        self.frames.begin(frame);
        self.frames.map(frame, at);
        self.frames.put(frame, List::Active);
        let not_own = Pte::PROTECTED | Pte::OF_FILE | Pte::SHARED;
        self.tables.set(at, pte.without(not_own).moved_to(frame));
    }

    /// Handles a store to a superpage of anonymous memory whose pages no other place maps any more:
    /// removes the protection of all its pages. Returns false if another place maps one of them.
    fn unprotect_superpage(&mut self, at: Place) -> bool {
        let piece = self.piece(at, self.tables.get(at).level());
        if piece.level == 0 {
            return false;
        }
        let own = |at: Place| {
            let pte = self.tables.get(at);
            !pte.has(Pte::OF_FILE) && self.frames.mapped(pte.frame()) == 1
        };
        if !self.places(piece).all(own) {
            return false;
        }
        for at in self.places(piece) {
            let pte = self.tables.get(at);
            self.tables.set(at, pte.without(Pte::PROTECTED));
        }
        self.compact_piece(piece);
        true
    }

    /// A store meets the page of zeroes.
    fn replace_zeroes(&mut self, spaces: &AddressSpaces, at: Place) -> Result<(), OutOfMemory> {
        let level = self.tables.get(at).level();
        if level > 0 {
            let piece = self.piece(at, level);
            let view = self.view(spaces, piece, at.page, 0);
            let effort = self.policy.effort(Point::Fault, &view);
            let pages = self.pages(level);
            let extent = self.extent(spaces, level, effort);
            self.forget_range(piece.first, pages);
            for at in self.places(piece) {
                self.tables.set(at, Pte::NONE);
            }
            if let Some(first) = extent {
                self.fill_extent(spaces, piece, first);
                return Ok(());
            }
            self.refuse(piece, broadleaf_policy::Refusal::NoExtent);
        } else {
            self.forget_range(at, 1);
            self.tables.set(at, Pte::NONE);
        }
        self.bring_in(spaces, at, &self.behind(spaces, at), true)
    }
}
