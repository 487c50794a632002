//! Machines that keep different numbers of last pages leave out different lookups, and count what
//! they count with every lookup.

use crate::common::*;
use crate::filtered::{limits, random, replayed};
use broadleaf_accel::run;
use broadleaf_machine::Machine;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_policy::Policy;
use broadleaf_trace::{Backing, Grain};
use std::ops::ControlFlow;

/// TLBs that keep 3 to 64 pages, of several classes, with and without page tables. The first
/// machine of a list makes its lookups with the others, unless it makes every lookup. Sets of
/// several ways and rules other than LRU make every lookup.
const LISTS: [&[&str]; 4] = [
    &[
        "single:entries=64,line=256,table=hashed",
        "complete-subblock:entries=9,block=64k,preload=true",
        "complete-subblock:entries=35,block=16k,preload=true",
        "partial-subblock:entries=57,block=64k,sizes=4k+64k",
        "single:entries=64,line=64,table=clustered",
    ],
    &[
        "skylake",
        "superpage:entries=3,sizes=4k+64k,modified-faults=true",
        "partial-subblock:entries=12,block=64k,sizes=4k+64k,preload=true",
        "complete-subblock:entries=30,block=64k,preload=true,line=256,table=hashed",
    ],
    &[
        "partial-subblock:entries=6,block=64k,sizes=4k+64k,preload=true,modified=page",
        "single:entries=16,replacement=gods",
        "superpage:entries=20,sizes=4k+64k,table=clustered",
        "zen4",
    ],
    &[
        "complete-subblock:entries=4,block=64k,subblock-miss=load-page,preload=true",
        "complete-subblock:entries=5,block=64k,preload=true",
        "superpage:entries=48,sizes=4k+64k,modified-faults=true",
        "neoverse-n1",
    ],
];

/// Policies of 64 KiB blocks, with daemons and gathering.
const BLOCKS: [&str; 5] = [
    "random-frames",
    "reserve-64k",
    "foxtrot",
    "working-set",
    "4k",
];

/// A plan in which all machines observe one memory of each policy.
fn plan_of(policies: &[&str], machines: &[&str], limits: &MemoryLimits) -> Plan {
    let machine = |name: &&str| -> Machine {
        broadleaf_machine::machine(name).unwrap_or_else(|_| {
            let machines = broadleaf_machine::machines_of_grid(name).expect("a grid");
            machines.into_iter().next().expect("a machine")
        })
    };
    let policy = |name: &&str| -> Box<dyn Policy> { broadleaf_policy::parse(name).unwrap() };
    let plan = Plan::within_one_memory(
        policies.iter().map(policy).collect(),
        machines.iter().map(machine).collect(),
        limits.clone(),
    );
    plan.expect("a plan").with_interim_results(vec![700])
}

#[test]
fn lookups_that_classes_leave_out_change_no_figure() {
    let (mut subblock, mut modified, mut promotions) = (0, 0, 0);
    for seed in 0..4 {
        let source = random(seed);
        let list = LISTS[seed as usize % LISTS.len()];
        for (number, limits) in limits().iter().enumerate() {
            let plan = || plan_of(&BLOCKS, list, limits);
            let classes = replayed(&source, &plan());
            let all = replayed(&source, &plan().with_all_visits());
            let found = classes.results.iter().chain(&classes.interim[0]);
            for (one, other) in found.zip(all.results.iter().chain(&all.interim[0])) {
                let case = format!("{} on {}, seed {seed}, {number}", one.policy, one.machine);
                assert_eq!(one, other, "{case}");
                promotions += one.promotions;
                if let Some(tlb) = &one.tlb {
                    subblock += tlb.subblock_misses;
                    modified += tlb.modified_faults;
                }
            }
        }
    }
    let seen = [subblock, modified, promotions];
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// Fails if the first store to a page is left out, or a class keeps more pages than its smallest
/// TLB.
#[test]
fn stores_and_the_smallest_tlb_of_a_class_decide() {
    let mut items = Items::new(Grain::Page);
    items.event(map(0, 64, Backing::Anonymous));
    items.visits((0..14).map(store));
    // All pages are dirty in the page table, and clean in the entries that are loaded next.
    let order = (0..14).cycle().take(14 * 9);
    items.visits(order.flat_map(|page| [loads(page, 1), store(page)]));
    let tlbs = [
        "single:entries=13,modified-faults=true",
        "single:entries=15,modified-faults=true",
        "single:entries=14",
    ];
    let count = |change: fn(Plan) -> Plan| {
        let plan = change(plan_of(&["4k"], &tlbs, &MemoryLimits::none()));
        let outcome = run(
            &mut items.clone(),
            &plan,
            &mut |_| ControlFlow::Continue(()),
        );
        let misses = outcome.expect("a replay").results.into_iter();
        misses.map(|result| result.l2_misses).collect::<Vec<u64>>()
    };
    let found = count(|plan| plan);
    assert_eq!(found, count(Plan::with_all_visits));
    assert_eq!(found, [14 * 10, 14, 14]);
}
