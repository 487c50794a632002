//! Segments against a replay in order, on random traces with events. Every segment but the first
//! begins with a guess.

use super::SegmentWork;
use crate::covers::machines_covered;
use crate::run;
use broadleaf_machine::Machine;
use broadleaf_metrics::CellResult;
use broadleaf_model::{Guesses, Items, Plan, SegmentRules};
use broadleaf_oracle::OwnedItem;
use broadleaf_oracle::random::Script as RandomTrace;
use broadleaf_trace::Visit;
use broadleaf_trace::synth::SplitMix64;
use std::cell::Cell;
use std::ops::ControlFlow;

thread_local! {
    /// True if replays that this thread starts take guesses for true.
    pub(super) static BELIEVES: Cell<bool> = const { Cell::new(false) };
    /// The numbers of the last replay that this thread ran.
    pub(super) static WORK: Cell<SegmentWork> = const {
        Cell::new(SegmentWork { segments: 0, guessed: 0, met: 0, repaired_batches: 0 })
    };
}

/// The policies of the quick path, and some whose numbers random traces pass more often.
fn policies() -> Vec<&'static str> {
    let catalogue = broadleaf_policy::catalogue().iter();
    let quick = catalogue.flat_map(|entry| entry.examples).copied();
    let quick = quick.filter(|name| {
        let policy = broadleaf_policy::parse(name).expect("a policy");
        !policy.needs().needs_frames()
    });
    quick
        .chain(["life-100", "life-2000", "pop-3", "dirty-5"])
        .collect()
}

fn plan(policies: &[&str], machines: &[&str]) -> Plan {
    let machines = machines
        .iter()
        .map(|name| broadleaf_machine::machine(name).expect("a machine"));
    plan_on(policies, machines.collect())
}

fn plan_on(policies: &[&str], machines: Vec<Machine>) -> Plan {
    let policies = policies
        .iter()
        .map(|name| broadleaf_policy::parse(name).expect("a policy"));
    Plan::new(policies.collect(), machines).expect("a plan")
}

fn results(items: &Items, plan: &Plan) -> Vec<CellResult> {
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = run(&mut items.clone(), plan, &mut go_on).expect("a replay");
    outcome.results
}

/// Segments of that many lookups, which all begin with a guess.
fn guessing(plan: Plan, threads: usize, lookups: usize) -> Plan {
    plan.on_threads(threads).in_segments(SegmentRules {
        lookups,
        guesses: Guesses::FromEmpty,
        least_threads: 2,
    })
}

fn items_of(seed: u64) -> Items {
    let recording = RandomTrace::from_seed(seed).recording();
    let mut items = Items::new(recording.grain);
    for item in recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits),
            OwnedItem::Event(event) => items.event(event),
        };
    }
    items
}

/// Loads of random pages among that many.
fn random_loads(count: u64, pages: u64) -> Items {
    let mut random = SplitMix64::new(5);
    let mut items = Items::new(broadleaf_trace::Grain::Page);
    for _ in 0..count / 256 {
        items.visits((0..256).map(|_| Visit {
            unit: random.below(pages),
            loads: 1,
            loads_before_store: 1,
            ..Visit::default()
        }));
    }
    items.in_parts_of(8)
}

#[test]
fn random_traces_have_the_counts_of_a_replay_in_order() {
    let machines: Vec<&str> = machines_covered().collect();
    let (mut guessed, mut repaired) = (0, 0);
    let policies = policies();
    for seed in 0..120 {
        let items = items_of(seed).in_parts_of(2);
        // Each policy has its turn alone, and all together.
        let alone = [policies[seed as usize % policies.len()]];
        for policies in [&alone[..], &policies[..]] {
            let in_order = results(&items, &plan(policies, &machines));
            for (threads, lookups) in [(2, 1), (3, 64)] {
                let in_parallel = guessing(plan(policies, &machines), threads, lookups);
                assert_eq!(
                    results(&items, &in_parallel),
                    in_order,
                    "seed {seed}, {policies:?}, {threads} threads, segments of {lookups}"
                );
                guessed += WORK.get().guessed;
                repaired += WORK.get().repaired_batches;
            }
        }
    }
    assert!(guessed > 1000 && repaired > 1000, "{guessed}, {repaired}");
}

/// Machines like Skylake, with second levels of these ways in few sets.
fn family(ways: &[usize]) -> Vec<Machine> {
    let skylake = include_str!("../../../../machines/skylake.toml");
    let machine = |ways: &usize| {
        let entries = format!("entries = {}", 2 * ways);
        let text = skylake.replace("entries = 1536", &entries);
        let text = text.replace("ways = 12", &format!("ways = {ways}"));
        let text = text.replace("va[18:12] ^ va[25:19]", "va[12] ^ va[19]");
        Machine::from_toml(&text.replace("va[27:21]", "va[21]")).expect("a machine")
    };
    ways.iter().map(machine).collect()
}

/// Machines with one first level are guessed and repaired together.
#[test]
fn a_family_has_the_counts_of_a_replay_in_order() {
    let machines = family(&[20, 3, 12, 1, 7, 12]);
    let policies = policies();
    let mut repaired = 0;
    for seed in 0..40 {
        let items = items_of(seed).in_parts_of(2);
        let each = machines.iter().map(|machine| {
            let plan = plan_on(&policies, vec![machine.clone()]);
            results(&items, &plan)
        });
        let each: Vec<_> = each.collect();
        let by_policy =
            (0..policies.len()).flat_map(|policy| each.iter().map(move |of| &of[policy]));
        let misses = |result: &CellResult| (result.l1_misses, result.l2_misses, result.walk_cycles);
        let alone: Vec<_> = by_policy.map(misses).collect();
        let together = plan_on(&policies, machines.clone());
        let in_order = results(&items, &together);
        let counts: Vec<_> = in_order.iter().map(misses).collect();
        assert_eq!(counts, alone, "seed {seed}");
        let in_parallel = guessing(plan_on(&policies, machines.clone()), 3, 64);
        assert_eq!(results(&items, &in_parallel), in_order, "seed {seed}");
        repaired += WORK.get().repaired_batches;
    }
    assert!(repaired > 100, "{repaired}");
}

/// Without the check and the repair, counts are wrong.
#[test]
fn a_guess_that_is_not_checked_gives_other_counts() {
    let items = random_loads(1 << 16, 2000);
    let alone = results(&items, &plan(&["4k"], &["skylake"]));
    let in_parallel = guessing(plan(&["4k"], &["skylake"]), 2, 1 << 12);
    assert_eq!(results(&items, &in_parallel), alone);
    BELIEVES.set(true);
    let believed = results(&items, &in_parallel);
    BELIEVES.set(false);
    assert_ne!(believed, alone);
}

/// The TLBs of a guessed replay soon hold what they should: few lookups are made twice.
#[test]
fn random_loads_meet_soon() {
    let items = random_loads(1 << 20, 1 << 20);
    let policies = ["4k", "greedy"];
    let alone = results(&items, &plan(&policies, &["skylake"]));
    let in_parallel = guessing(plan(&policies, &["skylake"]), 2, 1 << 18);
    assert_eq!(results(&items, &in_parallel), alone);
    let work = WORK.get();
    assert_eq!(
        (work.guessed, work.met),
        (work.segments - 1, work.segments - 1)
    );
    // A batch has at most 4,096 lookups, and a segment 64 batches of that size.
    assert!(work.repaired_batches <= 32 * work.guessed, "{work:?}");
}

/// Segments are guessed only if a thread is free for them, and no count depends on that.
#[test]
fn any_thread_may_come_first() {
    let items = random_loads(1 << 17, 1 << 20);
    let machines = ["skylake", "skylake-va23"];
    let alone = results(&items, &plan(&["pop-3"], &machines));
    for threads in [2, 3, 8] {
        let rules = SegmentRules {
            lookups: 1 << 10,
            guesses: Guesses::WhenBehind,
            least_threads: 2,
        };
        let plan = plan(&["pop-3"], &machines);
        let plan = plan.on_threads(threads).in_segments(rules);
        assert_eq!(results(&items, &plan), alone, "{threads} threads");
    }
}
