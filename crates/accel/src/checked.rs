//! Random traces with every fact about memories and TLBs asserted after each item.

use crate::covers::machines_covered;
use crate::run;
use broadleaf_model::{Items, Plan};
use broadleaf_oracle::OwnedItem;
use broadleaf_oracle::random::Script;
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
    let machines = machines_covered()
        .map(|name| broadleaf_machine::machine(name).expect("a machine"))
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
        // In this build the replay checks every cell at each point that all teams have reached.
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
