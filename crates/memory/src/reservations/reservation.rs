//! A reservation: an extent of frames for a piece of an object.

use crate::population::Population;

/// The place of a page, in the caller's terms.
pub trait Key: Copy + Ord {
    /// The place `pages` base pages further on. It is greater than this one, unless `pages` is 0,
    /// and the places between are the pages between.
    fn plus(self, pages: u64) -> Self;
}

/// An object and the index of a page in it.
impl<O: Copy + Ord> Key for (O, u64) {
    fn plus(self, pages: u64) -> Self {
        (self.0, self.1.saturating_add(pages))
    }
}

/// The id of a reservation. Ids of removed or broken reservations are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationId(pub(super) u32);

/// An extent of frames that is reserved for an aligned piece of an object.
#[derive(Clone, Debug)]
pub struct Reservation<K> {
    pub(super) key: K,
    pub(super) first_frame: u64,
    pub(super) last_allocation: u64,
    pub(super) population: Population,
    /// The pages whose frames the reservation gave up. They count as populated.
    pub(super) given_up: Vec<u64>,
    /// True if another page took a frame of it.
    pub(super) is_preempted: bool,
}

impl<K: Key> Reservation<K> {
    /// The key of the reservation's first page.
    pub fn key(&self) -> K {
        self.key
    }

    /// The frame of the reservation's first page.
    pub fn first_frame(&self) -> u64 {
        self.first_frame
    }

    /// The frame reserved for a page, counted from the first.
    pub fn frame(&self, page: u64) -> u64 {
        self.first_frame + page
    }

    /// The level of the reservation's size.
    pub fn level(&self) -> usize {
        self.population.top_level()
    }

    /// Returns true if the reservation gave up frames.
    pub const fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// Returns true if another page took a frame of the reservation.
    pub const fn is_preempted(&self) -> bool {
        self.is_preempted
    }

    /// Returns true if a page has its frame in the reservation.
    pub fn holds(&self, page: u64) -> bool {
        self.population.get(page) && !self.given_up.contains(&page)
    }

    /// Returns true if no page has its frame in the reservation.
    pub fn holds_nothing(&self) -> bool {
        self.population.count() == self.given_up.len() as u64
    }

    /// The populated pages, and those whose frames the reservation gave up.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The time of the latest frame allocation, or of the reservation: a number that grows with
    /// each such event of all reservations. A part of a broken reservation has the time of the
    /// whole.
    pub fn last_allocation(&self) -> u64 {
        self.last_allocation
    }

    /// The key after the last page.
    pub(super) fn end(&self) -> K {
        self.key.plus(self.population.len())
    }

    /// The position on the lists. Parts of one reservation share a last allocation: the lower frame
    /// is first.
    pub(super) fn turn(&self, id: ReservationId) -> Turn {
        (self.last_allocation, self.first_frame, id)
    }
}

/// The order of a list.
pub(super) type Turn = (u64, u64, ReservationId);
