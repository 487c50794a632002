//! Reservations of extents of frames, in the order in which they would be preempted.
//!
//! The books of Navarro 2002, and nothing but books: who asks takes extents from an allocator and
//! gives them back to it, and maps what is populated. How large a reservation should be is its
//! host's to say, which knows what is mapped. Each reservation has a [`Population`], and stands on
//! the list of the largest aligned piece that preempting it would yield, in the order of latest
//! frame allocation: the head is the one to preempt. [`Reservations::break_up`] preempts.

mod broken;
mod check;
mod reservation;
#[cfg(test)]
mod tests;

pub use broken::{Broken, Part};
pub use reservation::{Key, Reservation, ReservationId};

use crate::population::{Population, Sizes};
use reservation::Turn;
use std::collections::{BTreeMap, BTreeSet};

/// All reservations of a machine's memory.
///
/// Every verb takes time in proportion to the number of page sizes and the logarithm of the number
/// of reservations, but [`Self::break_up`], which takes what the pieces need that it makes.
#[derive(Clone, Debug)]
pub struct Reservations<K> {
    sizes: Sizes,
    slots: Vec<Option<Reservation<K>>>,
    vacant: Vec<ReservationId>,
    by_key: BTreeMap<K, ReservationId>,
    /// By the level of the largest free piece. Sets and not linked lists: a page that is given back
    /// moves its reservation to the middle of another.
    lists: Vec<BTreeSet<Turn>>,
    allocations: u64,
    unpopulated: u64,
    /// Bytes of memory that the pointers to parts of reservations take.
    pointer_bytes: usize,
}

impl<K: Key> Reservations<K> {
    /// None yet.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            slots: Vec::new(),
            vacant: Vec::new(),
            by_key: BTreeMap::new(),
            lists: vec![BTreeSet::new(); sizes.levels()],
            allocations: 0,
            unpopulated: 0,
            pointer_bytes: 0,
        }
    }

    /// Bytes of memory that the reservations take, without the population nodes.
    pub fn bytes(&self) -> usize {
        let of_each = size_of::<K>() + size_of::<ReservationId>() + size_of::<Turn>();
        let slots = self.slots.capacity() * size_of::<Option<Reservation<K>>>();
        // Nodes of the two trees are three quarters full.
        slots + self.by_key.len() * of_each * 4 / 3 + self.pointer_bytes
    }

    /// The page sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Keeps the extent of a level's size that begins with `first_frame` for the piece that begins
    /// at `key`. No page of it is populated. Extent and piece are aligned to their size, and
    /// neither may overlap those of another reservation.
    ///
    /// # Panics
    /// Where there is no such level, or a reservation has that key.
    pub fn make(&mut self, key: K, first_frame: u64, level: usize) -> ReservationId {
        self.allocations += 1;
        self.enter(Reservation {
            key,
            first_frame,
            last_allocation: self.allocations,
            population: Population::new(self.sizes, level),
        })
    }

    fn enter(&mut self, reservation: Reservation<K>) -> ReservationId {
        let id = self.vacant.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                // Not twice as many: with many reservations that would be much of the memory there
                // is.
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

    /// Forgets a reservation. What becomes of its frames is the host's to say.
    ///
    /// # Panics
    /// Where there is no such reservation, as for every other method that takes the name of one.
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

    /// The reservation of that name.
    pub fn get(&self, id: ReservationId) -> &Reservation<K> {
        let reservation = self.slots[id.0 as usize].as_ref();
        reservation.expect("a reservation that there is")
    }

    fn get_mut(&mut self, id: ReservationId) -> &mut Reservation<K> {
        let reservation = self.slots[id.0 as usize].as_mut();
        reservation.expect("a reservation that there is")
    }

    /// The reservation of the piece that begins exactly there.
    pub fn find(&self, key: K) -> Option<ReservationId> {
        self.by_key.get(&key).copied()
    }

    /// The reservation in which that page lies.
    pub fn around(&self, key: K) -> Option<ReservationId> {
        let (_, id) = self.by_key.range(..=key).next_back()?;
        (key < self.get(*id).end()).then_some(*id)
    }

    /// Whether any reservation has a page in the piece of that level that begins there.
    pub fn overlaps(&self, key: K, level: usize) -> bool {
        let end = key.plus(self.sizes.pages(level));
        let before = self.by_key.range(..end).next_back();
        before.is_some_and(|(_, id)| key < self.get(*id).end())
    }

    /// Gives a page, counted from the reservation's first, its frame, and says whether it had not
    /// been given it. If so, the reservation is now the last on its list.
    pub fn populate(&mut self, id: ReservationId, page: u64) -> bool {
        if self.get(id).population.get(page) {
            return false;
        }
        self.delist(id);
        self.allocations += 1;
        let now = self.allocations;
        let reservation = self.get_mut(id);
        reservation.last_allocation = now;
        reservation.population.set(page);
        self.unpopulated -= 1;
        self.enlist(id);
        true
    }

    /// Takes a page's frame back into the reservation, and says whether the page had it. The
    /// reservation keeps its time of last allocation, and its place by it where it changes to
    /// another list. One in which nothing is populated any more stays, on the list of its own size.
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

    /// Of the reservations whose largest free piece is of that level, the one whose latest frame
    /// allocation is the oldest.
    pub fn victim(&self, level: usize) -> Option<ReservationId> {
        self.on(level).next()
    }

    /// What to preempt when a piece of that level is wanted: the head of that level's list, or of
    /// the first list above that has one (Navarro 2002, on reservation lists).
    pub fn victim_at_least(&self, level: usize) -> Option<ReservationId> {
        (level..self.sizes.levels()).find_map(|level| self.victim(level))
    }

    /// The reservations whose largest free piece is of that level, the one to preempt first.
    pub fn on(&self, level: usize) -> impl DoubleEndedIterator<Item = ReservationId> + '_ {
        self.lists[level].iter().map(|(_, _, id)| *id)
    }

    /// How many those are.
    pub fn count_on(&self, level: usize) -> usize {
        self.lists[level].len()
    }

    /// All reservations, full ones among them, in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ReservationId, &Reservation<K>)> + '_ {
        self.by_key.values().map(|id| (*id, self.get(*id)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// How many frames all of them keep for pages that are not populated.
    pub fn reserved_unpopulated(&self) -> u64 {
        self.unpopulated
    }
}
