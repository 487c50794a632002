//! Repair of placement: the resident pages of a block are copied to their places in an extent, and
//! stay base pages (Talluri 1995, section 6.2.2: gather for partial-subblock TLBs).

use super::{Piece, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use broadleaf_policy::Effort;

impl System<'_> {
    /// Returns true if the resident pages of a piece are properly placed.
    pub(super) fn is_placed(&self, piece: Piece) -> bool {
        let mut start = None;
        self.places(piece).zip(0..).all(|(at, number)| {
            let pte = self.tables.get(at);
            if !pte.has_frame() {
                return true;
            }
            let first = pte.frame().0.wrapping_sub(number);
            let is_aligned = first.is_multiple_of(self.pages(piece.level));
            is_aligned && *start.get_or_insert(first) == first
        })
    }

    /// Copies the resident pages of a piece together. The piece has a reservation afterwards, so
    /// that its other pages find their places too.
    pub(super) fn repair(&mut self, spaces: &AddressSpaces, piece: Piece, effort: Effort) {
        let file = self.behind(spaces, piece.first).file;
        let Some(key) = self.home_of_piece(piece, piece.first, file) else {
            return;
        };
        let Some(first) = self.extent_to_gather(spaces, piece, effort) else {
            return;
        };
        while let Some(id) = self.reservations.first_in(key, piece.level) {
            self.dissolve(id);
        }
        self.pay(true, |system| {
            system.fault_cycles += system.costs.extent;
            let id = system.enter_reservation(key, first, piece.level);
            for (at, number) in system.places(piece).zip(0..) {
                if system.tables.get(at).has_frame() {
                    system.move_page(at, Frame(first.0 + number));
                    system.reservations.populate(id, number);
                }
            }
        });
        self.counters.repaired += 1;
        self.forget_range(piece.first, self.pages(piece.level));
    }
}
