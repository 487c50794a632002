//! Places of pages in the recency table, and sets of places.

use super::{DEPTH, SETS};

/// The number of places in the table.
pub(super) const PLACES: usize = SETS * DEPTH;
const _: () = assert!(PLACES <= u64::BITS as usize && PLACES.is_power_of_two());

/// The place of a page in the recency table: its set and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecencyPlace(u8);

impl RecencyPlace {
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

    /// The place with an index. Only the low bits of the index count.
    #[inline]
    pub const fn from_index(index: usize) -> Self {
        Self((index % PLACES) as u8)
    }
}

/// A set of places, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecencyPlaces(u64);

impl RecencyPlaces {
    pub(super) const NONE: Self = Self(0);

    /// The places of one set.
    #[inline]
    pub(super) const fn of_set(set: usize) -> Self {
        Self(((1 << DEPTH) - 1) << (set * DEPTH))
    }

    #[inline]
    pub(super) const fn insert(&mut self, place: RecencyPlace) {
        self.0 |= 1 << place.index();
    }

    #[inline]
    pub(super) const fn remove(&mut self, place: RecencyPlace) {
        self.0 &= !(1 << place.index());
    }

    /// Returns true if the set holds a place.
    #[inline]
    pub const fn has(self, place: RecencyPlace) -> bool {
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

    /// Inserts a place if the condition holds.
    #[inline]
    pub(super) const fn insert_if(&mut self, holds: bool, place: RecencyPlace) {
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

impl Iterator for RecencyPlaces {
    type Item = RecencyPlace;

    /// Removes and returns the first place.
    #[inline]
    fn next(&mut self) -> Option<RecencyPlace> {
        let first = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (first < PLACES).then_some(RecencyPlace::from_index(first))
    }
}
