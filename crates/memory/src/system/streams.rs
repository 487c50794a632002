//! Early restart: a program goes on with base pages while the rest of a superpage is fetched
//! (Talluri 1995, sections 6.2.3 and 2.7.1).

use super::frame_table::File;
use super::{Files, Piece, Pte, System};
use crate::AddressSpaces;
use broadleaf_policy::Point;
use broadleaf_units::SpaceId;

/// The cycles of a second of the processor that the costs are figures of.
const CYCLES_PER_SECOND: u64 = 3_000_000_000;

impl System<'_> {
    /// Begins to fetch what a piece lacks, if the policy restarts early and the program would have
    /// to wait for it. Returns true if the promotion comes later, when all has arrived.
    pub(super) fn begin_stream(&mut self, spaces: &AddressSpaces, piece: Piece) -> bool {
        if !self.needs.early_restart || self.pinned.is_none() {
            return false;
        }
        let cycles = self.missing_cycles(spaces, piece);
        if cycles == 0 {
            // The program has met all missing pages itself.
            self.drop_streams(|of| *of == piece);
            return false;
        }
        if self.streams.iter().any(|(_, of)| *of == piece) {
            return true;
        }
        let accesses = u128::from(cycles) * u128::from(self.rate) / u128::from(CYCLES_PER_SECOND);
        let accesses = u64::try_from(accesses).unwrap_or(u64::MAX).max(1);
        self.streams
            .insert((self.now.saturating_add(accesses), piece));
        self.note_next_due();
        true
    }

    /// The cycles until the missing pages of a piece have been read or zeroed.
    fn missing_cycles(&self, spaces: &AddressSpaces, piece: Piece) -> u64 {
        let cycles = self.places(piece).map(|at| {
            let pte = self.tables.get(at);
            if pte.has_frame() {
                return 0;
            }
            let Some(page) = self.behind(spaces, at).file else {
                return match pte.has(Pte::SWAPPED) {
                    true => self.costs.disk,
                    false => self.costs.zero(self.base, 1),
                };
            };
            let is_there =
                self.frames.file_frame(page).is_some() || self.cached.contains_key(&page);
            match page.0 {
                _ if pte.has(Pte::SWAPPED) => self.costs.disk,
                _ if is_there => 0,
                File::OnDisk(_) if self.files == Files::InMemory => 0,
                File::OnDisk(_) => self.costs.disk,
                File::Memory(_) if self.shared_in_swap.contains(&page) => self.costs.disk,
                File::Memory(_) => self.costs.zero(self.base, 1),
            }
        });
        cycles.sum()
    }

    /// Promotes the piece whose pages have arrived first. Nothing waits for the work.
    pub(super) fn end_stream(&mut self, spaces: &AddressSpaces) {
        let Some((due, piece)) = self.streams.pop_first() else {
            return;
        };
        self.note_next_due();
        self.now = due;
        if self.tables.get(piece.first).level() >= piece.level {
            return;
        }
        let view = self.view(spaces, piece, piece.first.page, 0);
        self.beside(|system| {
            let effort = system.policy.effort(Point::Fault, &view);
            system.promote(spaces, piece, &view, effort);
        });
    }

    /// Ends the streams of pieces that have a page in a range: the pages go, so the piece has to
    /// reach its share again.
    pub(super) fn stop_streams(&mut self, space: SpaceId, from: u64, to: u64) {
        if self.streams.is_empty() {
            return;
        }
        let sizes = self.sizes;
        self.drop_streams(|piece| {
            let first = piece.first.page;
            let is_met = first < to && from < first + sizes.pages(piece.level);
            piece.first.space == space && is_met
        });
    }

    fn drop_streams(&mut self, ends: impl Fn(&Piece) -> bool) {
        self.streams.retain(|(_, piece)| !ends(piece));
        self.note_next_due();
    }

    /// Notes the next time at which a reservation falls due or the pages of a piece have arrived.
    pub(super) fn note_next_due(&mut self) {
        let due = self.due.first().map(|(due, ..)| *due);
        let stream = self.streams.first().map(|(due, _)| *due);
        self.next_due = due.into_iter().chain(stream).min().unwrap_or(u64::MAX);
    }
}
