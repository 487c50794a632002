//! Families of machines against each machine by itself, on random lookups.

use super::*;
use crate::MOST_LANES;
use crate::small_machines::{FIRST_LEVEL, machine_apart, machine_of_ways, random_machine};
use broadleaf_model::{Items, Plan};
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{Grain, Visit};
use std::ops::{ControlFlow, Range};

const MEMBERS: usize = 6;
const BLOCKS: u32 = 24;
/// More blocks than a second level has entries.
const MANY_BLOCKS: u32 = 80;

/// A family, each of its machines under each policy by itself, and the superpages of all policies.
struct FamilyAndSingles<'a> {
    family: TeamTranslation<'a>,
    superpages: Superpages,
    /// By machine and member.
    single: Vec<Vec<TeamTranslation<'a>>>,
    /// By member: its own superpages, as those of the only member.
    alone: Vec<Superpages>,
}

impl<'a> FamilyAndSingles<'a> {
    fn new(machines: &'a [Machine]) -> Self {
        let mut families = TeamTranslation::families(machines, MEMBERS);
        assert_eq!(families.len(), 1, "the machines are no family");
        let mut superpages = Superpages::default();
        superpages.make_room(MANY_BLOCKS as usize);
        let one = |machine| TeamTranslation::families(std::slice::from_ref(machine), 1);
        let of_members = |machine| (0..MEMBERS).flat_map(|_| one(machine)).collect();
        Self {
            family: families.remove(0),
            single: machines.iter().map(of_members).collect(),
            alone: vec![superpages.clone(); MEMBERS],
            superpages,
        }
    }

    /// Acts on the family and on each machine and member. The members of `members` are the only
    /// member there, or none.
    fn each(
        &mut self,
        members: Members,
        mut act: impl FnMut(&mut TeamTranslation<'a>, &Superpages, Members),
    ) {
        act(&mut self.family, &self.superpages, members);
        for of_members in &mut self.single {
            for (member, tlbs) in of_members.iter_mut().enumerate() {
                act(tlbs, &self.alone[member], members >> member & 1);
            }
        }
    }

    /// Makes a block a superpage under these members alone.
    fn put(&mut self, block: BlockId, members: Members) {
        self.superpages.put(block, members);
        for (member, alone) in self.alone.iter_mut().enumerate() {
            alone.put(block, members >> member & 1);
        }
    }

    fn look_up(&mut self, batch: &Batch) {
        self.each(0, |tlbs, superpages, _| {
            tlbs.look_up(batch, 0..batch.pages.len(), superpages);
            tlbs.rest();
            tlbs.check();
        });
    }

    /// Changes superpages and makes lookups.
    fn go_on(&mut self, random: &mut SplitMix64, blocks: Range<u32>) {
        let batch = random_batch(random, blocks);
        let block = BlockId(random.below(u64::from(BLOCKS)) as u32);
        let members = random.next() & random.next() & family_members();
        let huge = self.superpages.of(block);
        let first = PageNumber(u64::from(block.0) << 9);
        match random.below(8) {
            0..4 => self.put(block, huge | members),
            4 => {
                let broken = huge & members;
                self.each(broken, |tlbs, _, broken| {
                    tlbs.shoot_down_superpage(broken, first, block);
                });
                self.put(block, huge & !members);
            }
            5 => {
                let offset = random.below(512) as u16;
                self.each(members, |tlbs, _, members| {
                    tlbs.shoot_down(members, &|entry| match entry {
                        Entry::Base(_, its) => its < offset,
                        Entry::Superpage(its) => its == block.0,
                    });
                });
            }
            6 => self.each(members, |tlbs, superpages, members| {
                tlbs.look_up_for(members, &batch, 3..4, superpages);
            }),
            _ => {}
        }
        self.look_up(&batch);
    }

    fn compare(&self, seed: u64) {
        for member in 0..MEMBERS {
            let of_family = self.family.misses_of(member);
            for ((number, _, misses), single) in of_family.zip(&self.single) {
                let (_, _, alone) = single[member].misses_of(0).next().unwrap();
                assert_eq!(
                    misses, alone,
                    "seed {seed}, machine {number}, member {member}"
                );
            }
        }
    }

    /// Returns true if each group has all machines.
    fn is_whole(&self) -> bool {
        let mut groups = self.family.groups.iter();
        groups.all(|group| group.machines.count_ones() as usize == self.single.len())
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
    let (mut parted, mut united, mut most_groups) = (0, 0, 0);
    for seed in 0..150 {
        let mut random = SplitMix64::new(seed);
        let count = 2 + random.below(9);
        let machines = (0..count).map(|_| random_machine(&mut random));
        let machines: Vec<Machine> = machines.collect();
        let mut both = FamilyAndSingles::new(&machines);
        for blocks in [0..BLOCKS, 0..3, 0..10] {
            for _ in 0..60 {
                let was_whole = both.is_whole();
                both.go_on(&mut random, blocks.clone());
                both.compare(seed);
                parted += u32::from(was_whole && !both.is_whole());
                united += u32::from(!was_whole && both.is_whole());
                most_groups = most_groups.max(both.family.groups.len());
            }
        }
    }
    assert!(
        parted > 50 && united > 50,
        "{parted} parted, {united} united"
    );
    assert!(most_groups > 16, "{most_groups} lanes");
}

/// TLBs of a family are apart while most lookups miss, and side by side later. Where all pages lie
/// in superpages, TLBs are joined.
#[test]
fn machines_of_a_family_look_up_apart() {
    let (mut apart, mut together, mut joined) = (0, 0, 0);
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let count = 2 + random.below(6);
        let machines = (0..count).map(|_| machine_apart(2 << random.below(2)));
        let machines: Vec<Machine> = machines.collect();
        let mut both = FamilyAndSingles::new(&machines);
        for (phase, blocks) in [0..BLOCKS, 0..1, 0..4, 0..BLOCKS, 0..2]
            .into_iter()
            .enumerate()
        {
            if phase == 3 && seed % 2 == 0 {
                let all = (0..BLOCKS).map(BlockId);
                all.for_each(|block| both.put(block, family_members()));
            }
            for _ in 0..50 {
                both.go_on(&mut random, blocks.clone());
                both.compare(seed);
                apart += u32::from(both.family.apart);
                together += u32::from(!both.family.apart);
                joined += u32::from(both.family.tlbs.has_joined());
            }
        }
    }
    assert!(
        apart > 1000 && together > 1000,
        "{apart} apart, {together} together"
    );
    assert!(joined > 50, "{joined} times joined");
}

/// Policies whose TLBs were joined have strays of their own again once TLBs are side by side.
#[test]
fn joined_tlbs_keep_their_strays_side_by_side() {
    let machines = [machine_apart(2), machine_apart(4)];
    for member in 0..MEMBERS {
        let mut random = SplitMix64::new(member as u64);
        let mut both = FamilyAndSingles::new(&machines);
        // The page is a base page under one policy at first. Its entry is never pushed out.
        let others = family_members() & !(1 << member);
        (0..MANY_BLOCKS).for_each(|block| both.put(BlockId(block), others));
        let mut stray = Batch::default();
        stray.pages.push(PageNumber(5 << 9));
        stray.ids.push(PageId::new(5, 0));
        both.look_up(&stray);
        (0..MANY_BLOCKS).for_each(|block| both.put(BlockId(block), family_members()));
        let was_joined = (0..80).any(|_| {
            both.look_up(&random_batch(&mut random, 8..MANY_BLOCKS));
            both.family.tlbs.has_joined()
        });
        assert!(was_joined && both.family.apart);
        for _ in 0..80 {
            both.look_up(&random_batch(&mut random, 8..9));
        }
        assert!(!both.family.apart);
        both.look_up(&random_batch(&mut random, 8..MANY_BLOCKS));
        let before = both.family.all_misses();
        both.look_up(&stray);
        both.compare(member as u64);
        let missed: Vec<bool> = (0..MEMBERS)
            .map(|member| both.family.misses(0, member) != before[0][member])
            .collect();
        let expected: Vec<bool> = (0..MEMBERS).map(|other| other != member).collect();
        assert_eq!(missed, expected, "the entry of the base page is gone");
    }
}

/// Machines are families if their first levels are equal, and all of their TLBs can be apart or
/// none can.
#[test]
fn families_have_one_first_level() {
    let other_first = |ways: usize| {
        let text = format!("name = \"other\"\n{FIRST_LEVEL}").replace("va[13:12]", "va[14:13]");
        let index = r#"4k = "va[12]", 2m = "va[22]""#;
        let entries = 2 * ways;
        let second = format!(
            "[[tlb]]\nname = \"second\"\nlevel = 2\nentries = {entries}\nways = {ways}\n\
             replacement = \"lru\"\nindex = {{ {index} }}\n"
        );
        Machine::from_toml(&(text + &second)).unwrap()
    };
    let machines = [
        machine_apart(2),
        machine_of_ways(8),
        other_first(8),
        machine_apart(4),
        machine_of_ways(20),
        other_first(20),
    ];
    let numbers_of = |count| -> Vec<Vec<usize>> {
        let families = TeamTranslation::families(&machines, count);
        let numbers = families.iter().map(|family| &family.machines);
        numbers
            .map(|them| them.iter().map(|(number, _)| *number).collect())
            .collect()
    };
    assert_eq!(numbers_of(MEMBERS), [vec![0, 3], vec![1, 4], vec![2, 5]]);
    // There are no more lanes than this.
    let alone: Vec<Vec<usize>> = (0..machines.len()).map(|number| vec![number]).collect();
    assert_eq!(numbers_of(MOST_LANES), alone);
}

/// Results have the order of the machines, also if machines of several families take turns.
#[test]
fn results_have_the_order_of_the_machines() {
    let machines = [
        machine_apart(4),
        machine_of_ways(1),
        machine_apart(2),
        machine_of_ways(20),
    ];
    let mut random = SplitMix64::new(5);
    let mut items = Items::new(Grain::Page);
    items.visits((0..4000).map(|_| Visit {
        unit: random.below(8) << 9 | random.below(20),
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }));
    let misses_on = |machines: &[Machine]| -> Vec<u64> {
        let policies = ["4k", "pop-12"].map(|name| broadleaf_policy::parse(name).unwrap());
        let plan = Plan::new(policies.into(), machines.to_vec()).unwrap();
        let mut go_on = |_| ControlFlow::Continue(());
        let outcome = crate::run(&mut items.clone(), &plan, &mut go_on).unwrap();
        let results = outcome.results.iter();
        results.map(|result| result.l2_misses).collect()
    };
    let alone: Vec<Vec<u64>> = machines
        .iter()
        .map(|machine| misses_on(std::slice::from_ref(machine)))
        .collect();
    let by_policy = (0..2).flat_map(|policy| alone.iter().map(move |of| of[policy]));
    let expected: Vec<u64> = by_policy.collect();
    assert_eq!(misses_on(&machines), expected);
    assert_ne!(alone[1], alone[3]);
    assert_ne!(alone[0], alone[1]);
}

/// A mark is met by equal TLBs alone, and misses go on from there.
#[test]
fn marks_hold_for_all_machines_of_a_family() {
    let (mut met, mut differed, mut parted) = (0, 0, 0);
    for seed in 0..200 {
        let mut random = SplitMix64::new(seed);
        let machines: Vec<Machine> = (0..4).map(|_| random_machine(&mut random)).collect();
        let mut both = FamilyAndSingles::new(&machines);
        both.go_on(&mut random, 0..BLOCKS);
        // The other side has other lookups behind it. From empty TLBs on, both make the same.
        let mut other = both.family.clone();
        let batch = random_batch(&mut random, 0..BLOCKS);
        other.look_up(&batch, 0..batch.pages.len(), &both.superpages);
        for tlbs in [&mut both.family, &mut other] {
            tlbs.shoot_down(family_members(), &|_| true);
        }
        for _ in 0..6 {
            let batch = random_batch(&mut random, 0..4);
            for tlbs in [&mut both.family, &mut other] {
                tlbs.look_up(&batch, 0..batch.pages.len(), &both.superpages);
            }
            let block = BlockId(random.below(4) as u32);
            let huge = both.superpages.of(block) | random.next() & family_members();
            both.put(block, huge);
        }
        if random.below(2) == 0 {
            let batch = random_batch(&mut random, 0..2);
            other.look_up(&batch, 0..2, &both.superpages);
        }
        let mark = both.family.mark();
        let is_met = other.is_at(&mark);
        let mut pairs =
            (0..MEMBERS).flat_map(|member| (0..machines.len()).map(move |it| (it, member)));
        let equal = pairs.all(|(machine, member)| {
            entries_of(&both.family, machine, member) == entries_of(&other, machine, member)
        });
        assert_eq!(is_met, equal, "seed {seed}");
        if !is_met {
            differed += 1;
            continue;
        }
        met += 1;
        parted += u32::from(!both.is_whole());
        let (start, before) = (both.family.all_misses(), other.all_misses());
        assert_ne!(start, before, "seed {seed}");
        let batch = random_batch(&mut random, 0..BLOCKS);
        both.family
            .look_up(&batch, 0..batch.pages.len(), &both.superpages);
        other.go_on_as(both.family.clone(), &mark);
        for machine in 0..machines.len() {
            for member in 0..MEMBERS {
                let mut expected = both.family.misses(machine, member);
                expected = expected.since(&start[machine][member]);
                expected.add(&before[machine][member]);
                assert_eq!(other.misses(machine, member), expected, "seed {seed}");
            }
        }
    }
    assert!(met > 50 && differed > 50, "{met} met, {differed} not");
    assert!(parted > 20, "{parted} parted");
}

/// The entries of one member's TLB on one machine.
fn entries_of(tlbs: &TeamTranslation<'_>, machine: usize, member: usize) -> (Vec<u32>, Vec<u32>) {
    let of_both = |group: &Group| group.members >> member & group.machines >> machine & 1 != 0;
    let lane = tlbs.groups.iter().position(of_both).unwrap();
    let below = tlbs.tlbs.entries_below(lane, machine);
    (tlbs.tlbs.first_entries(lane), below)
}
