//! Replays by the model and by the oracle.

use super::figures::{CountsByName, figures_of_engine, figures_of_oracle};
use crate::common::items_of;
use broadleaf_accel::run;
use broadleaf_model::{MemoryLimits, Plan, Source};
use broadleaf_oracle::{OracleMachine as Machine, PolicySpec, Recording};
use std::ops::ControlFlow;

pub(super) fn engine(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    replayed(recording, policies, machine, |plan| plan)
}

/// The model's counts under a changed plan.
pub(super) fn replayed(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    // Cut and shared out as the trace's length has it: results depend on neither.
    in_parts(
        recording,
        policies,
        machine,
        1 + recording.items.len() % 7,
        more,
    )
}

/// The model's counts of a trace that is cut into parts of `part` items.
pub(super) fn in_parts(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
    part: usize,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let length = recording.items.len();
    let mut items = items_of(recording).in_parts_of(part);
    of_source(&mut items, length, policies, machine, more)
}

/// The model's counts of a source with a trace of `items` items.
pub(super) fn of_source<S: Source<Error: std::fmt::Debug>>(
    source: &mut S,
    length: usize,
    policies: &[PolicySpec],
    machine: Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let machine = broadleaf_machine::machine(&machine.to_string()).expect("a machine");
    of_machine(source, length, policies, machine, more)
}

/// The model's counts on a machine that need not be built in.
pub(super) fn of_machine<S: Source<Error: std::fmt::Debug>>(
    source: &mut S,
    length: usize,
    policies: &[PolicySpec],
    machine: broadleaf_machine::Machine,
    more: impl Fn(Plan) -> Plan,
) -> Vec<CountsByName> {
    let parse =
        |policy: &PolicySpec| broadleaf_policy::parse(&policy.to_string()).expect("a policy");
    let named: Vec<_> = policies.iter().map(parse).collect();
    let names: Vec<String> = named.iter().map(|policy| policy.name()).collect();
    let machine_name = machine.name.clone();
    let plan = Plan::new(named, vec![machine]).expect("a plan");
    // Half of them decode a trace anew where a policy needs to know the future.
    let kept = if length.is_multiple_of(2) { 0 } else { 1 << 20 };
    let plan = more(plan.on_threads(1 + length % 3).keeping_decoded(kept));
    let outcome = run(source, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let trace = &outcome.trace;
    (outcome.results.iter().zip(names))
        .map(|(result, name)| {
            assert_eq!((&result.policy, &result.machine), (&name, &machine_name));
            assert_eq!(
                (trace.accesses, trace.pages),
                (result.accesses, result.touched_pages)
            );
            let mut figures = figures_of_engine(result, trace.loads, trace.stores);
            for point in result
                .curve
                .iter()
                .flatten()
                .filter(|point| point.misses > 0)
            {
                let name = format!("{} {}x{}", point.page_size, point.sets, point.ways);
                figures.insert(name, point.misses as i64);
            }
            figures
        })
        .collect()
}

pub(super) fn oracle(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    let counts = |policy| broadleaf_oracle::replay(recording, policy, machine);
    let base = counts(PolicySpec::FourK);
    let result = |&policy| {
        if policy == PolicySpec::FourK {
            base.clone()
        } else {
            counts(policy)
        }
    };
    policies
        .iter()
        .map(|policy| figures_of_oracle(result(policy), base.page_faults))
        .collect()
}

/// The figures of the model alone: memory down to the frame that never runs short, and walks
/// through page tables.
pub(super) fn in_ample_memory(
    recording: &Recording,
    policies: &[PolicySpec],
    machine: Machine,
) -> Vec<CountsByName> {
    let limited = |plan: Plan| plan.limited_to(MemoryLimits::none()).expect("a memory");
    let walked = |plan: Plan| limited(plan).walking_tables();
    replayed(recording, policies, machine, walked)
}

/// The model's counts on several machines in one replay: policy by policy, the machines inside.
pub(super) fn replayed_on(
    recording: &Recording,
    policies: &[PolicySpec],
    machines: &[Machine],
) -> Vec<CountsByName> {
    let mut items = items_of(recording);
    let policies = policies
        .iter()
        .map(|policy| broadleaf_policy::parse(&policy.to_string()).expect("a policy"));
    let machines = machines
        .iter()
        .map(|machine| broadleaf_machine::machine(&machine.to_string()).expect("a machine"));
    let plan = Plan::new(policies.collect(), machines.collect()).expect("a plan");
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let (loads, stores) = (outcome.trace.loads, outcome.trace.stores);
    (outcome.results.iter())
        .map(|result| figures_of_engine(result, loads, stores))
        .collect()
}
