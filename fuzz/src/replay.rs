//! A whole trace: the quick path, the model, the model with its filter and the oracle count the
//! same. So do all accelerators of a replay of several policies on several machines and threads,
//! and replays of the reduced and of the recoded trace.
//!
//! Four bytes choose the grain, the machine, the policy and the mapped address spaces. Each further
//! group of four bytes is a step of the random traces of the oracle, and an edit of the trace. Up
//! to three bytes at the end choose the replay of several policies.

mod case;
mod counts;
mod recoded;
mod reduced;
mod together;

use std::ops::ControlFlow;

use broadleaf_model::{Items, MemoryLimits, Outcome, Plan};
use broadleaf_oracle::{OwnedItem, PolicySpec, Recording, alone, replay};

use case::{FuzzPolicy, ReplayCase};
use counts::FuzzCounts;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Some(case) = ReplayCase::new(bytes) else {
        return;
    };
    let recording = case.recording();
    if let FuzzPolicy::InOracle(policy) = case.policy {
        oracle_agrees(&case, &recording, policy);
        model_agrees(&case, &alone(recording.clone()));
    }
    filter_agrees(&case, &recording);
    together::all_agree(&case, &recording);
}

/// Compares the quick path with the oracle.
fn oracle_agrees(case: &ReplayCase, recording: &Recording, policy: PolicySpec) {
    let quick = FuzzCounts::of_outcome(&outcome(case, recording, |plan| plan));
    let oracle = FuzzCounts::of_oracle(replay(recording, policy, case.machine));
    assert_eq!(quick, oracle, "the quick path and the oracle, {case:?}");
}

/// Compares the quick path with the model alone, on a trace without shared frames.
fn model_agrees(case: &ReplayCase, recording: &Recording) {
    let quick = FuzzCounts::of_outcome(&outcome(case, recording, |plan| plan));
    let model = FuzzCounts::of_outcome(&outcome(case, recording, |plan| {
        limited(plan, MemoryLimits::none())
            .walking_tables()
            .with_all_visits()
    }));
    assert_eq!(quick, model, "the quick path and the model, {case:?}");
}

/// Compares the model alone with the model after its filter, in the case's memory. All figures of
/// the frame-level model are equal.
fn filter_agrees(case: &ReplayCase, recording: &Recording) {
    let all = outcome(case, recording, |plan| {
        limited(plan, case.limits())
            .walking_tables()
            .with_all_visits()
    });
    let filtered = outcome(case, recording, |plan| limited(plan, case.limits()));
    assert_eq!(filtered.results, all.results, "the filter, {case:?}");
    assert_eq!(filtered.trace, all.trace, "the filter, {case:?}");
}

fn limited(plan: Plan, limits: MemoryLimits) -> Plan {
    plan.limited_to(limits).expect("a memory")
}

/// Replays a recording by a changed plan.
fn outcome(case: &ReplayCase, recording: &Recording, change: impl Fn(Plan) -> Plan) -> Outcome {
    let policy = broadleaf_policy::parse(&case.policy.name()).expect("a policy");
    let machine = broadleaf_machine::machine(&case.machine.to_string()).expect("a machine");
    let plan = change(Plan::new(vec![policy], vec![machine]).expect("a plan"));
    let mut items = items(recording);
    let mut go_on = |_| ControlFlow::Continue(());
    broadleaf_accel::run(&mut items, &plan, &mut go_on).expect("a replay")
}

/// The recording as a source, in parts whose size depends on its length.
fn items(recording: &Recording) -> Items {
    let part = 1 + recording.items.len() % 7;
    let mut items = Items::new(recording.grain).in_parts_of(part);
    for item in &recording.items {
        match item {
            OwnedItem::Visits(visits) => items.visits(visits.iter().copied()),
            OwnedItem::Event(event) => items.event(event.clone()),
        };
    }
    items
}
