//! Copies that stores make of shared pages (Talluri 1995, section 6.3.3).

use super::frame_table::List;
use super::{OutOfMemory, Piece, Place, Pte, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_policy::{Effort, StoreToShared};

impl System<'_> {
    /// Reserves a block for the copies of the pages around a place, if the policy places copies and
    /// the block has no such reservation. The largest size comes first.
    pub(super) fn reserve_for_copies(&mut self, spaces: &AddressSpaces, at: Place) {
        let places = self.needs.store_to_shared == StoreToShared::Placed;
        if !places || self.reservations.around(at).is_some() {
            return;
        }
        for level in (1..self.sizes.levels()).rev() {
            let piece = self.piece(at, level);
            if !self.facts(spaces, piece, at.page).reservable
                || self.reservations.overlaps(piece.first, level)
            {
                continue;
            }
            if let Some(first) = self.extent(spaces, level, Effort::Later) {
                self.enter_reservation(piece.first, first, level);
                return;
            }
        }
    }

    /// A frame for the copy of a shared page.
    pub(super) fn frame_for_copy(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
    ) -> Result<Frame, OutOfMemory> {
        self.reserve_for_copies(spaces, at);
        let places = self.needs.store_to_shared == StoreToShared::Placed;
        if places && let Some((id, page, frame)) = self.kept_for(at) {
            self.reservations.populate(id, page);
            return Ok(frame);
        }
        self.one_frame(spaces, at)
    }

    /// Copies the superpage that a store met to an extent of its own, if the policy asks for that
    /// and an extent is free. Returns false if the page must be copied alone.
    pub(super) fn copy_superpage(&mut self, spaces: &AddressSpaces, at: Place) -> bool {
        let piece = self.piece(at, self.tables.get(at).level());
        if self.needs.store_to_shared != StoreToShared::Superpage || piece.level == 0 {
            return false;
        }
        // A page of shared memory or of a shared file has to stay what others see.
        let private = |at: Place| !self.behind(spaces, at).shared;
        if !self.places(piece).all(private) {
            return false;
        }
        let Some(first) = self.extent(spaces, piece.level, Effort::None) else {
            return false;
        };
        self.copy_piece(piece, first);
        true
    }

    /// Copies each page of a superpage to an extent. The copy is a superpage too.
    fn copy_piece(&mut self, piece: Piece, first: Frame) {
        for (at, number) in self.places(piece).zip(0..) {
            let pte = self.tables.get(at);
            let frame = Frame(first.0 + number);
            self.copy(1);
            self.note_unsaved(pte);
            self.leave_frame(at, pte.frame());
            self.take_for_own(at, pte.with(Pte::UNSAVED), frame);
            if number > 0 {
                self.frames.leave_list(frame);
            }
        }
        debug_assert!(self.frames.list(first) == Some(List::Active));
        self.compact_piece(piece);
        self.forget_range(piece.first, self.pages(piece.level));
    }
}
