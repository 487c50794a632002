//! Random traces with every fact about memories and TLBs asserted after each item.

use crate::{Items, Plan, run};
use broadleaf_oracle::OwnedItem;
use broadleaf_oracle::random::Script;
use broadleaf_units::PageSize;
use std::ops::ControlFlow;

fn plan() -> Plan {
    let names: Vec<&str> = (broadleaf_policy::catalogue().iter())
        .filter(|entry| entry.by_default)
        .flat_map(|entry| entry.examples)
        .copied()
        .chain(["advice", "advice(anonymous=3,file=5,file_dirty=2)"])
        .chain(["life-100", "life-2000", "pop-3", "dirty-5"])
        .collect();
    let policies = names
        .iter()
        .map(|name| broadleaf_policy::parse(name).expect("a policy"))
        .collect();
    let machines = broadleaf_translation::machine_names()
        .map(|name| broadleaf_translation::machine(name).expect("a machine"))
        // Others cannot be replayed without frames.
        .filter(|machine| {
            let sizes = machine.design.sizes();
            [PageSize::SIZE_4K, PageSize::SIZE_2M]
                .iter()
                .all(|size| sizes.contains(size))
        })
        .collect();
    Plan::new(policies, machines).expect("a plan")
}

#[test]
fn the_facts_agree_after_every_item() {
    for seed in 0..15 {
        let recording = Script::from_seed(seed).recording();
        let mut items = Items::new(recording.grain);
        for item in recording.items {
            match item {
                OwnedItem::Visits(visits) => items.visits(visits),
                OwnedItem::Event(event) => items.event(event),
            };
        }
        // In this build the replay checks every cell where all teams have come as far as the trace was prepared.
        let mut go_on = |_| ControlFlow::Continue(());
        let [alone, others @ ..] = [1, 2, 3].map(|threads| {
            let mut items = items.clone().in_parts_of(2);
            let plan = plan().on_threads(threads);
            run(&mut items, &plan, &mut go_on).expect("a replay")
        });
        for outcome in others {
            assert_eq!(outcome.results, alone.results, "seed {seed}");
        }
    }
}
