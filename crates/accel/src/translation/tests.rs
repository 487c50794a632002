//! Families of machines against each machine by itself, on random lookups.

use super::*;
use broadleaf_trace::synth::SplitMix64;
use std::ops::Range;

const MEMBERS: usize = 5;
const BLOCKS: u32 = 24;

/// A machine with a first level of 24 entries, and so many ways in the two sets of the second. With
/// twelve ways, its TLBs can be apart.
fn small_machine(first_ways: usize, second_ways: usize) -> Machine {
    let first_entries = 4 * first_ways;
    let second_entries = 2 * second_ways;
    Machine::from_toml(&format!(
        r#"
        name = "small-{second_ways}"
        summary = "a test"
        explanation = "a test"
        source = "a test"
        [[tlb]]
        name = "large-{second_ways}"
        level = 1
        entries = 8
        ways = 4
        replacement = "lru"
        index = {{ 2m = "va[21]" }}
        [[tlb]]
        name = "base"
        level = 1
        entries = {first_entries}
        ways = {first_ways}
        replacement = "lru"
        index = {{ 4k = "va[13:12]" }}
        [[tlb]]
        name = "second"
        level = 2
        entries = {second_entries}
        ways = {second_ways}
        replacement = "lru"
        index = {{ 4k = "va[12] ^ va[14]", 2m = "va[22]" }}
        [walk-cycles]
        4k = 35
        2m = 21
    "#
    ))
    .unwrap()
}

/// A family, each of its machines by itself, and the superpages of all policies.
struct FamilyAndSingles<'a> {
    family: TeamTranslation<'a>,
    single: Vec<TeamTranslation<'a>>,
    superpages: Superpages,
}

impl<'a> FamilyAndSingles<'a> {
    fn new(machines: &'a [Machine]) -> Self {
        let mut families = TeamTranslation::families(machines, MEMBERS);
        assert_eq!(families.len(), 1, "the machines are no family");
        let mut superpages = Superpages::default();
        superpages.make_room(BLOCKS as usize);
        let one = |machine| TeamTranslation::families(std::slice::from_ref(machine), MEMBERS);
        Self {
            family: families.remove(0),
            single: machines.iter().flat_map(one).collect(),
            superpages,
        }
    }

    fn each(&mut self, mut act: impl FnMut(&mut TeamTranslation<'a>, &Superpages)) {
        for translation in [&mut self.family].into_iter().chain(&mut self.single) {
            act(translation, &self.superpages);
        }
    }

    /// Changes superpages and makes lookups.
    fn go_on(&mut self, random: &mut SplitMix64, blocks: Range<u32>) {
        let batch = random_batch(random, blocks);
        let block = BlockId(random.below(u64::from(BLOCKS)) as u32);
        let members = random.next() & random.next() & family_members();
        let huge = self.superpages.of(block);
        let first = PageNumber(u64::from(block.0) << 9);
        match random.below(8) {
            0..4 => self.superpages.put(block, huge | members),
            4 => {
                self.each(|tlbs, _| tlbs.shoot_down_superpage(huge & members, first, block));
                self.superpages.put(block, huge & !members);
            }
            5 => {
                let offset = random.below(512) as u16;
                self.each(|tlbs, _| {
                    tlbs.shoot_down(members, &|entry| match entry {
                        Entry::Base(_, its) => its < offset,
                        Entry::Superpage(its) => its == block.0,
                    });
                });
            }
            6 => self.each(|tlbs, superpages| tlbs.look_up_for(members, &batch, 3..4, superpages)),
            _ => {}
        }
        self.each(|tlbs, superpages| {
            tlbs.look_up(&batch, 0..batch.pages.len(), superpages);
            tlbs.rest();
            tlbs.check();
        });
    }

    fn compare(&self, seed: u64) {
        for member in 0..MEMBERS {
            let of_family = self.family.misses_of(member);
            for ((number, machine, misses), single) in of_family.zip(&self.single) {
                let (_, _, alone) = single.misses_of(member).next().unwrap();
                let name = &machine.name;
                assert_eq!(
                    misses, alone,
                    "seed {seed}, {number} {name}, member {member}"
                );
            }
        }
    }
}

fn family_members() -> Members {
    Members::MAX >> (Members::BITS as usize - MEMBERS)
}

/// Random pages of some blocks.
fn random_batch(random: &mut SplitMix64, blocks: Range<u32>) -> Batch {
    let mut batch = Batch::default();
    let near = blocks.start + random.below(u64::from(blocks.end - blocks.start)) as u32;
    for _ in 0..20 + random.below(60) {
        let block = match random.below(3) {
            0 => blocks.start + random.below(u64::from(blocks.end - blocks.start)) as u32,
            _ => near,
        };
        let offset = random.below(12) as u16 * 37;
        let number = u64::from(block) << 9 | u64::from(offset);
        batch.pages.push(PageNumber(number));
        batch.ids.push(PageId::new(block, offset));
    }
    batch
}

/// Machines part where strays matter, and share their first level again later.
#[test]
fn a_family_counts_as_each_of_its_machines() {
    let of_four = [4, 8, 10, 20].map(|ways| small_machine(4, ways));
    let of_six = [2, 12, 18].map(|ways| small_machine(6, ways));
    let (mut shared, mut parted) = (0, 0);
    for seed in 0..40 {
        for machines in [&of_four[..], &of_six] {
            let mut random = SplitMix64::new(seed);
            let mut both = FamilyAndSingles::new(machines);
            for _ in 0..200 {
                both.go_on(&mut random, 0..BLOCKS);
                both.compare(seed);
                let groups = &both.family.groups;
                let whole = |group: &Group| group.machines.count_ones() as usize == machines.len();
                match groups.iter().all(whole) {
                    true => shared += 1,
                    false => parted += 1,
                }
            }
        }
    }
    assert!(
        shared > 100 && parted > 100,
        "{shared} shared, {parted} not"
    );
}

/// TLBs of a family are apart while most lookups miss, and side by side later.
#[test]
fn machines_of_a_family_look_up_apart() {
    let machines = [12, 12, 12].map(|ways| small_machine(4, ways));
    let (mut apart, mut together) = (0, 0);
    for seed in 0..20 {
        let mut random = SplitMix64::new(seed);
        let mut both = FamilyAndSingles::new(&machines);
        for phase in 0..4 {
            let blocks = if phase % 2 == 0 { 0..BLOCKS } else { 0..2 };
            for _ in 0..80 {
                both.go_on(&mut random, blocks.clone());
                both.compare(seed);
                match both.family.apart {
                    true => apart += 1,
                    false => together += 1,
                }
            }
        }
    }
    assert!(
        apart > 500 && together > 500,
        "{apart} apart, {together} together"
    );
}

/// Machines are families if their first levels are equal, and all of their TLBs can be apart or
/// none can.
#[test]
fn families_have_one_first_level() {
    let ways = [(4, 12), (4, 8), (6, 8), (4, 12), (4, 20), (6, 12)];
    let machines = ways.map(|(first, second)| small_machine(first, second));
    let numbers_of = |count| -> Vec<Vec<usize>> {
        let families = TeamTranslation::families(&machines, count);
        let numbers = families.iter().map(|family| &family.machines);
        numbers
            .map(|them| them.iter().map(|(number, _)| *number).collect())
            .collect()
    };
    assert_eq!(numbers_of(5), [vec![0, 3], vec![1, 4], vec![2, 5]]);
    // There are no more lanes than this.
    let alone: Vec<Vec<usize>> = (0..ways.len()).map(|number| vec![number]).collect();
    assert_eq!(numbers_of(MOST_LANES), alone);
}

/// Marks of a family are met by equal TLBs alone, and misses go on from them.
#[test]
fn marks_hold_for_all_machines_of_a_family() {
    let machines = [4, 8, 14].map(|ways| small_machine(4, ways));
    let (mut met, mut differed) = (0, 0);
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let mut both = FamilyAndSingles::new(&machines);
        for _ in 0..20 {
            both.go_on(&mut random, 0..BLOCKS);
        }
        let mut other = both.family.clone();
        // Lookups of one block may end with equal TLBs.
        for _ in 0..random.below(4) {
            let batch = random_batch(&mut random, 0..1);
            let half = batch.pages.len() / 2;
            both.family.look_up(&batch, 0..half, &both.superpages);
        }
        let mark = both.family.mark();
        let is_met = other.is_at(&mark);
        let equal = (0..MEMBERS).all(|member| {
            (0..machines.len()).all(|machine| {
                entries_of(&both.family, machine, member) == entries_of(&other, machine, member)
            })
        });
        assert_eq!(is_met, equal, "seed {seed}");
        match is_met {
            true => met += 1,
            false => differed += 1,
        }
        if is_met {
            let before = other.misses(1, 2);
            let start = both.family.misses(1, 2);
            both.go_on(&mut random, 0..BLOCKS);
            other.go_on_as(both.family.clone(), &mark);
            let mut expected = both.family.misses(1, 2).since(&start);
            expected.add(&before);
            assert_eq!(other.misses(1, 2), expected, "seed {seed}");
        }
    }
    assert!(met > 5 && differed > 5, "{met} met, {differed} not");
}

/// The entries of one member's TLB on one machine.
fn entries_of(tlbs: &TeamTranslation<'_>, machine: usize, member: usize) -> (Vec<u32>, Vec<u32>) {
    let of_both = |group: &Group| group.members >> member & group.machines >> machine & 1 != 0;
    let lane = tlbs.groups.iter().position(of_both).unwrap();
    let below = tlbs.tlbs.entries_below(lane, machine);
    (tlbs.tlbs.first_entries(lane), below)
}
