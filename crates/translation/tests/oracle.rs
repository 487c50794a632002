//! Every built-in machine's TLBs against slow ones, on random lookups and removals: those with 4 KiB and 2 MiB pages against the oracle's,
//! which keep an age on every entry; others against a list in the order of last use.

use broadleaf_oracle::random::Rng;
use broadleaf_oracle::{AgedTlb, Found, Machine, PageSizeKind};
use broadleaf_translation::{Lookup, SpaceTag, Tlb, machine, machine_names};
use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// Pages that fall into few sets: `number` picks one of many, in strides that one structure or another cannot tell apart.
fn page(rng: &mut Rng) -> u64 {
    let stride = rng.pick(&[1, 16, 129, 512, 1024, 16 * 512, 128 * 512, 1 << 14]);
    0x20_0000 + rng.below(18) * stride + rng.pick(&[0, 0, 0, 1, 511])
}

#[test]
fn every_machine_hits_and_misses_as_the_oracle_says() {
    let told: Vec<String> = Machine::ALL.iter().map(Machine::to_string).collect();
    assert_eq!(
        machine_names()
            .filter(|name| has_oracle_sizes(name))
            .collect::<Vec<_>>(),
        told,
        "the oracle has to be told of each machine"
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

#[test]
fn machines_of_other_sizes_hit_and_miss_as_a_list_in_the_order_of_last_use() {
    let others: Vec<&str> = machine_names()
        .filter(|name| !has_oracle_sizes(name))
        .collect();
    assert_eq!(
        others,
        ["alpha21264"],
        "the list below is one fully associative level"
    );
    for name in others {
        compare_with_a_list(name);
    }
}

fn compare_with_a_list(name: &str) {
    let design = machine(name).expect("a machine that is built in").design;
    let entries = design.structures()[0].entries;
    let mut hits_and_misses = [0u64; 2];
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut ours = Tlb::new(&design);
        // Space, size and first page, the newest last.
        let mut list: Vec<(usize, PageSize, u64)> = Vec::new();
        for step in 0..6000 {
            let number = rng.pick(&[0, 0, 0, 1]);
            let tag = SpaceTag::new(number).expect("a small tag");
            // Each gigabyte has pages of one size; some 200 pages are in use.
            let size = design.sizes()[rng.below(4) as usize];
            let pages = size.bytes() >> 12;
            let page = (u64::from(size.shift()) << 18) + rng.below(50) * pages + rng.below(pages);
            let key = (number, size, page / pages * pages);
            let at = list.iter().position(|held| *held == key);
            if rng.below(200) == 0 {
                ours.invalidate(tag, PageNumber(page), size);
                list.retain(|held| *held != key);
                continue;
            }
            let found = ours.lookup(tag, PageNumber(page));
            let wanted = if at.is_some() {
                Lookup::First
            } else {
                Lookup::Miss
            };
            assert_eq!(found, wanted, "{name}, seed {seed}, step {step}");
            hits_and_misses[usize::from(at.is_none())] += 1;
            match at {
                Some(at) => drop(list.remove(at)),
                None => ours.fill(tag, PageNumber(page), size),
            }
            list.push(key);
            if list.len() > entries {
                list.remove(0);
            }
        }
    }
    assert!(
        hits_and_misses.iter().all(|count| *count > 20_000),
        "{hits_and_misses:?}"
    );
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
                SpaceTag::new(number).expect("a small tag"),
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
                        ours.fill(tag, PageNumber(page), size);
                    }
                    let wanted = match slow.lookup(space, page, leaf) {
                        Found::FirstLevel => Lookup::First,
                        Found::SecondLevel => Lookup::Second,
                        Found::Walk => Lookup::Miss,
                    };
                    assert_eq!(found, wanted, "{name}, seed {seed}, step {step}");
                    seen[wanted as usize] += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 20_000), "{name}: {seen:?}");
}
