//! One reservation.

use crate::population::Population;

/// Where a reservation lies, in its host's terms.
pub trait Key: Copy + Ord {
    /// The place that lies so many base pages behind this one. It is greater, unless `pages` is 0,
    /// and the places between are the pages between.
    fn plus(self, pages: u64) -> Self;
}

/// An object and the index of a page in it.
impl<O: Copy + Ord> Key for (O, u64) {
    fn plus(self, pages: u64) -> Self {
        (self.0, self.1.saturating_add(pages))
    }
}

/// Names a reservation, until it is removed or broken; then the same name may be given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationId(pub(super) u32);

/// An extent of frames that is kept for an aligned piece of an object.
#[derive(Clone, Debug)]
pub struct Reservation<K> {
    pub(super) key: K,
    pub(super) first_frame: u64,
    pub(super) last_allocation: u64,
    pub(super) population: Population,
}

impl<K: Key> Reservation<K> {
    /// The place of its first page.
    pub fn key(&self) -> K {
        self.key
    }

    /// The frame of its first page.
    pub fn first_frame(&self) -> u64 {
        self.first_frame
    }

    /// The frame that is kept for a page, counted from the first.
    pub fn frame(&self, page: u64) -> u64 {
        self.first_frame + page
    }

    /// The level of its size.
    pub fn level(&self) -> usize {
        self.population.top_level()
    }

    /// Which of its pages have been given their frames.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// When a frame was last given to one of its pages, or when it was made: a number that grows
    /// with each such event of all reservations. A part of one that was broken has that of the
    /// whole.
    pub fn last_allocation(&self) -> u64 {
        self.last_allocation
    }

    /// The place after its last page.
    pub(super) fn end(&self) -> K {
        self.key.plus(self.population.len())
    }

    /// Its place on the lists: among those of one last allocation, which are parts of one
    /// reservation, the lower frame is first.
    pub(super) fn turn(&self, id: ReservationId) -> Turn {
        (self.last_allocation, self.first_frame, id)
    }
}

/// The order of a list.
pub(super) type Turn = (u64, u64, ReservationId);
