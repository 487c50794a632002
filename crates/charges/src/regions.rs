//! The map of regions, with a small cache in front.
//!
//! A region is the page range of a largest candidate. Misses concentrate on few regions, so a small
//! table of recent ones is searched before the map.

use broadleaf_units::Asid;
use std::collections::BTreeMap;

/// The capacity of the cache, in regions.
const RECENT: usize = 256;

/// The place of a recent region.
#[derive(Clone, Copy, Debug)]
struct Lately {
    number: u64,
    tag: Asid,
    at: u32,
}

impl Lately {
    /// No region: no map has this place.
    const NONE: Self = Self {
        number: 0,
        tag: Asid::ZERO,
        at: u32::MAX,
    };
}

/// One `T` for each known region. A region's place does not change until the region is removed.
#[derive(Clone, Debug)]
pub(super) struct RegionMap<T> {
    places: BTreeMap<(Asid, u64), u32>,
    recent: Vec<Lately>,
    regions: Vec<T>,
    /// The address space and the number of each region.
    homes: Vec<(Asid, u64)>,
    free: Vec<u32>,
}

impl<T: Default> RegionMap<T> {
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
    fn slot(tag: Asid, number: u64) -> usize {
        (number as usize).wrapping_add(usize::from(tag.number()).wrapping_mul(37)) % RECENT
    }

    /// The place of a known region.
    #[inline]
    pub(super) fn find(&mut self, tag: Asid, number: u64) -> Option<usize> {
        let recent = self.recent[Self::slot(tag, number)];
        if recent.number == number && recent.tag == tag && recent.at != u32::MAX {
            return Some(recent.at as usize);
        }
        self.look_for(tag, number)
    }

    #[cold]
    fn look_for(&mut self, tag: Asid, number: u64) -> Option<usize> {
        let at = *self.places.get(&(tag, number))?;
        self.recent[Self::slot(tag, number)] = Lately { number, tag, at };
        Some(at as usize)
    }

    /// The place of a region, which is added if it is unknown.
    #[inline]
    pub(super) fn obtain(&mut self, tag: Asid, number: u64, make: impl FnOnce() -> T) -> usize {
        match self.find(tag, number) {
            Some(at) => at,
            None => self.add(tag, number, make()),
        }
    }

    #[cold]
    fn add(&mut self, tag: Asid, number: u64, region: T) -> usize {
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

    /// The value of the region at a place.
    #[inline]
    pub(super) fn at(&mut self, at: usize) -> &mut T {
        &mut self.regions[at]
    }

    /// The value of a region, if it is known.
    pub(super) fn get(&self, tag: Asid, number: u64) -> Option<&T> {
        let at = *self.places.get(&(tag, number))?;
        self.regions.get(at as usize)
    }

    /// The address space and the number of the region at a place.
    #[inline]
    pub(super) fn home(&self, at: usize) -> (Asid, u64) {
        self.homes[at]
    }

    /// The regions of a space from the `first` number to the `last`: the number and the place of
    /// each.
    pub(super) fn among(
        &self,
        tag: Asid,
        first: u64,
        last: u64,
    ) -> impl Iterator<Item = (u64, usize)> + '_ {
        let regions = self.places.range((tag, first)..=(tag, last));
        regions.map(|((_, number), at)| (*number, *at as usize))
    }

    /// Removes a region.
    pub(super) fn remove(&mut self, tag: Asid, number: u64) {
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

    /// Asserts the invariants.
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
