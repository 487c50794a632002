//! Reservations of extents of frames, in the order in which they would be preempted.
//!
//! The reservation lists of Navarro 2002. The caller takes extents from an allocator, returns them,
//! maps populated pages, and decides the size of a reservation. Each reservation has a
//! [`Population`]. A list holds the reservations with the same largest free piece, in the order of
//! their latest frame allocation. The head of a list is preempted first, by
//! [`Reservations::break_up`].

mod broken;
mod check;
mod reservation;
#[cfg(test)]
mod tests;

pub use broken::{Broken, BrokenPart};
pub use reservation::{Key, Reservation, ReservationId};

use crate::population::Population;
use broadleaf_units::PageSizes;
use reservation::Turn;
use std::collections::{BTreeMap, BTreeSet};

/// All reservations of a machine's memory.
///
/// Every verb takes time in proportion to the number of page sizes and the logarithm of the number
/// of reservations. [`Self::break_up`] also takes time for each piece that it makes.
#[derive(Clone, Debug)]
pub struct Reservations<K> {
    sizes: PageSizes,
    slots: Vec<Option<Reservation<K>>>,
    vacant: Vec<ReservationId>,
    by_key: BTreeMap<K, ReservationId>,
    /// The lists, by the level of the largest free piece. They are sets and not linked lists, since
    /// a freed page moves its reservation to the middle of another list.
    lists: Vec<BTreeSet<Turn>>,
    allocations: u64,
    /// True if an allocation does not move its reservation to the end of its list.
    keeps_turns: bool,
    unpopulated: u64,
    /// Bytes of memory that the pointers to parts of reservations take.
    pointer_bytes: usize,
}

impl<K: Key> Reservations<K> {
    /// No reservations.
    pub fn new(sizes: PageSizes) -> Self {
        Self {
            sizes,
            slots: Vec::new(),
            vacant: Vec::new(),
            by_key: BTreeMap::new(),
            lists: vec![BTreeSet::new(); sizes.levels()],
            allocations: 0,
            keeps_turns: false,
            unpopulated: 0,
            pointer_bytes: 0,
        }
    }

    /// Orders the lists by the time at which each reservation was made, from now on.
    pub fn keep_turns(&mut self) {
        self.keeps_turns = true;
    }

    /// Bytes of memory that the reservations take, without the population nodes.
    pub fn bytes(&self) -> usize {
        let of_each = size_of::<K>() + size_of::<ReservationId>() + size_of::<Turn>();
        let slots = self.slots.capacity() * size_of::<Option<Reservation<K>>>();
        // Nodes of the two trees are three quarters full.
        slots + self.by_key.len() * of_each * 4 / 3 + self.pointer_bytes
    }

    /// The page sizes.
    pub fn sizes(&self) -> &PageSizes {
        &self.sizes
    }

    /// Reserves the extent of a level's size that begins with `first_frame`, for the piece that
    /// begins at `key`. No page of the piece is populated. Extent and piece are aligned to their
    /// size, and overlap no other reservation.
    ///
    /// # Panics
    /// Panics if there is no such level, or a reservation has that key.
    pub fn make(&mut self, key: K, first_frame: u64, level: usize) -> ReservationId {
        self.allocations += 1;
        self.enter(Reservation {
            key,
            first_frame,
            last_allocation: self.allocations,
            population: Population::new(self.sizes, level),
            given_up: Vec::new(),
            is_preempted: false,
        })
    }

    fn enter(&mut self, reservation: Reservation<K>) -> ReservationId {
        let id = self.vacant.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                // Doubling would take much of the machine's memory if there are many reservations.
                self.slots.reserve_exact((self.slots.len() / 8).max(64));
            }
            self.slots.push(None);
            ReservationId(self.slots.len() as u32 - 1)
        });
        let other = self.by_key.insert(reservation.key, id);
        assert!(other.is_none(), "two reservations with one key");
        let population = &reservation.population;
        self.unpopulated += population.len() - population.count();
        self.pointer_bytes += self.pointers(population.top_level());
        self.slots[id.0 as usize] = Some(reservation);
        self.enlist(id);
        id
    }

    /// Removes a reservation. The caller decides the use of its frames.
    ///
    /// # Panics
    /// Panics if there is no such reservation, as do all methods with an id.
    pub fn remove(&mut self, id: ReservationId) -> Reservation<K> {
        self.delist(id);
        let reservation = self.slots[id.0 as usize].take();
        let reservation = reservation.expect("a reservation that there is");
        self.vacant.push(id);
        self.by_key.remove(&reservation.key);
        let population = &reservation.population;
        self.unpopulated -= population.len() - population.count();
        self.pointer_bytes -= self.pointers(population.top_level());
        reservation
    }

    /// Bytes of the pointers from a piece of that level to its parts, where these are not base
    /// pages.
    fn pointers(&self, level: usize) -> usize {
        match level {
            0 | 1 => 0,
            _ => self.sizes.children(level) * size_of::<usize>(),
        }
    }

    /// The reservation of an id.
    pub fn get(&self, id: ReservationId) -> &Reservation<K> {
        let reservation = self.slots[id.0 as usize].as_ref();
        reservation.expect("a reservation that there is")
    }

    fn get_mut(&mut self, id: ReservationId) -> &mut Reservation<K> {
        let reservation = self.slots[id.0 as usize].as_mut();
        reservation.expect("a reservation that there is")
    }

    /// The reservation of the piece that begins at `key`.
    pub fn find(&self, key: K) -> Option<ReservationId> {
        self.by_key.get(&key).copied()
    }

    /// The reservation around a page.
    pub fn around(&self, key: K) -> Option<ReservationId> {
        let (_, id) = self.by_key.range(..=key).next_back()?;
        (key < self.get(*id).end()).then_some(*id)
    }

    /// Returns true if any reservation has a page in the piece of `level` that begins at `key`.
    pub fn overlaps(&self, key: K, level: usize) -> bool {
        let end = key.plus(self.sizes.pages(level));
        let before = self.by_key.range(..end).next_back();
        before.is_some_and(|(_, id)| key < self.get(*id).end())
    }

    /// The first reservation that has a page in the piece of `level` that begins at `key`.
    pub fn first_in(&self, key: K, level: usize) -> Option<ReservationId> {
        let end = key.plus(self.sizes.pages(level));
        self.around(key).or_else(|| {
            let (_, id) = self.by_key.range(key..end).next()?;
            Some(*id)
        })
    }

    /// Populates a page, counted from the reservation's first. Returns true if the page was not
    /// populated. The reservation then becomes the last on its list.
    pub fn populate(&mut self, id: ReservationId, page: u64) -> bool {
        if self.get(id).population.get(page) {
            return false;
        }
        self.delist(id);
        self.allocations += 1;
        let now = self.allocations;
        let stays = self.keeps_turns;
        let reservation = self.get_mut(id);
        if !stays {
            reservation.last_allocation = now;
        }
        reservation.population.set(page);
        self.unpopulated -= 1;
        self.enlist(id);
        true
    }

    /// Gives up the frame of the lowest page that is not populated (Talluri 1995, section 6.6). The
    /// reservation keeps the frames of the other pages, and its place on the lists. Returns `None`
    /// if all pages are populated.
    pub fn give_up_frame(&mut self, id: ReservationId) -> Option<u64> {
        let population = &self.get(id).population;
        let page = (0..population.len()).find(|page| !population.get(*page))?;
        self.get_mut(id).is_preempted = true;
        Some(self.give_up(id, page))
    }

    /// Gives up the frame of a page that is not populated. The reservation keeps the others, and
    /// its place on the lists. Returns the frame.
    pub fn give_up(&mut self, id: ReservationId, page: u64) -> u64 {
        self.delist(id);
        let reservation = self.get_mut(id);
        reservation.population.set(page);
        reservation.given_up.push(page);
        let frame = reservation.frame(page);
        self.unpopulated -= 1;
        self.enlist(id);
        frame
    }

    /// Takes a page's frame back into the reservation. Returns true if the page was populated. The
    /// reservation keeps its time of last allocation when it changes lists. A reservation without a
    /// populated page stays, on the list of its own size.
    pub fn depopulate(&mut self, id: ReservationId, page: u64) -> bool {
        if !self.get(id).population.get(page) {
            return false;
        }
        self.delist(id);
        self.get_mut(id).population.clear(page);
        self.unpopulated += 1;
        self.enlist(id);
        true
    }

    fn enlist(&mut self, id: ReservationId) {
        let reservation = self.get(id);
        let (level, turn) = (
            reservation.population.largest_free_level(),
            reservation.turn(id),
        );
        if let Some(level) = level {
            self.lists[level].insert(turn);
        }
    }

    fn delist(&mut self, id: ReservationId) {
        let reservation = self.get(id);
        let (level, turn) = (
            reservation.population.largest_free_level(),
            reservation.turn(id),
        );
        if let Some(level) = level {
            self.lists[level].remove(&turn);
        }
    }

    /// The reservation with the oldest latest allocation, among those whose largest free piece has
    /// this level.
    pub fn victim(&self, level: usize) -> Option<ReservationId> {
        self.on(level).next()
    }

    /// The reservation whose turn is first, of those with a free piece.
    pub fn first_turn(&self) -> Option<ReservationId> {
        let heads = self.lists.iter().filter_map(|list| list.first());
        heads.min().map(|(_, _, id)| *id)
    }

    /// The reservation to preempt for a piece of `level`: the head of that level's list, or of the
    /// first nonempty list above (Navarro 2002, on reservation lists).
    pub fn victim_at_least(&self, level: usize) -> Option<ReservationId> {
        (level..self.sizes.levels()).find_map(|level| self.victim(level))
    }

    /// The reservations whose largest free piece has this level. The one to preempt comes first.
    pub fn on(&self, level: usize) -> impl DoubleEndedIterator<Item = ReservationId> + '_ {
        self.lists[level].iter().map(|(_, _, id)| *id)
    }

    /// The number of reservations whose largest free piece has this level.
    pub fn count_on(&self, level: usize) -> usize {
        self.lists[level].len()
    }

    /// All reservations, full ones among them, in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ReservationId, &Reservation<K>)> + '_ {
        self.by_key.values().map(|id| (*id, self.get(*id)))
    }

    /// The number of reservations.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Returns true if there are no reservations.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The number of reserved frames of pages that are not populated.
    pub fn reserved_unpopulated(&self) -> u64 {
        self.unpopulated
    }
}
