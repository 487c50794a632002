//! Objects: files and shared memory that keep their pages' frames, whoever maps them.
//!
//! A page has an identity: its object, and its offset there (Talluri 1995, sections 6.2.5 and
//! 6.3.2). If the policy asks for it ([`Needs::by_object`](broadleaf_policy::Needs::by_object)), a
//! reservation of a file's block belongs to the file: the first mapper decides where the block
//! lies, other mappers find the frames that it reserved, and pages that nobody maps stay in place.
//! The key of such a reservation is a place that stands for the page of the object.

use super::frame_table::{File, FilePage};
use super::{Piece, Place, System};
use crate::AddressSpaces;
use crate::frames::Frame;
use crate::reservations::ReservationId;
use broadleaf_units::SpaceId;
use std::collections::BTreeMap;

/// The number that the first page of an object has in a key. No page of an address space has such
/// a number.
const FIRST_PAGE: u64 = 1 << 60;

/// The objects that have had a reservation, and the extents of those that have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    numbers: BTreeMap<File, SpaceId>,
    /// The key of each object's reservation, by the first frame of its extent.
    extents: BTreeMap<u64, Place>,
}

impl Objects {
    /// The place that stands for a page of an object that has had a reservation.
    pub(super) fn place(&self, (file, page): FilePage) -> Option<Place> {
        let space = *self.numbers.get(&file)?;
        let page = FIRST_PAGE + page;
        Some(Place { space, page })
    }

    /// The place that stands for a page of an object, which gets a number if it has none.
    fn numbered(&mut self, (file, page): FilePage) -> Place {
        let next = SpaceId(self.numbers.len() as u32);
        let space = *self.numbers.entry(file).or_insert(next);
        let page = FIRST_PAGE + page;
        Place { space, page }
    }

    /// Returns true if a reservation with this key belongs to an object.
    pub(super) const fn is_of(key: Place) -> bool {
        key.page >= FIRST_PAGE
    }

    /// Notes a reservation with this key, whose extent begins with this frame.
    pub(super) fn reserved(&mut self, key: Place, first: Frame) {
        if Self::is_of(key) {
            self.extents.insert(first.0, key);
        }
    }

    /// Notes that the reservation whose extent begins with this frame has ended.
    pub(super) fn ended(&mut self, first: Frame) {
        self.extents.remove(&first.0);
    }
}

impl System<'_> {
    /// The key under which a reservation keeps the frame of a place. A page of a file belongs to
    /// the file if the policy asks for that: `None` if the file never had a reservation.
    pub(super) fn home(&self, at: Place, file: Option<FilePage>) -> Option<Place> {
        match file.filter(|_| self.needs.by_object) {
            Some(page) => self.objects.place(page),
            None => Some(at),
        }
    }

    /// The key of a place whose mapping is looked up.
    pub(super) fn home_of(&self, spaces: &AddressSpaces, at: Place) -> Option<Place> {
        if !self.needs.by_object {
            return Some(at);
        }
        self.home(at, self.behind(spaces, at).file)
    }

    /// The first page of the piece of a reservation that a new reservation at a place would have.
    /// `None` if the place and its page of the object lie at different places of their blocks.
    pub(super) fn home_of_piece(
        &mut self,
        piece: Piece,
        at: Place,
        file: Option<FilePage>,
    ) -> Option<Place> {
        let Some((of, page)) = file.filter(|_| self.needs.by_object) else {
            return Some(piece.first);
        };
        let pages = self.pages(piece.level);
        if !(at.page ^ page).is_multiple_of(pages) {
            return None;
        }
        Some(self.objects.numbered((of, page & !(pages - 1))))
    }

    /// The reservation of an object that a frame in use belongs to, and the page of it.
    pub(super) fn object_of(&self, frame: Frame) -> Option<(ReservationId, u64)> {
        if !self.needs.by_object {
            return None;
        }
        // Frames that a large reservation gave up can belong to smaller ones inside its extent.
        let most = self.pages(self.sizes.largest());
        let before = self.objects.extents.range(..=frame.0).rev();
        let mut near = before.take_while(|(first, _)| frame.0 - **first < most);
        near.find_map(|(first, key)| {
            let id = self.reservations.find(*key)?;
            let page = frame.0 - first;
            let reservation = self.reservations.get(id);
            let is_in = page < reservation.population().len();
            (is_in && reservation.holds(page)).then_some((id, page))
        })
    }

    /// Returns true if a page of a file lies in this frame, whether a place maps it or not.
    pub(super) fn is_file_in(&self, file: Option<FilePage>, frame: Frame) -> bool {
        self.needs.by_object && file.is_some_and(|page| self.frames.file_frame(page) == Some(frame))
    }

    /// Frees a frame, or gives it back to the object that keeps it.
    pub(super) fn free_frame(&mut self, frame: Frame) {
        match self.object_of(frame) {
            Some((id, page)) => self.depopulate(id, page),
            None => self.give_back(frame, 0),
        }
    }

    /// Takes a frame back into its reservation, which ends if nothing is left of it.
    pub(super) fn depopulate(&mut self, id: ReservationId, page: u64) {
        self.reservations.depopulate(id, page);
        if self.reservations.get(id).holds_nothing() {
            self.dissolve(id);
        }
    }

    /// Reserves a block for the first page of a file that is mapped alone, as dynamic linkers do
    /// before they map all of it (section 6.3.2). The block is the largest that the file fills. If
    /// the recorded kernel reserves blocks, it must have reserved the one of the place.
    pub(super) fn reserve_for_first_page(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
        page: FilePage,
    ) -> Option<ReservationId> {
        let is_kernels = || spaces.kernel_reserved_at(at.space, self.units_of(at.page));
        if spaces.follows_kernel() && is_kernels().is_none() {
            return None;
        }
        let (File::OnDisk(file), 0) = page else {
            return None;
        };
        for level in (1..self.sizes.levels()).rev() {
            let pages = self.pages(level);
            let last = (pages << self.base.shift()) - 1;
            if !spaces.file_holds(file, last) || self.stays(page, pages) {
                continue;
            }
            let key = self.objects.numbered(page);
            if self.reservations.overlaps(key, level) {
                return None;
            }
            let effort = broadleaf_policy::Effort::Later;
            if let Some(first) = self.extent(spaces, level, effort) {
                return Some(self.enter_reservation(key, first, level));
            }
        }
        None
    }

    /// The pages of an object's piece that any place maps. `page` is a page of the piece, which
    /// `more` mappings are about to have: the page counts once, whoever maps it. `None` if counters
    /// are those of each process, or the piece is not congruent with the object.
    pub(super) fn used_of_object(
        &self,
        spaces: &AddressSpaces,
        piece: Piece,
        page: u64,
        more: u32,
    ) -> Option<u32> {
        if !self.needs.counts_by_object {
            return None;
        }
        let (file, first) = self.behind(spaces, piece.first).file?;
        let pages = self.pages(piece.level);
        if !first.is_multiple_of(pages) {
            return None;
        }
        let is_mapped = |frame: Frame| self.frames.mapped(frame) > 0;
        let held = self.frames.holding((file, first)..(file, first + pages));
        let mapped = held.iter().filter(|(_, frame)| is_mapped(*frame)).count() as u32;
        let own = (file, first + (page - piece.first.page));
        let is_counted = self.frames.file_frame(own).is_some_and(is_mapped);
        Some(mapped + if is_counted { 0 } else { more })
    }
}
