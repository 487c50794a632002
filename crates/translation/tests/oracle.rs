//! Every built-in machine's TLBs against the oracle's, which keep an age on every entry, on random lookups and removals.

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
        machine_names().collect::<Vec<_>>(),
        told,
        "the oracle has to be told of each machine"
    );
    Machine::ALL.into_iter().for_each(compare);
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
