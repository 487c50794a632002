//! Where what is kept of each region is.
//!
//! A region is what the largest candidate holds. Misses come back to few of them, so a small table
//! of those met lately stands before the map.

use broadleaf_units::SpaceTag;
use std::collections::BTreeMap;

/// How many regions the small table has room for.
const RECENT: usize = 256;

/// Where a region was found lately.
#[derive(Clone, Copy, Debug)]
struct Lately {
    number: u64,
    tag: SpaceTag,
    at: u32,
}

impl Lately {
    /// No region; no map has so many.
    const NONE: Self = Self {
        number: 0,
        tag: SpaceTag::ZERO,
        at: u32::MAX,
    };
}

/// One `T` for each region that was met. Its place stays the same until it is removed.
#[derive(Clone, Debug)]
pub(super) struct Regions<T> {
    places: BTreeMap<(SpaceTag, u64), u32>,
    recent: Vec<Lately>,
    regions: Vec<T>,
    /// Whose and which each one is.
    homes: Vec<(SpaceTag, u64)>,
    free: Vec<u32>,
}

impl<T: Default> Regions<T> {
    pub(super) fn new() -> Self {
        Self {
            places: BTreeMap::new(),
            recent: vec![Lately::NONE; RECENT],
            regions: Vec::new(),
            homes: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    fn slot(tag: SpaceTag, number: u64) -> usize {
        (number as usize).wrapping_add(usize::from(tag.number()).wrapping_mul(37)) % RECENT
    }

    /// The place of a region that was met before.
    #[inline]
    pub(super) fn find(&mut self, tag: SpaceTag, number: u64) -> Option<usize> {
        let recent = self.recent[Self::slot(tag, number)];
        if recent.number == number && recent.tag == tag && recent.at != u32::MAX {
            return Some(recent.at as usize);
        }
        self.look_for(tag, number)
    }

    #[cold]
    fn look_for(&mut self, tag: SpaceTag, number: u64) -> Option<usize> {
        let at = *self.places.get(&(tag, number))?;
        self.recent[Self::slot(tag, number)] = Lately { number, tag, at };
        Some(at as usize)
    }

    /// The place of a region; it is made where it was not met before.
    #[inline]
    pub(super) fn obtain(&mut self, tag: SpaceTag, number: u64, make: impl FnOnce() -> T) -> usize {
        match self.find(tag, number) {
            Some(at) => at,
            None => self.add(tag, number, make()),
        }
    }

    #[cold]
    fn add(&mut self, tag: SpaceTag, number: u64, region: T) -> usize {
        let at = match self.free.pop() {
            Some(at) => {
                self.regions[at as usize] = region;
                self.homes[at as usize] = (tag, number);
                at
            }
            None => {
                self.regions.push(region);
                self.homes.push((tag, number));
                self.regions.len() as u32 - 1
            }
        };
        self.places.insert((tag, number), at);
        at as usize
    }

    /// What is kept of the region of that place.
    #[inline]
    pub(super) fn at(&mut self, at: usize) -> &mut T {
        &mut self.regions[at]
    }

    /// The same, to look at.
    pub(super) fn get(&self, tag: SpaceTag, number: u64) -> Option<&T> {
        let at = *self.places.get(&(tag, number))?;
        self.regions.get(at as usize)
    }

    /// Whose region stands at that place, and its number.
    #[inline]
    pub(super) fn home(&self, at: usize) -> (SpaceTag, u64) {
        self.homes[at]
    }

    /// The regions of a space from the `first` number to the `last`: the number and the place of
    /// each.
    pub(super) fn among(
        &self,
        tag: SpaceTag,
        first: u64,
        last: u64,
    ) -> impl Iterator<Item = (u64, usize)> + '_ {
        let regions = self.places.range((tag, first)..=(tag, last));
        regions.map(|((_, number), at)| (*number, *at as usize))
    }

    /// Drops what is kept of a region.
    pub(super) fn remove(&mut self, tag: SpaceTag, number: u64) {
        if let Some(at) = self.places.remove(&(tag, number)) {
            self.recent[Self::slot(tag, number)] = Lately::NONE;
            self.regions[at as usize] = T::default();
            self.free.push(at);
        }
    }

    /// All regions, with the place of each.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &T)> {
        let places = self.places.values();
        places.map(|at| (*at as usize, &self.regions[*at as usize]))
    }

    /// Asserts what has to hold at any time.
    pub(super) fn check(&self) {
        assert_eq!(self.places.len() + self.free.len(), self.regions.len());
        for (home, at) in &self.places {
            assert_eq!(
                self.homes[*at as usize], *home,
                "a region in another's place"
            );
        }
        for recent in self.recent.iter().filter(|recent| recent.at != u32::MAX) {
            let place = self.places.get(&(recent.tag, recent.number));
            assert_eq!(place, Some(&recent.at), "a region that is gone");
        }
    }
}
