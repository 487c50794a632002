//! Pages that move to other addresses.

use super::{Place, Pte, System};
use crate::frames::Frame;
use crate::reservations::ReservationId;
use crate::{GEOMETRY, Pages, Shootdown};
use broadleaf_units::SpaceId;

impl System<'_> {
    /// Moves pages of a space, as by `mremap(2)`.
    pub(super) fn relocate(&mut self, space: SpaceId, pages: Pages, to: u64) {
        let (from, end) = self.within(pages);
        let shift = self.base.shift() - GEOMETRY.base().shift();
        let target = to >> shift;
        // Pages that would not come to lie on whole base pages cannot be moved: they go.
        if ((pages.start | to) & ((1 << shift) - 1)) != 0 {
            self.release(space, pages);
            return;
        }
        self.stop_streams(space, from, end);
        self.cut_at(space, from, end);
        // Demotes superpages that would not be aligned at the new address, to the largest size that
        // is aligned.
        let distance = target.wrapping_sub(from);
        let mut kept = Vec::new();
        for (at, _) in self.tables.pages_in(space, from, end) {
            loop {
                let level = self.tables.get(at).level();
                if level == 0 || distance.is_multiple_of(self.pages(level)) {
                    break;
                }
                self.demote(self.piece(at, level));
            }
            if let Some(id) = self.reservations.around(at) {
                let reservation = self.reservations.get(id);
                let (first, length) = (reservation.key(), reservation.population().len());
                let whole = from <= first.page
                    && first.page + length <= end
                    && distance.is_multiple_of(length);
                if !kept.contains(&(id, whole)) {
                    kept.push((id, whole));
                }
            }
        }
        for (id, whole) in &mut kept {
            let reservation = self.reservations.get(*id);
            let page = reservation.key().page.wrapping_add(distance);
            let (there, level) = (Place { space, page }, reservation.level());
            if reservation.has_given_up() {
                // A reservation that gave up frames is not moved. It ends here.
                self.dissolve(*id);
                *whole = false;
            } else if !*whole {
                self.pull_out(*id, from, end);
            } else if self.reservations.overlaps(there, level) {
                // Another reservation is kept for what stays around the place to which it would go.
                self.dissolve(*id);
                *whole = false;
            }
        }
        let moving = self.tables.pages_in(space, from, end);
        for (at, pte) in &moving {
            self.tables.set(*at, Pte::NONE);
            if pte.has_frame() {
                self.frames.unmap(pte.frame(), *at);
            }
        }
        for (at, pte) in &moving {
            let page = at.page.wrapping_add(distance);
            let there = Place { page, ..*at };
            self.tables.set(there, *pte);
            if pte.has_frame() {
                self.frames.map(pte.frame(), there);
            }
        }
        let moved: Vec<_> = (kept.iter().filter(|(_, whole)| *whole))
            .map(|(id, _)| {
                let key = self.reservations.get(*id).key();
                let made = self.reserved_at.remove(&key).unwrap_or(self.now);
                (self.reservations.remove(*id), made)
            })
            .collect();
        for (old, made) in moved {
            let page = old.key().page.wrapping_add(distance);
            let key = Place { space, page };
            let id = (self.reservations).make(key, old.first_frame(), old.level());
            for page in old.population().pages() {
                self.reservations.populate(id, page);
            }
            self.reserved_at.insert(key, made);
            self.will_be_due(key, made);
        }
        for (at, _) in &moving {
            let page = at.page.wrapping_add(distance);
            self.settle_in(Place { page, ..*at });
        }
        self.tables.tidy(space, from, end);
        if !moving.is_empty() {
            self.shootdowns.push(Shootdown::Range { space, pages });
        }
    }

    /// A page that arrived where a reservation keeps a frame for it is copied there.
    fn settle_in(&mut self, at: Place) {
        let pte = self.tables.get(at);
        if !pte.has_frame() || pte.level() > 0 || self.frames.mapped(pte.frame()) > 1 {
            return;
        }
        if pte.has(Pte::OF_FILE) && self.needs.by_object {
            return;
        }
        if let Some((id, page, frame)) = self.kept_for(at) {
            self.reservations.populate(id, page);
            self.replace_frame(pte.frame(), frame);
            self.give_back(pte.frame(), 0);
            self.copy(1);
        }
    }

    /// Takes the pages of a range out of a reservation that stays with the other pages, and copies
    /// them to frames of their own. If too few frames are free, or no page stays, the reservation
    /// ends.
    fn pull_out(&mut self, id: ReservationId, from: u64, end: u64) {
        let reservation = self.reservations.get(id);
        let key = reservation.key();
        let going: Vec<u64> = (reservation.population().pages())
            .filter(|page| (from..end).contains(&(key.page + page)))
            .collect();
        if going.len() as u64 == reservation.population().count()
            || going.len() as u64 > self.buddy.free_frames()
        {
            self.dissolve(id);
            return;
        }
        for page in going {
            let frame = Frame(self.reservations.get(id).frame(page));
            let Some(other) = self.take_free(0) else {
                return;
            };
            for at in self.frames.mappers(frame) {
                self.demote_to_base_page(at);
            }
            self.replace_frame(frame, other);
            self.copy(1);
            self.reservations.depopulate(id, page);
        }
    }
}
