//! Machines that observe one memory count what each counts with a memory of its own.

use crate::common::*;
use broadleaf_accel::run_after;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, MemoryLimits, Outcome, Plan};
use broadleaf_policy::Policy;
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

/// The first four have equal page sizes, and the last two have others.
const MACHINES: [&str; 6] = [
    "skylake",
    "skylake-unified-64",
    "skylake-unified-96",
    "skylake-va23",
    "skylake-1g",
    "romer1995",
];
/// Policies that promote at faults, with a daemon, from reservations, at misses, and with
/// foresight.
const POLICIES: [&str; 7] = [
    "4k",
    "greedy",
    "linux",
    "navarro",
    "hawkeye",
    "approx-online",
    "offline",
];
const PAGES: u64 = 4 * BLOCK;

/// Loads and stores of two address spaces, with pages that are given back meanwhile.
pub(crate) fn random(seed: u64) -> Items {
    let mut random = SplitMix64::new(seed);
    let mut items = Items::new(Grain::Page);
    for space in [0, 1] {
        items.event(Event::SpaceSwitch(SpaceId(space)));
        items.event(map(0, PAGES, Backing::Anonymous));
    }
    for _ in 0..10 {
        items.event(Event::SpaceSwitch(SpaceId(random.next() as u32 & 1)));
        let base = random.next() % PAGES;
        let visits = (0..400).map(|_| {
            let page = (base + random.next() % 700) % PAGES;
            if random.next().is_multiple_of(3) {
                store(page)
            } else {
                loads(page, 1 + random.next() as u32 % 3)
            }
        });
        items.visits(visits.collect::<Vec<_>>());
        let at = random.next() % (PAGES - 64);
        items.event(match random.next() % 3 {
            0 => Event::Advise(range(at, 64), Advice::DontNeed),
            1 => Event::Unmap(range(at, 8)),
            _ => map(at, 8, Backing::Anonymous),
        });
    }
    items
}

/// Replays `items` after `earlier`, with results also after 2,000 accesses.
fn replayed(earlier: &Items, items: &Items, machines: &[&str], limits: &MemoryLimits) -> Outcome {
    replayed_as(earlier, items, machines, limits, |plan| plan)
}

/// Replays by a changed plan.
fn replayed_as(
    earlier: &Items,
    items: &Items,
    machines: &[&str],
    limits: &MemoryLimits,
    change: impl Fn(Plan) -> Plan,
) -> Outcome {
    let machine = |name: &&str| -> Machine {
        let known = broadleaf_machine::machine(name).ok();
        known.unwrap_or_else(|| broadleaf_machine::machines_of_grid(name).unwrap().remove(0))
    };
    let policy = |name: &&str| -> Box<dyn Policy> { broadleaf_policy::parse(name).unwrap() };
    let plan = Plan::within(
        POLICIES.iter().map(policy).collect(),
        machines.iter().map(machine).collect(),
        limits.clone(),
    );
    let plan = change(plan.expect("a plan").with_interim_results(vec![2000]));
    run_after(
        &mut [earlier.clone()],
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a replay")
}

#[test]
fn machines_that_share_a_memory_count_what_they_count_alone() {
    let small = MemoryLimits::new(6 << 20);
    let smallest = MemoryLimits {
        swap: 64 << 10,
        ..MemoryLimits::new(2 << 20)
    };
    let (mut ended, mut promoted) = (0, [0; MACHINES.len()]);
    // Memory that never runs short, that is swapped, and that is used up.
    for (seed, limits) in [(1, MemoryLimits::none()), (2, small), (3, smallest)] {
        let (earlier, items) = (random(seed + 10), random(seed));
        let together = replayed(&earlier, &items, &MACHINES, &limits);
        for (number, machine) in MACHINES.iter().enumerate() {
            let alone = replayed(&earlier, &items, &[machine], &limits);
            let all = [
                (&together.results, &alone.results),
                (&together.interim[0], &alone.interim[0]),
            ];
            for (together, alone) in all {
                let of_machine = together.iter().skip(number).step_by(MACHINES.len());
                for (one, other) in of_machine.zip(alone) {
                    let memory = one.memory.as_ref().expect("memory is modelled");
                    ended += u32::from(memory.out_of_memory_after.is_some());
                    assert_eq!(one, other, "{} on {machine}, seed {seed}", one.policy);
                }
            }
            let promotions = alone.results.iter().map(|result| result.promotions);
            promoted[number] += promotions.sum::<u64>();
        }
    }
    assert!(ended > 0, "memory was never used up");
    assert!(promoted.iter().all(|count| *count > 0), "{promoted:?}");
}

/// Walks of a build with assertions fail here if a page table lacks a notice.
#[test]
fn walks_through_page_tables_find_the_pages_of_the_memory() {
    let small = MemoryLimits::new(6 << 20);
    for (seed, limits) in [(1, MemoryLimits::none()), (2, small)] {
        let (earlier, items) = (random(seed + 10), random(seed));
        let plain = replayed(&earlier, &items, &MACHINES, &limits);
        let walked = replayed_as(&earlier, &items, &MACHINES, &limits, Plan::walking_tables);
        assert_eq!(plain, walked, "seed {seed}");
    }
}

/// TLBs that are alike, and their page tables. One TLB of each kind makes the lookups, and the
/// others walk their tables at its misses.
const TWINS: [&str; 8] = [
    "single:entries=16,line=256,table=hashed",
    "complete-subblock:entries=8,block=64k,preload=true,line=256,table=linear",
    "single:entries=16,line=256,table=forward-mapped",
    "single:entries=16,line=64,table=clustered",
    "complete-subblock:entries=8,block=64k,preload=true,line=64,table=clustered-software-tlb",
    "partial-subblock:entries=8,block=64k,line=256,table=hashed",
    "complete-subblock:entries=8,block=64k,preload=true,line=256,table=hashed",
    "partial-subblock:entries=9,block=64k,line=256,table=hashed",
];

#[test]
fn machines_that_share_lookups_count_what_they_count_alone() {
    for (seed, limits) in [(1, MemoryLimits::none()), (2, MemoryLimits::new(6 << 20))] {
        let (earlier, items) = (random(seed + 10), random(seed));
        let of_policies = |machines: &[&str]| {
            let walking = Plan::walking_tables;
            replayed_as(&earlier, &items, machines, &limits, walking)
        };
        let together = of_policies(&TWINS);
        for (number, machine) in TWINS.iter().enumerate() {
            let alone = of_policies(&[machine]);
            let all = [
                (&together.results, &alone.results),
                (&together.interim[0], &alone.interim[0]),
            ];
            for (together, alone) in all {
                let of_machine = together.iter().skip(number).step_by(TWINS.len());
                for (one, other) in of_machine.zip(alone) {
                    assert_eq!(one, other, "{} on {machine}, seed {seed}", one.policy);
                    let walked = one.tlb.as_ref().and_then(|tlb| tlb.table_lines);
                    assert!(walked.is_some_and(|lines| lines > 0), "{machine}");
                }
            }
        }
    }
}
