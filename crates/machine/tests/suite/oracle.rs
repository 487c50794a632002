//! The TLBs of built-in machines with exact LRU against slow ones, on random lookups and removals.
//! The oracle, which keeps an age on every entry, has the machines of 4 KiB and 2 MiB pages. Lists
//! in the order of last use serve the other machines.

use broadleaf_machine::{machine, machine_names};
use broadleaf_oracle::random::Rng;
use broadleaf_oracle::{AgedTlb, FoundIn, OracleMachine as Machine, PageSizeKind};
use broadleaf_tlb::{Design, Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize, SpaceId};

/// Pages that fall into few sets: `number` picks one of many, in strides that one structure or
/// another cannot distinguish.
fn page(rng: &mut Rng) -> u64 {
    let stride = rng.pick(&[1, 16, 129, 512, 1024, 16 * 512, 128 * 512, 1 << 14]);
    0x20_0000 + rng.below(18) * stride + rng.pick(&[0, 0, 0, 1, 511])
}

#[test]
fn every_machine_hits_and_misses_as_the_oracle_says() {
    let known: Vec<String> = Machine::ALL.iter().map(Machine::to_string).collect();
    assert_eq!(
        machine_names()
            .filter(|name| has_lists(name) && has_oracle_sizes(name))
            .collect::<Vec<_>>(),
        known,
        "the oracle must know each machine"
    );
    Machine::ALL.into_iter().for_each(compare);
}

/// The oracle models x86-64, and knows no other page sizes.
fn has_oracle_sizes(name: &str) -> bool {
    let sizes = [PageSize::SIZE_4K, PageSize::SIZE_2M];
    machine(name)
        .expect("a machine that is built in")
        .design
        .sizes()
        == sizes
}

/// An independent description of one structure: its level, its ways, and the set of an address in a
/// page of `1 << shift` bytes, if it holds such pages.
type SecondStructure = (usize, usize, fn(u8, u64) -> Option<u64>);

/// The structures of a machine that has other page sizes than the oracle.
fn second_description(name: &str) -> Vec<SecondStructure> {
    fn of(sizes: &[u8], shift: u8, set: u64) -> Option<u64> {
        sizes.contains(&shift).then_some(set)
    }
    match name {
        "romer1995" => vec![(1, 32, |shift, _| (12..=23).contains(&shift).then_some(0))],
        "alpha21264" => vec![(1, 128, |shift, _| of(&[13, 16, 19, 22], shift, 0))],
        "skylake-1g" => vec![
            (1, 4, |shift, at| of(&[12], shift, at >> 12 & 15)),
            (1, 4, |shift, at| of(&[21], shift, at >> 22 & 7)),
            (1, 4, |shift, _| of(&[30], shift, 0)),
            (2, 12, |shift, at| match shift {
                12 => Some((at >> 12 ^ at >> 19) & 127),
                _ => of(&[21], shift, at >> 21 & 127),
            }),
            (2, 4, |shift, at| of(&[30], shift, at >> 30 & 3)),
        ],
        "neoverse-n1" => vec![
            (1, 48, |shift, _| of(&[12, 14, 16, 21], shift, 0)),
            (2, 5, |shift, at| {
                of(&[12, 14, 16, 21], shift, at >> shift & 255)
            }),
        ],
        "neoverse-n1-16k" => vec![
            (1, 48, |shift, _| of(&[14, 21, 25], shift, 0)),
            (2, 5, |shift, at| {
                of(&[14, 21, 25], shift, at >> shift & 255)
            }),
        ],
        _ => panic!("{name} needs a second description here"),
    }
}

#[test]
fn machines_of_other_sizes_hit_and_miss_as_lists_in_the_order_of_last_use() {
    let others = machine_names().filter(|name| has_lists(name) && !has_oracle_sizes(name));
    others.for_each(compare_with_lists);
}

/// Sets of ways with exact LRU, for data alone: the machines that have a second description here or
/// in the oracle. The other machines have no second description: the differential tests compare
/// their organisations and rules in random designs.
fn has_lists(name: &str) -> bool {
    without_walk_entries(name).is_sets_with_lru()
}

/// The design of a machine without walk entries, which take room at walks alone.
fn without_walk_entries(name: &str) -> Design {
    let machine = machine(name).expect("a machine that is built in");
    let mut structures = machine.design.structures().to_vec();
    for structure in &mut structures {
        structure.walk_entries.clear();
    }
    Design::new(structures).expect("a design")
}

/// A page in a list: its space, its size and its first byte.
type Key = (usize, u8, u64);

/// LRU lists in the order of last use, the newest last: one for each set of each structure.
struct LruLists {
    structures: Vec<SecondStructure>,
    sets: std::collections::BTreeMap<(usize, u64), Vec<Key>>,
}

impl LruLists {
    /// The set for a page at a level, and its number of ways.
    fn set(&mut self, level: usize, key: Key) -> Option<(&mut Vec<Key>, usize)> {
        let found = self
            .structures
            .iter()
            .enumerate()
            .find_map(|(number, structure)| {
                let set = (structure.2)(key.1, key.2).filter(|_| structure.0 == level)?;
                Some((number, set, structure.1))
            });
        let (number, set, ways) = found?;
        Some((self.sets.entry((number, set)).or_default(), ways))
    }

    fn remove(&mut self, level: usize, key: Key) -> bool {
        self.set(level, key).is_some_and(|(set, _)| {
            let before = set.len();
            set.retain(|held| *held != key);
            set.len() < before
        })
    }

    fn insert(&mut self, level: usize, key: Key) {
        if let Some((set, ways)) = self.set(level, key) {
            set.push(key);
            if set.len() > ways {
                set.remove(0);
            }
        }
    }

    /// Looks a page up, and inserts it after a miss.
    fn look(&mut self, key: Key) -> Lookup {
        let first = self.remove(1, key);
        self.insert(1, key);
        if first {
            return Lookup::First;
        }
        let second = self.remove(2, key);
        self.insert(2, key);
        if second { Lookup::Second } else { Lookup::Miss }
    }
}

fn compare_with_lists(name: &str) {
    let design = without_walk_entries(name);
    let mut seen = [0u64; 3];
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut ours = Tlb::new(&design);
        let mut lists = LruLists {
            structures: second_description(name),
            sets: Default::default(),
        };
        for step in 0..6000 {
            let number = rng.pick(&[0, 0, 0, 1]);
            let tag = Asid::new(number).expect("a small tag");
            // Each part of the address space has pages of one size. Some hundred are in use, side
            // by side or in few sets. No more than four sizes at a time, so that some pages come
            // again while they are there.
            let sizes = design.sizes();
            let size = sizes[(seed as usize + rng.below(4) as usize) % sizes.len()];
            let pages = size.bytes() >> 12;
            let stride = rng.pick(&[1, 1, 128, 256]);
            let page =
                (u64::from(size.shift()) << 36) + rng.below(40) * stride * pages + rng.below(pages);
            let key = (number, size.shift(), page / pages * size.bytes());
            if rng.below(200) == 0 {
                ours.invalidate(tag, PageNumber(page), size);
                lists.remove(1, key);
                lists.remove(2, key);
                continue;
            }
            let found = ours.lookup(tag, PageNumber(page));
            assert_eq!(found, lists.look(key), "{name}, seed {seed}, step {step}");
            seen[place_of(found)] += 1;
            if found == Lookup::Miss {
                ours.load(&Walk::plain(tag, PageNumber(page), size));
            }
        }
    }
    for (lookup, count) in [Lookup::First, Lookup::Second, Lookup::Miss]
        .iter()
        .zip(seen)
    {
        let never = *lookup == Lookup::Second && !design.has_second_level();
        assert!(never || count > 6_000, "{name}: {seen:?}");
    }
}

/// The place of an answer among first level, lower levels, and misses.
pub(crate) fn place_of(found: Lookup) -> usize {
    match found {
        Lookup::First => 0,
        Lookup::Second | Lookup::Third => 1,
        Lookup::Miss => 2,
    }
}

fn compare(slow_machine: Machine) {
    let name = slow_machine.to_string();
    let design = machine(&name).expect("a machine that is built in").design;
    let mut seen = [0u64; 3];
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (mut ours, mut slow) = (Tlb::new(&design), AgedTlb::new(slow_machine));
        // Which blocks are superpages now.
        let mut promoted = std::collections::BTreeSet::new();
        for step in 0..6000 {
            let number = rng.pick(&[0, 0, 0, 1]);
            let (tag, space) = (
                Asid::new(number).expect("a small tag"),
                SpaceId(number as u32),
            );
            let page = page(&mut rng);
            let key = (number, page / 512);
            match rng.below(60) {
                0 => {
                    promoted.insert(key);
                }
                1 if promoted.remove(&key) => {
                    ours.invalidate(tag, PageNumber(page), PageSize::SIZE_2M);
                    slow.remove_superpage(space, key.1);
                }
                // A range goes, and with it the superpages that it touches.
                2 => {
                    let range = page..page + rng.pick(&[1, 40, 512, 5000]);
                    ours.invalidate_range(tag, PageNumber(page), range.end - page);
                    slow.remove_pages(space, &range);
                    for block in page / 512..=(range.end - 1) / 512 {
                        slow.remove_superpage(space, block);
                        promoted.remove(&(number, block));
                    }
                }
                _ => {
                    let (size, leaf) = if promoted.contains(&key) {
                        (PageSize::SIZE_2M, PageSizeKind::Super)
                    } else {
                        (PageSize::SIZE_4K, PageSizeKind::Base)
                    };
                    let found = ours.lookup(tag, PageNumber(page));
                    if found == Lookup::Miss {
                        ours.load(&Walk::plain(tag, PageNumber(page), size));
                    }
                    let wanted = match slow.lookup(space, page, leaf) {
                        FoundIn::FirstLevel => Lookup::First,
                        FoundIn::SecondLevel => Lookup::Second,
                        FoundIn::Walk => Lookup::Miss,
                    };
                    assert_eq!(found, wanted, "{name}, seed {seed}, step {step}");
                    seen[place_of(wanted)] += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 20_000), "{name}: {seen:?}");
}
