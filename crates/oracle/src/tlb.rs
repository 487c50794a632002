//! TLBs as Zhu 2018 describes Skylake's (section 4; `seeds` 10.5), with any replacement rule.

use std::ops::Range;

use broadleaf_units::SpaceId;

use crate::PlainTlb;
use crate::RuleSpec;
use crate::drawn::DrawnNumbers;
use crate::machine::{RuledMachine, TlbStructure};
use crate::replacement::SlowSet;

/// The size of the page that an entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSizeKind {
    /// 4 KiB.
    Base,
    /// 2 MiB.
    Super,
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundIn {
    /// In a first-level TLB.
    FirstLevel,
    /// In the second level only.
    SecondLevel,
    /// In no TLB: a walk loaded the translation.
    Walk,
}

/// The key of an entry: address space, page size, page number in units of that size.
pub(crate) type EntryKey = (SpaceId, PageSizeKind, u64);

/// A structure with its sets.
struct Filled {
    structure: TlbStructure,
    rule: RuleSpec,
    numbers: DrawnNumbers,
    sets: Vec<SlowSet<EntryKey>>,
}

impl Filled {
    fn empty(structure: TlbStructure, rule: RuleSpec) -> Self {
        // A rule that the ways cannot have gives way to LRU.
        let rule = Some(rule).filter(|rule| rule.fits(structure.ways));
        let rule = rule.unwrap_or_default();
        Self {
            structure,
            rule,
            numbers: rule.numbers(),
            sets: vec![SlowSet::new(structure.ways, 0); structure.sets],
        }
    }

    /// The number of the set for `key`, if the structure holds pages of its size.
    fn index(&self, (_, size, number): EntryKey) -> Option<usize> {
        let index = match size {
            PageSizeKind::Base => self.structure.base,
            PageSizeKind::Super => self.structure.large,
        };
        index.map(|index| index(number) as usize)
    }
}

/// The structure of a level for `key`, and the number of its set.
fn structure_for(level: &mut [Filled], key: EntryKey) -> (&mut Filled, usize) {
    let mut found = level
        .iter_mut()
        .filter_map(|filled| filled.index(key).map(|set| (filled, set)));
    match found.next() {
        Some(found) => found,
        None => unreachable!("every level of every machine holds both sizes"),
    }
}

fn hit(level: &mut [Filled], key: EntryKey) -> bool {
    let (filled, set) = structure_for(level, key);
    filled.sets[set].hit(filled.rule, key)
}

fn insert(level: &mut [Filled], key: EntryKey) {
    let (filled, set) = structure_for(level, key);
    filled.sets[set].insert(filled.rule, &mut filled.numbers, key);
}

/// A TLB of another geometry, which holds pages of one size. Its misses are a point of a curve.
#[derive(Clone, Debug)]
pub struct OfOneSize {
    /// The size.
    pub size: PageSizeKind,
    /// The TLB.
    pub tlb: PlainTlb<SpaceId>,
}

/// The data TLBs of a machine.
pub struct AgedTlb {
    first: Vec<Filled>,
    second: Vec<Filled>,
    /// True if superpages enter the TLB in base pages.
    fractures: bool,
    /// The entry of the first level that the last lookup hit or loaded.
    last: Option<EntryKey>,
    /// TLBs of other geometries, which see every lookup and every removal.
    pub(crate) others: Vec<OfOneSize>,
}

impl AgedTlb {
    /// The empty TLBs of `machine`.
    pub fn new(machine: impl Into<RuledMachine>) -> Self {
        let RuledMachine { machine, rule } = machine.into();
        let empty = |structures: Vec<TlbStructure>| {
            let structures = structures.into_iter();
            structures.map(|structure| Filled::empty(structure, rule))
        };
        Self {
            first: empty(machine.first_level()).collect(),
            second: empty(machine.second_level()).collect(),
            fractures: machine.fractures(),
            last: None,
            others: Vec::new(),
        }
    }

    /// Gives the structures the next use of the translation that is looked up now.
    pub fn foresee(&mut self, next_use: u64) {
        let structures = self.first.iter_mut().chain(&mut self.second);
        for set in structures.flat_map(|filled| &mut filled.sets) {
            set.foresee(next_use);
        }
    }

    /// The entry that translates a base page of a page of the size `leaf`.
    pub(crate) fn entry(&self, (space, page): (SpaceId, u64), leaf: PageSizeKind) -> EntryKey {
        match leaf {
            PageSizeKind::Super if !self.fractures => (space, leaf, page / 512),
            _ => (space, PageSizeKind::Base, page),
        }
    }

    /// Looks up `page` (a base-page number). `leaf` is the size of the page that a walk would find.
    pub fn lookup(&mut self, space: SpaceId, page: u64, leaf: PageSizeKind) -> FoundIn {
        let page = (space, page);
        let (_, size, number) = self.entry(page, leaf);
        for other in self.others.iter_mut().filter(|other| other.size == size) {
            other.tlb.reference((space, number));
        }
        let [large, small] =
            [PageSizeKind::Super, PageSizeKind::Base].map(|of| self.entry(page, of));
        for key in [large, small] {
            if hit(&mut self.first, key) {
                self.last = Some(key);
                return FoundIn::FirstLevel;
            }
        }
        for key in [large, small] {
            self.last = Some(key);
            if hit(&mut self.second, key) {
                insert(&mut self.first, key);
                return FoundIn::SecondLevel;
            }
        }
        let key = if leaf == PageSizeKind::Super {
            large
        } else {
            small
        };
        self.last = Some(key);
        insert(&mut self.first, key);
        insert(&mut self.second, key);
        FoundIn::Walk
    }

    /// The last lookup is repeated so many times, and hits.
    pub fn used_again(&mut self, times: u64) {
        if let Some(key) = self.last {
            let (filled, set) = structure_for(&mut self.first, key);
            filled.sets[set].used_again(filled.rule, key, times);
        }
    }

    fn remove(&mut self, goes: impl Fn(EntryKey) -> bool) {
        let structures = self.first.iter_mut().chain(&mut self.second);
        for set in structures.flat_map(|filled| &mut filled.sets) {
            set.remove(&goes);
        }
        for OfOneSize { size, tlb } in &mut self.others {
            tlb.keep(|(space, number)| !goes((*space, *size, *number)));
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
        if self.fractures {
            return self.remove_pages(space, &(block * 512..(block + 1) * 512));
        }
        self.remove(|key| key == (space, PageSizeKind::Super, block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OracleMachine;

    /// Counts the misses at each level over the second half of many rounds through `pages`.
    fn chase(pages: &[u64], leaf: PageSizeKind) -> (u64, u64) {
        let mut tlb = AgedTlb::new(OracleMachine::Skylake);
        let (mut first, mut second) = (0, 0);
        for round in 0..20 {
            for &page in pages {
                let found = tlb.lookup(SpaceId(0), page, leaf);
                if round >= 10 {
                    first += u64::from(found != FoundIn::FirstLevel);
                    second += u64::from(found == FoundIn::Walk);
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

    // The detection bit: k + 1 pointers that differ in high bits and one more. No misses mean that
    // the bit is in the index.
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

    // Not inclusive: sixteen pointers in one STLB set and four DTLB sets never miss the DTLB. Not
    // exclusive: thirteen pointers in one set of each always miss, where an exclusive pair would
    // hold sixteen.
    #[test]
    fn neither_inclusive_nor_exclusive() {
        let spread: Vec<u64> = (0..16)
            .map(|i: u64| ((i / 4) << 14) | ((i % 4) * 129))
            .collect();
        assert_eq!(chase(&spread, PageSizeKind::Base).0, 0);
        assert_eq!(chase(&strided(13, 1 << 14), PageSizeKind::Base), (130, 130));
    }

    // One structure for both sizes: base pages evict superpages, and both sizes use 4 bits of their
    // own numbers as index.
    #[test]
    fn a_unified_first_level_is_shared() {
        for (machine, ways) in [
            (OracleMachine::SkylakeUnified64, 4),
            (OracleMachine::SkylakeUnified96, 6),
        ] {
            let mut tlb = AgedTlb::new(machine);
            let space = SpaceId(0);
            assert_eq!(tlb.lookup(space, 0, PageSizeKind::Super), FoundIn::Walk);
            for page in 1..ways {
                tlb.lookup(space, (page << 14) + 512 * 16, PageSizeKind::Base);
            }
            assert_eq!(
                tlb.lookup(space, 1, PageSizeKind::Super),
                FoundIn::FirstLevel
            );
            for page in ways..2 * ways {
                tlb.lookup(space, (page << 14) + 512 * 16, PageSizeKind::Base);
            }
            assert_eq!(
                tlb.lookup(space, 1, PageSizeKind::Super),
                FoundIn::SecondLevel
            );
        }
    }

    #[test]
    fn the_least_recent_entry_leaves_and_an_empty_way_is_first() {
        let mut tlb = AgedTlb::new(OracleMachine::Skylake);
        let space = SpaceId(0);
        let mut look = |page: u64| tlb.lookup(space, page << 14, PageSizeKind::Base);
        for page in 0..4 {
            assert_eq!(look(page), FoundIn::Walk);
        }
        assert_eq!(look(0), FoundIn::FirstLevel);
        assert_eq!(look(4), FoundIn::Walk); // over 1, the oldest
        assert_eq!(look(0), FoundIn::FirstLevel);
        assert_eq!(look(1), FoundIn::SecondLevel); // over 2
        assert_eq!(look(3), FoundIn::FirstLevel);
        assert_eq!(look(2), FoundIn::SecondLevel); // over 4
        tlb.remove_pages(space, &(3 << 14..(3 << 14) + 1));
        let mut look = |page: u64| tlb.lookup(space, page << 14, PageSizeKind::Base);
        assert_eq!(look(3), FoundIn::Walk); // into the empty way
        for page in [0, 1, 2, 3] {
            assert_eq!(look(page), FoundIn::FirstLevel);
        }
    }

    #[test]
    fn spaces_do_not_see_each_other_and_sizes_coexist() {
        let mut tlb = AgedTlb::new(OracleMachine::Skylake);
        assert_eq!(tlb.lookup(SpaceId(0), 7, PageSizeKind::Base), FoundIn::Walk);
        assert_eq!(tlb.lookup(SpaceId(1), 7, PageSizeKind::Base), FoundIn::Walk);
        // A promotion leaves the base-page entry, which still hits; a neighbour walks to the
        // superpage.
        assert_eq!(
            tlb.lookup(SpaceId(0), 7, PageSizeKind::Super),
            FoundIn::FirstLevel
        );
        assert_eq!(
            tlb.lookup(SpaceId(0), 8, PageSizeKind::Super),
            FoundIn::Walk
        );
        assert_eq!(
            tlb.lookup(SpaceId(0), 9, PageSizeKind::Super),
            FoundIn::FirstLevel
        );
        tlb.remove_superpage(SpaceId(0), 0);
        assert_eq!(
            tlb.lookup(SpaceId(0), 7, PageSizeKind::Base),
            FoundIn::FirstLevel
        );
        assert_eq!(tlb.lookup(SpaceId(0), 9, PageSizeKind::Base), FoundIn::Walk);
    }
}
