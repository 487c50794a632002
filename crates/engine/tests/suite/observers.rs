//! Machines that observe one memory count what each counts with a memory of its own.

use crate::common::*;
use broadleaf_engine::{Items, Limits, Outcome, Plan, run};
use broadleaf_policy::Policy;
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_translation::Machine;
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
/// Policies that promote at faults, with a daemon, from reservations, at misses, and with foresight.
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
fn random(seed: u64) -> Items {
    let mut random = SplitMix64::new(seed);
    let mut items = Items::new(Grain::Page);
    for space in [0, 1] {
        items.event(Event::SpaceSwitch(SpaceId(space)));
        items.event(map(0, PAGES, Backing::Anonymous));
    }
    for _ in 0..24 {
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

fn replayed(items: &Items, machines: &[&str], limits: &Limits) -> Outcome {
    let machine = |name: &&str| -> Machine { broadleaf_translation::machine(name).unwrap() };
    let policy = |name: &&str| -> Box<dyn Policy> { broadleaf_policy::parse(name).unwrap() };
    let plan = Plan::within(
        POLICIES.iter().map(policy).collect(),
        machines.iter().map(machine).collect(),
        limits.clone(),
    );
    run(&mut items.clone(), &plan.expect("a plan"), &mut |_| {
        ControlFlow::Continue(())
    })
    .expect("a replay")
}

#[test]
fn machines_that_share_a_memory_count_what_they_count_alone() {
    // Memory that never runs short, and memory that does.
    for (seed, limits) in [(1, Limits::none()), (2, Limits::new(6 << 20))] {
        let items = random(seed);
        let together = replayed(&items, &MACHINES, &limits);
        for (number, machine) in MACHINES.iter().enumerate() {
            let alone = replayed(&items, &[machine], &limits);
            let of_machine = together.results.iter().skip(number).step_by(MACHINES.len());
            let mut promotions = 0;
            for (one, other) in of_machine.zip(&alone.results) {
                promotions += one.promotions;
                assert_eq!(one, other, "{} on {machine}, seed {seed}", one.policy);
            }
            assert!(promotions > 0, "{machine}: nothing was promoted");
        }
    }
}
