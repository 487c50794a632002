//! Several policies on several machines and threads, in one replay.

use std::fmt::Debug;
use std::ops::ControlFlow;

use broadleaf_model::{MemoryLimits, Plan, Source};
use broadleaf_oracle::{Recording, alone, replay};

use super::case::{ReplayCase, TogetherCase};
use super::counts::FuzzCounts;
use super::recoded::recoded;
use super::reduced::reduced;
use super::{items, limited};

/// Compares a replay of several policies by all accelerators with the oracle, with the model alone,
/// and with replays of the reduced trace and of the recoded trace.
pub(super) fn all_agree(case: &ReplayCase, recording: &Recording) {
    let several = case.together();
    let together = counts(&several, &mut items(recording), |plan| plan);
    for (policy, row) in several.policies.iter().zip(rows(&several, &together)) {
        for (machine, counts) in several.machines.iter().zip(row) {
            let oracle = FuzzCounts::of_oracle(replay(recording, *policy, *machine));
            assert_eq!(
                *counts, oracle,
                "{policy} on {machine}, {several:?}, {case:?}"
            );
        }
    }
    let machines = several.machines.iter().map(|machine| {
        broadleaf_machine::machine(&machine.to_string()).expect("a machine of the catalogue")
    });
    let mut source = reduced(&mut items(recording), &machines.collect::<Vec<_>>());
    let from_reduced = counts(&several, &mut source, |plan| plan);
    assert_eq!(
        from_reduced, together,
        "the reduced trace, {several:?}, {case:?}"
    );
    if let Some(mut source) = recoded(recording) {
        let from_recoded = counts(&several, &mut source, |plan| plan);
        assert_eq!(
            from_recoded, together,
            "the recoded trace, {several:?}, {case:?}"
        );
    }
    model_agrees(case, &several, &alone(recording.clone()));
}

/// Compares the accelerators with the model alone, on a trace without shared frames.
fn model_agrees(case: &ReplayCase, several: &TogetherCase, recording: &Recording) {
    let together = counts(several, &mut items(recording), |plan| plan);
    let model = counts(several, &mut items(recording), |plan| {
        limited(plan, MemoryLimits::none())
            .walking_tables()
            .with_all_visits()
    });
    assert_eq!(model, together, "the model, {several:?}, {case:?}");
}

/// The counts of each policy, machine by machine.
fn rows<'c>(
    several: &TogetherCase,
    counts: &'c [FuzzCounts],
) -> impl Iterator<Item = &'c [FuzzCounts]> {
    let (policies, machines) = (several.policies.len(), several.machines.len());
    assert_eq!(counts.len(), policies * machines);
    counts.chunks(machines)
}

/// Replays a source under all policies, on all machines, by a changed plan.
fn counts<S: Source<Error: Debug>>(
    several: &TogetherCase,
    source: &mut S,
    change: impl Fn(Plan) -> Plan,
) -> Vec<FuzzCounts> {
    let policies = several.policies.iter();
    let policies =
        policies.map(|policy| broadleaf_policy::parse(&policy.to_string()).expect("a policy"));
    let machines = several.machines.iter();
    let machines =
        machines.map(|machine| broadleaf_machine::machine(&machine.to_string()).expect("one"));
    let plan = Plan::new(policies.collect(), machines.collect()).expect("a plan");
    let plan = change(plan.on_threads(several.threads));
    let mut go_on = |_| ControlFlow::Continue(());
    let outcome = broadleaf_accel::run(source, &plan, &mut go_on).expect("a replay");
    FuzzCounts::all_of_outcome(&outcome)
}
