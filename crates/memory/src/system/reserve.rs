//! New reservations.

use super::frame_table::FilePage;
use super::objects::Objects;
use super::{Piece, Place, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use crate::reservations::ReservationId;
use broadleaf_policy::Effort;
use std::ops::Range;

impl System<'_> {
    /// Reserves the largest extent that fits around a page. The piece must have no resident page,
    /// and no page of the file in memory. Returns `None` if no size fits.
    pub(super) fn reserve(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        file: Option<FilePage>,
    ) -> Option<ReservationId> {
        let largest = if self.needs.without.large_reservations {
            self.sizes.largest().min(1)
        } else {
            self.sizes.largest()
        };
        for level in (1..=largest).rev() {
            let piece = self.piece(at, level);
            let before = at.page - piece.first.page;
            let first = file.and_then(|(file, page)| Some((file, page.checked_sub(before)?)));
            if first.is_some_and(|first| self.stays(first, self.pages(level))) {
                continue;
            }
            let of_object = self.needs.by_object && file.is_some();
            let empty = self.tables.counts(piece.first, self.pages(level)).present == 0;
            if !(empty || of_object) {
                continue;
            }
            let whole = self.facts(spaces, piece, at.page).reservable;
            let Some(used) = self.used_part(spaces, piece, at, whole) else {
                continue;
            };
            let Some(key) = self.home_of_piece(piece, at, file) else {
                continue;
            };
            // A smaller reservation is better than none.
            if self.reservations.overlaps(key, level) {
                continue;
            }
            let Some(first) = self.extent(spaces, level, Effort::Later) else {
                continue;
            };
            let made = spaces.kernel_reserved_at(at.space, self.units_of(at.page));
            let id = self.enter_reservation_made(key, first, level, made.unwrap_or(self.now));
            self.free_beyond(id, used);
            return Some(id);
        }
        file.filter(|_| self.needs.by_object)
            .and_then(|page| self.reserve_for_first_page(spaces, at, page))
    }

    /// The pages of a piece, counted from its first, that a reservation is made for: all of a piece
    /// that may be reserved as a `whole`. If the policy reserves odd sizes, the part that the
    /// mapping of the place has of another piece, if that is more than a page of the next smaller
    /// size. A recorded kernel reserves whole pieces alone.
    fn used_part(
        &self,
        spaces: &AddressSpaces,
        piece: Piece,
        at: Place,
        whole: bool,
    ) -> Option<Range<u64>> {
        let pages = self.pages(piece.level);
        if whole {
            return Some(0..pages);
        }
        if !self.needs.odd_sizes || spaces.follows_kernel() {
            return None;
        }
        let mapping = spaces.mapping_at(at.space, self.units(at.page, 1).start)?;
        let (from, to) = self.within(mapping.pages);
        let first = piece.first.page;
        let used = from.max(first) - first..to.clamp(first, first + pages) - first;
        // A smaller size would do for less.
        (used.end.saturating_sub(used.start) > self.pages(piece.level - 1)).then_some(used)
    }

    /// Frees the frames of a new reservation that lie before or after the used pages (Talluri 1995,
    /// section 6.2.1, on sizes that are no powers of two).
    fn free_beyond(&mut self, id: ReservationId, used: Range<u64>) {
        let pages = self.reservations.get(id).population().len();
        for page in (0..used.start).chain(used.end..pages) {
            let frame = self.reservations.give_up(id, page);
            self.give_back(Frame(frame), 0);
        }
    }

    /// Makes a reservation of an extent.
    pub(super) fn enter_reservation(
        &mut self,
        key: Place,
        first: Frame,
        level: usize,
    ) -> ReservationId {
        self.enter_reservation_made(key, first, level, self.now)
    }

    /// Makes a reservation of an extent, with the time at which it counts as made.
    fn enter_reservation_made(
        &mut self,
        key: Place,
        first: Frame,
        level: usize,
        made: u64,
    ) -> ReservationId {
        let id = self.reservations.make(key, first.0, level);
        self.reserved_at.insert(key, made);
        self.objects.reserved(key, first);
        self.counters.reservations += 1;
        self.will_be_due(key, made);
        id
    }

    /// The policy is to be asked of a reservation when it has the age that it named.
    pub(super) fn will_be_due(&mut self, first: Place, made: u64) {
        let due = self
            .needs
            .asked_at_age
            .and_then(|age| made.checked_add(age));
        // A policy is asked about places, and an object has many or none.
        if let Some(due) = due
            && due >= self.now
            && !Objects::is_of(first)
        {
            self.due.insert((due, first, made));
            self.next_due = self.next_due.min(due);
        }
    }
}
