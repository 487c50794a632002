//! The effects of events: pages go, change their rights, move, or end with their address space.

use super::frame_table::{File, List};
use super::{Place, Pte, System};
use crate::frames::Frame;
use crate::{AddressSpaces, Change, GEOMETRY, MemoryId, Pages, Shootdown};
use broadleaf_policy::Point;
use broadleaf_units::SpaceId;

impl System<'_> {
    /// Does what an event asks. The address spaces are those after it.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Release(extent) => self.release(extent.space, extent.pages),
            Change::Protect(extent) => self.protect(extent.space, extent.pages),
            Change::Relocate { from, to, .. } => self.relocate(from.space, from.pages, *to),
            Change::End(extent) => {
                self.inheriting.remove(&extent.space);
                self.abandon_children_of(extent.space);
                self.release_pages(extent.space, 0, u64::MAX);
                self.shootdowns.push(Shootdown::Space(extent.space));
            }
            Change::Emptied(memory, pages) => self.empty(*memory, *pages),
        }
        self.book();
    }

    /// Pages of shared memory are no more, wherever they are.
    fn empty(&mut self, memory: MemoryId, pages: Pages) {
        let (from, to) = self.within(pages);
        let file = File::Memory(memory);
        let range = (file, from)..(file, to);
        for (_, frame) in self.frames.holding(range.clone()) {
            let mappers = self.frames.mappers(frame);
            for at in &mappers {
                self.demote_to_base_page(*at);
            }
            self.empty_frame(frame, &mappers);
        }
        let gone: Vec<_> = self.shared_in_swap.range(range).copied().collect();
        self.in_swap -= gone.len() as u64;
        for page in &gone {
            self.shared_in_swap.remove(page);
        }
    }

    /// Books the cycles of an event as fault cycles: the program waits for events.
    fn book(&mut self) {
        self.counters.fault_cycles += std::mem::take(&mut self.fault_cycles);
    }

    /// Marks pages clean whose content the program no longer needs (`MADV_FREE`), if the policy
    /// asks for that.
    pub fn freed(&mut self, spaces: &AddressSpaces, space: SpaceId, pages: Pages) {
        if !self.needs.asked_when_freed {
            return;
        }
        let (from, to) = self.within(pages);
        let mut asked = None;
        for (at, _) in self.tables.pages_in(space, from, to) {
            // The page before may have broken the superpage that this one was part of.
            let pte = self.tables.get(at);
            // A file's page has to be saved, whatever is advised.
            let gone = if pte.has(Pte::OF_FILE) {
                Pte::DIRTY
            } else {
                Pte::DIRTY | Pte::UNSAVED
            };
            self.tables.set(at, pte.without(gone));
            let piece = self.piece(at, self.tables.get(at).level());
            if piece.level > 0 && asked != Some(piece) {
                asked = Some(piece);
                self.ask(spaces, piece, at.page, Point::Freed);
            }
        }
        self.book();
    }

    /// The base pages that lie wholly in a range.
    pub(super) fn within(&self, pages: Pages) -> (u64, u64) {
        let shift = self.base.shift() - GEOMETRY.base().shift();
        let mask = (1 << shift) - 1;
        let first = (pages.start + mask) >> shift;
        (first, (pages.end >> shift).max(first))
    }

    pub(super) fn release(&mut self, space: SpaceId, pages: Pages) {
        // The trace lists inherited mappings of a child as new mappings, and no page goes for that.
        if self.inheriting.contains(&space) {
            return;
        }
        let (from, to) = self.within(pages);
        if self.release_pages(space, from, to) {
            self.shootdowns.push(Shootdown::Range { space, pages });
        }
    }

    pub(super) fn release_pages(&mut self, space: SpaceId, from: u64, to: u64) -> bool {
        self.stop_streams(space, from, to);
        self.cut_at(space, from, to);
        let going = self.tables.pages_in(space, from, to);
        let any = going.iter().any(|(_, pte)| pte.is_present());
        for (at, pte) in going {
            if pte.level() > 0 && !pte.has(Pte::ZERO) {
                self.counters.in_superpages -= 1;
            }
            self.tables.set(at, Pte::NONE);
            if pte.has(Pte::SWAPPED) {
                self.in_swap -= 1;
            }
            if pte.has_frame() {
                self.count_gone(pte);
                self.note_unsaved(pte);
                self.put_on_list(pte.frame());
                self.leave_frame(at, pte.frame());
            }
        }
        self.tables.tidy(space, from, to);
        any
    }

    /// A place that stored to a page of a file does not map it any more: the frame remembers.
    pub(super) fn note_unsaved(&mut self, pte: Pte) {
        if pte.has(Pte::OF_FILE | Pte::UNSAVED) {
            self.frames.leave_unsaved(pte.frame());
        }
    }

    /// A frame of a superpage is on no list. The frame must be on a list as long as other places
    /// map it.
    fn put_on_list(&mut self, frame: Frame) {
        if self.frames.mapped(frame) > 1 && self.frames.list(frame).is_none() {
            self.frames.put(frame, List::Active);
        }
    }

    /// Counts a page that goes as it has to be counted then.
    pub(super) fn count_gone(&mut self, pte: Pte) {
        self.counters.resident -= 1;
        let (zeroed, read) = pte.filled();
        self.counters.zeroed_and_gone += u64::from(zeroed);
        self.counters.read_and_gone += u64::from(read);
    }

    /// Unmaps a frame from a place. The last place frees the frame, but a page of a file stays in
    /// memory, on the inactive list.
    pub(super) fn leave_frame(&mut self, at: Place, frame: Frame) {
        let of_file = self.frames.file_page(frame).is_some();
        if of_file && self.frames.mapped(frame) == 1 {
            self.leave_file(at, frame);
        } else {
            self.leave_frame_for_good(at, frame);
        }
    }

    fn leave_file(&mut self, at: Place, frame: Frame) {
        // A page that stays in its frame ends the reservation of the frame.
        if self.needs.files_stay
            && self.is_kept(at, frame)
            && let Some(id) = self.reservations.around(at)
        {
            self.dissolve(id);
        }
        if !self.is_kept(at, frame) || self.object_of(frame).is_some() {
            self.frames.unmap(frame, at);
            // Clean pages of a file become inactive as soon as it is closed (Navarro 2002, on
            // changes to the page daemon).
            let list = if self.needs.without.closing {
                List::Active
            } else {
                List::Inactive
            };
            self.frames.put(frame, list);
            return;
        }
        // The frame belongs to the reservation, so the page moves to another frame. If no frame is
        // free, a page of a file leaves memory, and shared memory ends the reservation.
        if let Some(other) = self.take_free(0) {
            self.copy(1);
            self.frames.unmap(frame, at);
            self.frames.pass_on(frame, other);
            self.frames.put(other, List::Inactive);
            self.back_to_reservation(at, frame);
        } else {
            match self.frames.file_page(frame) {
                Some((File::Memory(_), _)) => {
                    if let Some(id) = self.reservations.around(at) {
                        self.dissolve(id);
                    }
                    self.frames.unmap(frame, at);
                    self.frames.put(frame, List::Inactive);
                    return;
                }
                Some(page) => self.save(page, self.frames.is_unsaved(frame)),
                None => {}
            }
            self.leave_frame_for_good(at, frame);
        }
    }

    /// Returns true if the reservation of a place keeps this frame for the place, or an object
    /// keeps it for its page.
    pub(super) fn is_kept(&self, at: Place, frame: Frame) -> bool {
        if self.object_of(frame).is_some() {
            return true;
        }
        self.reservations.around(at).is_some_and(|id| {
            let reservation = self.reservations.get(id);
            let page = at.page - reservation.key().page;
            reservation.frame(page) == frame.0 && reservation.holds(page)
        })
    }

    /// A place does not map a frame any more, whose content goes if it was the last.
    pub(super) fn leave_frame_for_good(&mut self, at: Place, frame: Frame) {
        let kept = self.is_kept(at, frame);
        self.frames.unmap(frame, at);
        if self.frames.mapped(frame) > 0 {
            self.mark_shared(frame);
            // Other places still map a frame of this place's reservation, so the reservation cannot
            // stay whole.
            if kept
                && self.object_of(frame).is_none()
                && let Some(id) = self.reservations.around(at)
            {
                self.dissolve(id);
            }
            return;
        }
        self.frames.end(frame);
        self.take_back(at, frame, kept);
    }

    /// Returns an unused frame of a place to the reservation that keeps it, or frees it.
    pub(super) fn take_back(&mut self, at: Place, frame: Frame, kept: bool) {
        if kept {
            self.back_to_reservation(at, frame);
        } else {
            self.give_back(frame, 0);
        }
    }

    /// A frame is kept for its place again, but where nothing of the reservation is left, it ends.
    fn back_to_reservation(&mut self, at: Place, frame: Frame) {
        if let Some((id, page)) = self.object_of(frame) {
            self.depopulate(id, page);
            return;
        }
        let Some(id) = self.reservations.around(at) else {
            self.give_back(frame, 0);
            return;
        };
        let page = at.page - self.reservations.get(id).key().page;
        self.depopulate(id, page);
    }

    fn protect(&mut self, space: SpaceId, pages: Pages) {
        if self.inheriting.contains(&space) {
            return;
        }
        let (from, to) = self.within(pages);
        self.cut_at(space, from, to);
        if !self.tables.pages_in(space, from, to).is_empty() {
            self.shootdowns.push(Shootdown::Range { space, pages });
            self.notice_rights(space, from, to);
        }
    }

    /// Notes a visit of a space, or an event other than a mapping: the list of inherited mappings
    /// is complete.
    pub fn visited(&mut self, space: SpaceId) {
        if self.inheriting.remove(&space) {
            self.notice_rights(space, 0, u64::MAX);
        }
    }

    /// Returns true if the trace is still listing the inherited mappings of a space.
    pub fn is_inheriting(&self, space: SpaceId) -> bool {
        self.inheriting.contains(&space)
    }

    /// Asks about reservations that have reached the policy's age, before the access at that time.
    pub(super) fn ask_due(&mut self, spaces: &AddressSpaces, time: u64) {
        while let Some((due, key, made)) = self.due.first().copied()
            && due <= time
        {
            self.due.pop_first();
            self.note_next_due();
            self.now = due;
            let Some(id) = self.reservations.find(key) else {
                continue;
            };
            let level = self.reservations.get(id).level();
            let piece = self.piece(key, level);
            if self.reserved_at.get(&key) == Some(&made) && self.tables.get(key).level() < level {
                self.beside(|system| {
                    system.ask(spaces, piece, key.page, Point::Due);
                });
            }
        }
    }
}
