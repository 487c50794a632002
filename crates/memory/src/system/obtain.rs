//! The sources of frames: the buddy allocator, preempted reservations, migrated pages and reclaimed
//! pages.

use super::{OutOfMemory, Piece, Place, System};
use crate::AddressSpaces;
use crate::frames::{Choice, Frame, FrameState, plan};
use crate::reservations::{Broken, ReservationId};
use broadleaf_policy::{Effort, Placement};

/// The frames among which a random choice is made, if memory has more: 64 GiB of base pages of 4
/// KiB.
const MOST_RANDOM_FRAMES: u64 = 1 << 24;
/// The most tries to find a free frame at random.
const MOST_RANDOM_TRIES: u32 = 64;
/// The most extents that the search for an extent to compact checks.
const MOST_SCANNED: u64 = 1024;

impl System<'_> {
    /// The number of frames that are available without taking a page back.
    pub(super) fn available(&self) -> u64 {
        if self.buddy.is_divided() {
            // What a reservation keeps lies in the pool of another size.
            return self.buddy.free_for_pages();
        }
        self.buddy.free_frames() + self.reservations.reserved_unpopulated()
    }

    /// Returns true if fewer frames are free than the page daemon keeps free.
    pub(super) fn is_short(&self) -> bool {
        self.available() < self.low
    }

    /// Returns true if an extent of that order is free.
    pub(super) fn has_extent(&self, order: u8) -> bool {
        self.buddy.has_extent(order)
    }

    /// A frame for the page of a place.
    pub(super) fn one_frame(
        &mut self,
        spaces: &AddressSpaces,
        at: Place,
    ) -> Result<Frame, OutOfMemory> {
        if let Some(frame) = self.coloured_frame(at) {
            return Ok(frame);
        }
        self.counters.foreign_colours += u64::from(self.colouring.is_some());
        loop {
            if let Some(frame) = self.take_free(0) {
                return Ok(frame);
            }
            // Reservations go before pages do.
            if !self.preempt_any() && !self.reclaim(spaces, 1) {
                return Err(OutOfMemory);
            }
        }
    }

    /// Breaks the reservation whose turn it is, if there is one. A policy that preempts the oldest
    /// takes one frame of it.
    pub(super) fn preempt_any(&mut self) -> bool {
        if self.buddy.is_divided() {
            return false;
        }
        if self.needs.preempts_oldest {
            return self.give_up_frame();
        }
        let victim = self.victim(0);
        if let Some(victim) = victim {
            self.preempt(victim);
        }
        victim.is_some()
    }

    /// The reservation that is broken for a piece of that level (Navarro 2002, on reservation
    /// lists), unless an experiment turned that order off.
    fn victim(&self, level: usize) -> Option<ReservationId> {
        let without = self.needs.without;
        let levels = level..self.reservations.sizes().levels();
        let on = |level| {
            let mut list = self.reservations.on(level);
            if without.least_recent_victim {
                list.next_back()
            } else {
                list.next()
            }
        };
        if without.smallest_list {
            levels.rev().find_map(on)
        } else if without.least_recent_victim {
            levels.into_iter().find_map(on)
        } else {
            self.reservations.victim_at_least(level)
        }
    }

    /// An extent for a page of that level: a free one, one from a preempted reservation, or one
    /// that costs as much effort as is allowed.
    pub(super) fn extent(
        &mut self,
        spaces: &AddressSpaces,
        level: usize,
        effort: Effort,
    ) -> Option<Frame> {
        let order = self.sizes.order(level);
        loop {
            if let Some(first) = self.take_free(order) {
                return Some(first);
            }
            let preempts = self.needs.placement == Placement::Reserved
                && !self.needs.preempts_oldest
                && !self.buddy.is_divided()
                && !self.needs.without.preemption;
            if !preempts {
                break;
            }
            let Some(victim) = self.victim(level) else {
                break;
            };
            self.preempt(victim);
        }
        self.counters.extents_refused += 1;
        // Neither reclaiming nor moving pages makes an extent in the pool of a size.
        match effort {
            _ if self.buddy.is_divided() => None,
            Effort::None => None,
            Effort::Later => {
                self.wanted = Some(self.wanted.map_or(level, |wanted| wanted.max(level)));
                None
            }
            Effort::Now => {
                let short = (self.low + (1 << order)).saturating_sub(self.available());
                if short > 0 {
                    self.reclaim(spaces, short);
                }
                self.take_free(order).or_else(|| self.compact(order))
            }
        }
    }

    /// A free extent. What the cache held in it is lost, and what has to be zeroed of it is known.
    pub(super) fn take_free(&mut self, order: u8) -> Option<Frame> {
        let choice = if self.needs.zeroed_ahead > 0 && !self.needs.ignores_zeroed {
            Choice::Zeroed
        } else {
            Choice::Lowest
        };
        if order == 0
            && let Some(frame) = self.random_frame()
        {
            return Some(frame);
        }
        let given = self.buddy.allocate_by(order, choice)?;
        self.zeroed_given = given.zeroed;
        self.lose_cache(given.first, 1 << order);
        Some(given.first)
    }

    /// A free frame chosen at random, if the policy asks for one. Most tries find a free frame
    /// unless memory is almost full; then the lowest free frame has to do.
    fn random_frame(&mut self) -> Option<Frame> {
        let frames = self.buddy.frames_for_pages().min(MOST_RANDOM_FRAMES);
        let random = self.random_frames.as_mut().filter(|_| frames > 0)?;
        for _ in 0..MOST_RANDOM_TRIES {
            let frame = self.buddy.frame_for_pages(random.below(frames));
            if self.buddy.take(frame, 0) {
                self.zeroed_given = 0;
                self.lose_cache(frame, 1);
                return Some(frame);
            }
        }
        None
    }

    /// Frees an extent.
    pub(super) fn give_back(&mut self, first: Frame, order: u8) {
        let given = self.buddy.free(first, order);
        assert!(given.is_ok(), "an extent was given back twice: {given:?}");
    }

    pub(super) fn lose_cache(&mut self, first: Frame, frames: u64) {
        if self.cache.is_empty() {
            return;
        }
        let lost: Vec<Frame> = (self.cache)
            .range(first..Frame(first.0 + frames))
            .map(|(frame, _)| *frame)
            .filter(|frame| !self.buddy.is_free(*frame))
            .collect();
        self.forget_cached(&lost);
    }

    /// Drops these frames from the cache.
    pub(super) fn forget_cached(&mut self, frames: &[Frame]) {
        for frame in frames {
            if let Some(page) = self.cache.remove(frame) {
                self.cached.remove(&page);
            }
        }
    }

    // ---- reservations ----

    /// Frees the lowest unused frame of the oldest reservation.
    fn give_up_frame(&mut self) -> bool {
        let Some(id) = self.reservations.first_turn() else {
            return false;
        };
        let is_first = !self.reservations.get(id).is_preempted();
        let Some(frame) = self.reservations.give_up_frame(id) else {
            return false;
        };
        self.counters.reservations_broken += u64::from(is_first);
        self.give_back(Frame(frame), 0);
        true
    }

    /// Breaks a reservation so that the largest extents that are free in it can be given out.
    fn preempt(&mut self, id: ReservationId) {
        self.counters.reservations_broken += 1;
        let reservation = self.reservations.get(id);
        let key = reservation.key();
        let largest = reservation.population().largest_free_level();
        let kept = largest.filter(|_| !self.needs.without.partial_preemption);
        let level = kept.unwrap_or(0);
        let made = self.reserved_at.remove(&key).unwrap_or(self.now);
        self.objects
            .ended(Frame(self.reservations.get(id).first_frame()));
        let broken = self.reservations.break_up(id, level);
        self.settle(broken, made);
    }

    /// Ends a reservation.
    pub(super) fn dissolve(&mut self, id: ReservationId) {
        let key = self.reservations.get(id).key();
        let made = self.reserved_at.remove(&key).unwrap_or(self.now);
        self.objects
            .ended(Frame(self.reservations.get(id).first_frame()));
        let broken = self.reservations.dissolve(id);
        self.settle(broken, made);
    }

    fn settle(&mut self, broken: Broken<Place>, made: u64) {
        for (first, order) in broken.free {
            self.give_back(Frame(first), order);
        }
        for id in broken.reserved {
            let reservation = self.reservations.get(id);
            let (key, first) = (reservation.key(), Frame(reservation.first_frame()));
            self.reserved_at.insert(key, made);
            self.objects.reserved(key, first);
        }
    }

    /// Moves pages out of the way of an extent of that order, and takes it.
    pub(super) fn compact(&mut self, order: u8) -> Option<Frame> {
        let from = Frame(self.compact_from);
        let scan = plan(
            &self.buddy,
            &|frame| self.state(frame),
            order,
            from,
            MOST_SCANNED,
        );
        self.compact_from = scan.next.0;
        let plan = scan.plan?;
        let targets = plan.carry_out(&mut self.buddy, Choice::Lowest)?;
        self.lose_cache(plan.first, 1 << order);
        for target in &targets {
            self.lose_cache(*target, 1);
        }
        for (from, to) in plan.moves.iter().zip(&targets) {
            self.migrate(*from, *to);
        }
        Some(plan.first)
    }

    fn state(&self, frame: Frame) -> FrameState {
        if self.movable.contains(frame.0) {
            return FrameState::Movable;
        }
        if self.frames.is_used(frame) {
            // A superpage would have to move as a whole, and a reserved page would lose its place.
            let free = (self.frames.mappers(frame).iter()).all(|at| {
                self.tables.get(*at).level() == 0 && self.reservations.around(*at).is_none()
            }) && self.object_of(frame).is_none();
            return if free {
                FrameState::Movable
            } else {
                FrameState::Unmovable
            };
        }
        // Reserved frames count as taken here: reservations are preempted before compaction.
        FrameState::Unmovable
    }

    /// Moves what a frame holds to another.
    fn migrate(&mut self, from: Frame, to: Frame) {
        self.counters.migrated += 1;
        self.fault_cycles += self.costs.migration;
        self.copy(1);
        if self.movable.contains(from.0) {
            self.movable.remove(from.0..from.0 + 1);
            self.movable.add(to.0..to.0 + 1);
            return;
        }
        self.replace_frame(from, to);
    }

    /// Moves the content of a frame to another. The caller frees the old frame.
    pub(super) fn replace_frame(&mut self, from: Frame, to: Frame) {
        let mappers = self.frames.mappers(from);
        for at in &mappers {
            self.frames.unmap(from, *at);
        }
        self.frames.pass_on(from, to);
        for at in mappers {
            let pte = self.tables.get(at);
            self.tables.set(at, pte.moved_to(to));
            self.frames.map(to, at);
            self.forget_range(at, 1);
        }
    }

    /// The frame of a reservation that is kept for a place or for a page of an object, where it was
    /// not given to it.
    pub(super) fn kept_for(&self, home: Place) -> Option<(ReservationId, u64, Frame)> {
        let id = self.reservations.around(home)?;
        let reservation = self.reservations.get(id);
        let page = home.page - reservation.key().page;
        let free = !reservation.population().get(page);
        free.then(|| (id, page, Frame(reservation.frame(page))))
    }

    /// The frame of a piece's first page, if one reservation keeps an extent for the whole piece.
    pub(super) fn kept_extent(
        &self,
        spaces: &AddressSpaces,
        piece: Piece,
    ) -> Option<(ReservationId, Frame)> {
        let (id, home, _) = self.reservation_of(spaces, piece)?;
        let reservation = self.reservations.get(id);
        let page = home.page - reservation.key().page;
        Some((id, Frame(reservation.frame(page))))
    }
}
