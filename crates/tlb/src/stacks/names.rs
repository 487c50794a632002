//! Short names for pages: 32 bits, so that a list of 16 is one line of a cache.

use std::num::NonZeroU32;

use broadleaf_units::SpaceId;

/// A page of some space, by the number of its region and its place in there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(NonZeroU32);

impl Name {
    #[inline]
    pub(super) fn from_bits(bits: u32) -> Option<Self> {
        NonZeroU32::new(bits).map(Self)
    }

    #[inline]
    pub(super) fn bits(self) -> u32 {
        self.0.get()
    }

    fn region(self) -> usize {
        (self.bits() >> OFFSET_BITS) as usize
    }
}

/// The order of a region, in pages. Programs use neighbouring pages, so regions are few and quickly
/// found.
const OFFSET_BITS: u32 = 9;
const OFFSETS: u64 = 1 << OFFSET_BITS;

/// The initial capacity in regions.
const FIRST_ROOM: usize = 1 << 10;

/// The first page after the region of `page`.
pub(super) fn next_region(page: u64) -> u64 {
    (page | (OFFSETS - 1)).saturating_add(1)
}

/// The regions that have numbers, from 1 on.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The region of each number. Number 0 has none.
    regions: Vec<(SpaceId, u64)>,
    /// An open-addressing table of numbers, at most half full. 0 marks an empty slot.
    table: Vec<u32>,
    /// The region of the last query.
    last: (SpaceId, u64, u32),
}

impl Names {
    pub(super) fn new() -> Self {
        Self::of(vec![NOTHING], FIRST_ROOM)
    }

    /// A table of these regions, with room for `capacity` regions.
    fn of(regions: Vec<(SpaceId, u64)>, room: usize) -> Self {
        let mut names = Self {
            regions,
            table: vec![0; 2 * room],
            last: (NOTHING.0, NOTHING.1, 0),
        };
        for number in 1..names.regions.len() {
            let (space, region) = names.regions[number];
            let slot = names.slot(space, region);
            names.table[slot] = number as u32;
        }
        names
    }

    /// The slot with a region's number, or the empty slot for it.
    #[inline]
    fn slot(&self, space: SpaceId, region: u64) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4):
        // neighbours lie far apart.
        let key = region << 15 ^ u64::from(space.0);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mask = self.table.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let number = self.table[slot];
            if number == 0 || self.regions[number as usize] == (space, region) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The name of a page, if its region has a number.
    #[inline]
    pub(super) fn name(&mut self, space: SpaceId, page: u64) -> Option<Name> {
        let region = page >> OFFSET_BITS;
        if (self.last.0, self.last.1) != (space, region) {
            let number = self.table[self.slot(space, region)];
            if number == 0 {
                return None;
            }
            self.last = (space, region, number);
        }
        Name::from_bits(self.last.2 << OFFSET_BITS | (page & (OFFSETS - 1)) as u32)
    }

    /// The page of that name.
    pub(super) fn page(&self, name: Name) -> (SpaceId, u64) {
        let (space, region) = self.regions[name.region()];
        let offset = u64::from(name.bits()) & (OFFSETS - 1);
        (space, region << OFFSET_BITS | offset)
    }

    /// Returns true if there is no room for another region.
    pub(super) fn is_full(&self) -> bool {
        self.regions.len() > self.table.len() / 2
    }

    /// Gives a number to the region of a page, which has none.
    pub(super) fn add(&mut self, space: SpaceId, page: u64) -> Name {
        let region = page >> OFFSET_BITS;
        let number = self.regions.len() as u32;
        self.regions.push((space, region));
        let slot = self.slot(space, region);
        self.table[slot] = number;
        self.last = (space, region, number);
        let bits = number << OFFSET_BITS | (page & (OFFSETS - 1)) as u32;
        Name(NonZeroU32::new(bits).expect("numbers begin at 1 and stay below 2^23"))
    }

    /// No number is known to be in use.
    pub(super) fn none_used(&self) -> Used {
        Used(vec![false; self.regions.len()])
    }

    /// Removes unused regions and renumbers the others. Afterwards there is room for at least as
    /// many again.
    pub(super) fn keep(&mut self, used: &Used) -> Renaming {
        let mut kept = vec![NOTHING];
        let mut numbers = vec![0; self.regions.len()];
        for number in (1..self.regions.len()).filter(|number| used.0[*number]) {
            numbers[number] = kept.len() as u32;
            kept.push(self.regions[number]);
        }
        let mut room = self.table.len() / 2;
        if kept.len() > room / 2 {
            room *= 2;
        }
        *self = Self::of(kept, room);
        Renaming(numbers)
    }
}

/// The region of number 0: none.
const NOTHING: (SpaceId, u64) = (SpaceId(u32::MAX), u64::MAX);

/// The set of used numbers.
pub(super) struct Used(Vec<bool>);

impl Used {
    pub(super) fn mark(&mut self, name: Name) {
        self.0[name.region()] = true;
    }
}

/// The new number of each old one.
pub(super) struct Renaming(Vec<u32>);

impl Renaming {
    /// The new name of a page in use.
    pub(super) fn of(&self, name: Name) -> Option<Name> {
        let number = self.0[name.region()];
        Name::from_bits(number << OFFSET_BITS | name.bits() & (OFFSETS as u32 - 1))
            .filter(|_| number != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &mut Names, space: usize, page: u64) -> Name {
        let space = SpaceId(space as u32);
        names
            .name(space, page)
            .unwrap_or_else(|| names.add(space, page))
    }

    #[test]
    fn pages_have_names_of_their_own() {
        let mut names = Names::new();
        let pages: Vec<(usize, u64)> = (0..3)
            .flat_map(|space| {
                [0, 1, 511, 512, 1 << 43, u64::MAX >> 12, u64::MAX].map(|page| (space, page))
            })
            .collect();
        let given: Vec<Name> = pages
            .iter()
            .map(|(space, page)| named(&mut names, *space, *page))
            .collect();
        for (at, (name, (space, page))) in given.iter().zip(&pages).enumerate() {
            assert!(!given[..at].contains(name));
            let space = SpaceId(*space as u32);
            assert_eq!(names.page(*name), (space, *page));
            assert_eq!(names.name(space, *page), Some(*name));
        }
        assert_eq!(names.name(SpaceId(3), 0), None);
    }

    #[test]
    fn what_is_kept_is_renamed_and_the_rest_forgotten() {
        let mut names = Names::new();
        let pages: Vec<u64> = (0..FIRST_ROOM as u64)
            .map(|number| number * 512 + 7)
            .collect();
        let old: Vec<Name> = pages
            .iter()
            .map(|page| named(&mut names, 0, *page))
            .collect();
        assert!(names.is_full());
        let mut used = names.none_used();
        old.iter().step_by(3).for_each(|name| used.mark(*name));
        let renaming = names.keep(&used);
        assert!(!names.is_full());
        for (at, (old, page)) in old.iter().zip(&pages).enumerate() {
            let new = renaming.of(*old);
            assert_eq!(new.is_some(), at % 3 == 0);
            assert_eq!(names.name(SpaceId(0), *page), new);
        }
    }

    #[test]
    fn regions_end_where_the_next_begins() {
        assert_eq!([0, 511, 512].map(next_region), [512, 512, 1024]);
        assert_eq!(next_region(u64::MAX), u64::MAX);
    }
}
