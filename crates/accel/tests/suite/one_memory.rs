//! Machines that all observe one memory for each policy.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_machine::{Machine, machine, machines_of_grid};
use broadleaf_metrics::CellResult;
use broadleaf_model::{Items, MemoryLimits, Plan, PlanError};
use broadleaf_policy::Policy;
use broadleaf_trace::{Advice, Backing, Event, Grain};
use broadleaf_units::SplitMix64;
use std::ops::ControlFlow;

const POLICIES: [&str; 4] = ["4k", "random-frames", "reserve-64k", "foxtrot(size=64k)"];

/// A TLB with both page sizes, and TLBs that lack the larger one.
const GRIDS: [&str; 3] = [
    "superpage:entries=24,sizes=4k+64k,replacement=lru",
    "single:entries=24,replacement=lru",
    "partial-subblock:entries=8,block=64k,replacement=lru",
];

const PAGES: u64 = BLOCK;

/// Loads and stores near each other, with pages that are given back meanwhile.
fn random(seed: u64) -> Items {
    let mut random = SplitMix64::new(seed);
    let mut items = Items::new(Grain::Page);
    items.event(map(0, PAGES, Backing::Anonymous));
    for _ in 0..8 {
        let base = random.next() % PAGES;
        let visits = (0..300).map(|_| {
            let page = (base + random.next() % 80) % PAGES;
            match random.next() % 3 {
                0 => store(page),
                _ => loads(page, 1),
            }
        });
        items.visits(visits.collect::<Vec<_>>());
        let at = random.next() % (PAGES - 8);
        items.event(Event::Advise(range(at, 8), Advice::DontNeed));
    }
    items
}

fn machine_of(grid: &str) -> Machine {
    machines_of_grid(grid).expect("a grid").remove(0)
}

fn policies() -> Vec<Box<dyn Policy>> {
    let parse = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
    POLICIES.iter().map(parse).collect()
}

fn replayed(items: &Items, plan: Result<Plan, PlanError>) -> Vec<CellResult> {
    let plan = plan.expect("a plan");
    let outcome = run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    );
    outcome.expect("a replay").results
}

fn in_one_memory(items: &Items, grids: &[&str]) -> Vec<CellResult> {
    let machines = grids.iter().map(|grid| machine_of(grid)).collect();
    let plan = Plan::within_one_memory(policies(), machines, MemoryLimits::none());
    replayed(items, plan)
}

/// The results of one machine, policy by policy.
fn of<'r>(results: &'r [CellResult], grid: &str) -> Vec<&'r CellResult> {
    results.iter().filter(|one| one.machine == grid).collect()
}

#[test]
fn a_memory_of_all_page_sizes_is_that_of_the_machine_with_all_of_them() {
    let mut superpages = 0;
    for seed in 0..12 {
        let items = random(seed);
        let together = in_one_memory(&items, &GRIDS);
        // The machine with all sizes counts what it counts in a memory of its own.
        let plan = Plan::within(policies(), vec![machine_of(GRIDS[0])], MemoryLimits::none());
        let alone = replayed(&items, plan);
        let with_all = of(&together, GRIDS[0]);
        assert_eq!(with_all, alone.iter().collect::<Vec<_>>(), "seed {seed}");
        superpages += alone.iter().map(|one| one.promotions).sum::<u64>();
        // The order of the machines, and the machines beside it, change no machine's counts.
        for others in [
            [GRIDS[2], GRIDS[1], GRIDS[0]],
            [GRIDS[1], GRIDS[0], "superpage:entries=5,sizes=4k+64k"],
        ] {
            let again = in_one_memory(&items, &others);
            for grid in GRIDS.iter().filter(|grid| others.contains(grid)) {
                assert_eq!(of(&again, grid), of(&together, grid), "seed {seed}");
            }
        }
        // All machines look at the same memory.
        for (number, result) in with_all.iter().enumerate() {
            for grid in &GRIDS[1..] {
                let other = of(&together, grid)[number];
                assert_eq!(other.memory, result.memory, "seed {seed}, {grid}");
                assert_eq!(other.promotions, result.promotions);
                assert_eq!(other.page_faults, result.page_faults);
            }
        }
    }
    assert!(superpages > 0, "no policy made a superpage");
}

#[test]
fn machines_of_different_base_pages_have_no_memory_together() {
    let names = ["skylake", "skylake-unified-64", "alpha21264"];
    let machines = names.map(|name| machine(name).expect("a machine")).to_vec();
    let plan = Plan::within_one_memory(policies(), machines, MemoryLimits::none());
    let error = plan.err().expect("other base pages");
    let expected = PlanError::BasePages {
        machine: "skylake".to_owned(),
        other: "alpha21264".to_owned(),
    };
    assert_eq!(error.to_string(), expected.to_string());
    assert_eq!(
        error.to_string(),
        "skylake and alpha21264 have different base pages, so they cannot look at one memory"
    );
}
