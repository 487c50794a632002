//! TLBs as Zhu 2018 describes Skylake's (section 4; `seeds` 10.5), with an age on every entry.

use std::ops::Range;

use broadleaf_units::SpaceId;

use crate::Machine;
use crate::machine::Structure;

/// The size of the page that an entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSizeKind {
    /// 4 KiB.
    Base,
    /// 2 MiB.
    Super,
}

/// Where a lookup found its translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In a first-level TLB.
    FirstLevel,
    /// In the second level only.
    SecondLevel,
    /// Nowhere: a walk loaded it.
    Walk,
}

/// What an entry is known by: address space, size, page number in units of that size.
type Key = (SpaceId, PageSizeKind, u64);

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    /// References to the set since this entry was last used.
    age: u64,
}

struct Set {
    ways: Vec<Option<Entry>>,
}

impl Set {
    /// Whether `key` is here. A hit sets its age to 0 and adds 1 to the others'.
    fn hit(&mut self, key: Key) -> bool {
        if !self.ways.iter().flatten().any(|entry| entry.key == key) {
            return false;
        }
        for entry in self.ways.iter_mut().flatten() {
            if entry.key == key {
                entry.age = 0;
            } else {
                entry.age += 1;
            }
        }
        true
    }

    /// Puts `key` at age 0 over the oldest way; a way without an entry is older than any.
    fn insert(&mut self, key: Key) {
        let mut oldest = 0;
        for way in 1..self.ways.len() {
            let age = |way: usize| self.ways[way].map_or(u64::MAX, |entry| entry.age);
            if age(way) > age(oldest) {
                oldest = way;
            }
        }
        for entry in self.ways.iter_mut().flatten() {
            entry.age += 1;
        }
        self.ways[oldest] = Some(Entry { key, age: 0 });
    }
}

/// A structure with its sets.
struct Filled {
    structure: Structure,
    sets: Vec<Set>,
}

fn empty(structures: Vec<Structure>) -> Vec<Filled> {
    let filled = |structure: Structure| Filled {
        structure,
        sets: (0..structure.sets)
            .map(|_| Set {
                ways: vec![None; structure.ways],
            })
            .collect(),
    };
    structures.into_iter().map(filled).collect()
}

/// The set of a level that `key` belongs to.
fn set_of(level: &mut [Filled], (_, size, number): Key) -> &mut Set {
    for Filled { structure, sets } in level {
        let index = match size {
            PageSizeKind::Base => structure.base,
            PageSizeKind::Super => structure.large,
        };
        if let Some(index) = index {
            return &mut sets[index(number) as usize];
        }
    }
    unreachable!("every level of every machine holds both sizes")
}

/// The data TLBs of a machine.
pub struct AgedTlb {
    first: Vec<Filled>,
    second: Vec<Filled>,
}

impl AgedTlb {
    /// Those of `machine`, with nothing in them.
    pub fn new(machine: Machine) -> Self {
        Self {
            first: empty(machine.first_level()),
            second: empty(machine.second_level()),
        }
    }

    fn first_level(&mut self, key: Key) -> &mut Set {
        set_of(&mut self.first, key)
    }

    fn second_level(&mut self, key: Key) -> &mut Set {
        set_of(&mut self.second, key)
    }

    /// Looks `page` (a base-page number) up; `leaf` is the size of the page that a walk would find.
    pub fn lookup(&mut self, space: SpaceId, page: u64, leaf: PageSizeKind) -> Found {
        let large = (space, PageSizeKind::Super, page / 512);
        let small = (space, PageSizeKind::Base, page);
        if self.first_level(large).hit(large) || self.first_level(small).hit(small) {
            return Found::FirstLevel;
        }
        for key in [large, small] {
            if self.second_level(key).hit(key) {
                self.first_level(key).insert(key);
                return Found::SecondLevel;
            }
        }
        let key = if leaf == PageSizeKind::Super {
            large
        } else {
            small
        };
        self.first_level(key).insert(key);
        self.second_level(key).insert(key);
        Found::Walk
    }

    fn remove(&mut self, goes: impl Fn(Key) -> bool) {
        let structures = self.first.iter_mut().chain(&mut self.second);
        for set in structures.flat_map(|filled| &mut filled.sets) {
            for way in &mut set.ways {
                if way.is_some_and(|entry| goes(entry.key)) {
                    *way = None;
                }
            }
        }
    }

    /// Removes the base-page entries of `pages` of `space`.
    pub fn remove_pages(&mut self, space: SpaceId, pages: &Range<u64>) {
        self.remove(|(s, size, number)| {
            s == space && size == PageSizeKind::Base && pages.contains(&number)
        });
    }

    /// Removes the superpage entry of `block` of `space`.
    pub fn remove_superpage(&mut self, space: SpaceId, block: u64) {
        self.remove(|key| key == (space, PageSizeKind::Super, block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses at each level over the second half of many rounds through `pages`.
    fn chase(pages: &[u64], leaf: PageSizeKind) -> (u64, u64) {
        let mut tlb = AgedTlb::new(Machine::Skylake);
        let (mut first, mut second) = (0, 0);
        for round in 0..20 {
            for &page in pages {
                let found = tlb.lookup(SpaceId(0), page, leaf);
                if round >= 10 {
                    first += u64::from(found != Found::FirstLevel);
                    second += u64::from(found == Found::Walk);
                }
            }
        }
        (first, second)
    }

    fn strided(count: u64, stride: u64) -> Vec<u64> {
        (0..count).map(|i| i * stride).collect()
    }

    // Zhu 2018, section 4.2 (`seeds` 10.6): k pointers of one set never miss, k + 1 always do.
    #[test]
    fn chases_find_the_ways() {
        let base = PageSizeKind::Base;
        let large = PageSizeKind::Super;
        assert_eq!(chase(&strided(4, 1 << 14), base), (0, 0));
        assert_eq!(chase(&strided(5, 1 << 14), base), (50, 0));
        assert_eq!(chase(&strided(12, 1 << 14), base), (120, 0));
        assert_eq!(chase(&strided(13, 1 << 14), base), (130, 130));
        assert_eq!(chase(&strided(4, 512 << 7), large), (0, 0));
        assert_eq!(chase(&strided(5, 512 << 7), large), (50, 0));
        assert_eq!(chase(&strided(12, 512 << 7), large), (120, 0));
        assert_eq!(chase(&strided(13, 512 << 7), large), (130, 130));
    }

    // The detection bit: k + 1 pointers that differ in high bits and one more. Missing none says that the bit is in the index.
    #[test]
    fn chases_find_the_index_bits() {
        let base_bits: Vec<u64> = (0..20)
            .filter(|bit| {
                let pages: Vec<u64> = (0..6).map(|i| ((i / 2) << 30) | ((i % 2) << bit)).collect();
                chase(&pages, PageSizeKind::Base).0 == 0
            })
            .collect();
        assert_eq!(base_bits, [0, 1, 2, 3], "DTLB-4K: va[15:12]");
        let super_bits: Vec<u64> = (0..20)
            .filter(|bit| {
                let pages: Vec<u64> = (0..6)
                    .map(|i| (((i / 2) << 30) | ((i % 2) << bit)) * 512)
                    .collect();
                chase(&pages, PageSizeKind::Super).0 == 0
            })
            .collect();
        assert_eq!(super_bits, [1, 2, 3], "DTLB-2M: va[24:22]");
        let pointers = |bit: u64| (0..14).map(move |i: u64| ((i / 2) << 30) | ((i % 2) << bit));
        let shared_bits: Vec<u64> = (0..20)
            .filter(|&bit| {
                let pages: Vec<u64> = pointers(bit).map(|block| block * 512).collect();
                chase(&pages, PageSizeKind::Super).1 == 0
            })
            .collect();
        assert_eq!(shared_bits, [0, 1, 2, 3, 4, 5, 6], "STLB-2M: va[27:21]");
        let hashed_bits: Vec<u64> = (0..20)
            .filter(|&bit| chase(&pointers(bit).collect::<Vec<_>>(), PageSizeKind::Base).1 == 0)
            .collect();
        assert_eq!(
            hashed_bits,
            (0..14).collect::<Vec<_>>(),
            "STLB-4K: va[18:12] xor va[25:19]"
        );
        for bit in 0..7 {
            // Two detection bits of a pair cancel.
            let pages: Vec<u64> = (0..14)
                .map(|i: u64| ((i / 2) << 30) | (((i % 2) * 129) << bit))
                .collect();
            assert_eq!(chase(&pages, PageSizeKind::Base).1, 140);
        }
    }

    // Not inclusive: sixteen pointers in one STLB set but four DTLB sets never miss the DTLB. Not exclusive: thirteen
    // pointers in one set of each always miss, where an exclusive pair would hold sixteen.
    #[test]
    fn neither_inclusive_nor_exclusive() {
        let spread: Vec<u64> = (0..16)
            .map(|i: u64| ((i / 4) << 14) | ((i % 4) * 129))
            .collect();
        assert_eq!(chase(&spread, PageSizeKind::Base).0, 0);
        assert_eq!(chase(&strided(13, 1 << 14), PageSizeKind::Base), (130, 130));
    }

    // One structure for both sizes: base pages push superpages out, and both have 4 bits of their own number as index.
    #[test]
    fn a_unified_first_level_is_shared() {
        for (machine, ways) in [
            (Machine::SkylakeUnified64, 4),
            (Machine::SkylakeUnified96, 6),
        ] {
            let mut tlb = AgedTlb::new(machine);
            let space = SpaceId(0);
            assert_eq!(tlb.lookup(space, 0, PageSizeKind::Super), Found::Walk);
            for page in 1..ways {
                tlb.lookup(space, (page << 14) + 512 * 16, PageSizeKind::Base);
            }
            assert_eq!(tlb.lookup(space, 1, PageSizeKind::Super), Found::FirstLevel);
            for page in ways..2 * ways {
                tlb.lookup(space, (page << 14) + 512 * 16, PageSizeKind::Base);
            }
            assert_eq!(
                tlb.lookup(space, 1, PageSizeKind::Super),
                Found::SecondLevel
            );
        }
    }

    #[test]
    fn the_least_recent_entry_goes_and_an_empty_way_first() {
        let mut tlb = AgedTlb::new(Machine::Skylake);
        let space = SpaceId(0);
        let mut look = |page: u64| tlb.lookup(space, page << 14, PageSizeKind::Base);
        for page in 0..4 {
            assert_eq!(look(page), Found::Walk);
        }
        assert_eq!(look(0), Found::FirstLevel);
        assert_eq!(look(4), Found::Walk); // over 1, the oldest
        assert_eq!(look(0), Found::FirstLevel);
        assert_eq!(look(1), Found::SecondLevel); // over 2
        assert_eq!(look(3), Found::FirstLevel);
        assert_eq!(look(2), Found::SecondLevel); // over 4
        tlb.remove_pages(space, &(3 << 14..(3 << 14) + 1));
        let mut look = |page: u64| tlb.lookup(space, page << 14, PageSizeKind::Base);
        assert_eq!(look(3), Found::Walk); // into the empty way
        for page in [0, 1, 2, 3] {
            assert_eq!(look(page), Found::FirstLevel);
        }
    }

    #[test]
    fn spaces_do_not_see_each_other_and_sizes_coexist() {
        let mut tlb = AgedTlb::new(Machine::Skylake);
        assert_eq!(tlb.lookup(SpaceId(0), 7, PageSizeKind::Base), Found::Walk);
        assert_eq!(tlb.lookup(SpaceId(1), 7, PageSizeKind::Base), Found::Walk);
        // A promotion leaves the base-page entry, which still hits; a neighbour walks to the superpage.
        assert_eq!(
            tlb.lookup(SpaceId(0), 7, PageSizeKind::Super),
            Found::FirstLevel
        );
        assert_eq!(tlb.lookup(SpaceId(0), 8, PageSizeKind::Super), Found::Walk);
        assert_eq!(
            tlb.lookup(SpaceId(0), 9, PageSizeKind::Super),
            Found::FirstLevel
        );
        tlb.remove_superpage(SpaceId(0), 0);
        assert_eq!(
            tlb.lookup(SpaceId(0), 7, PageSizeKind::Base),
            Found::FirstLevel
        );
        assert_eq!(tlb.lookup(SpaceId(0), 9, PageSizeKind::Base), Found::Walk);
    }
}
