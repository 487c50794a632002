//! Places where pages are kept, and sets of them.

use super::{DEPTH, SETS};

/// How many pages are kept in all.
pub(super) const PLACES: usize = SETS * DEPTH;
const _: () = assert!(PLACES <= u64::BITS as usize && PLACES.is_power_of_two());

/// Where a page is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u8);

impl Place {
    #[inline]
    pub(super) const fn of(set: usize, at: usize) -> Self {
        Self((set * DEPTH + at) as u8)
    }

    #[inline]
    pub(super) const fn set(self) -> usize {
        self.index() / DEPTH
    }

    #[inline]
    pub(super) const fn at(self) -> usize {
        self.index() % DEPTH
    }

    /// A number below [`Recency::PLACES`](super::Recency::PLACES).
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize % PLACES
    }

    /// The place of that number, of which as many of the lowest bits count as there are places.
    #[inline]
    pub const fn from_index(index: usize) -> Self {
        Self((index % PLACES) as u8)
    }
}

/// Some places: a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(u64);

impl Places {
    pub(super) const NONE: Self = Self(0);

    /// Those of one set.
    #[inline]
    pub(super) const fn of_set(set: usize) -> Self {
        Self(((1 << DEPTH) - 1) << (set * DEPTH))
    }

    #[inline]
    pub(super) const fn insert(&mut self, place: Place) {
        self.0 |= 1 << place.index();
    }

    #[inline]
    pub(super) const fn remove(&mut self, place: Place) {
        self.0 &= !(1 << place.index());
    }

    /// Whether a place is among them.
    #[inline]
    pub const fn has(self, place: Place) -> bool {
        self.0 >> place.index() & 1 != 0
    }

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Puts a place in, where that holds.
    #[inline]
    pub(super) const fn insert_if(&mut self, holds: bool, place: Place) {
        self.0 |= (holds as u64) << place.index();
    }

    #[inline]
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[inline]
    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Iterator for Places {
    type Item = Place;

    /// Takes the first out.
    #[inline]
    fn next(&mut self) -> Option<Place> {
        let first = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (first < PLACES).then_some(Place::from_index(first))
    }
}
