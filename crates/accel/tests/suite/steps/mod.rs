//! The steps that listeners hear: thread, core, instruction and line are those of the trace.

mod lookups;
mod naive;
mod runs;

use crate::common::load;
use crate::differential::recoded::{RecodedBytes, recoded};
use broadleaf_accel::run;
use broadleaf_metrics::CellResult;
use broadleaf_model::{
    Items, MemoryLimits, Plan, SlowLookups, Source, Step, StepListener, StepOrigin, StepsWanted,
};
use broadleaf_trace::{Event, Grain, Visit};
use broadleaf_units::{CoreId, ThreadId};
use naive::{NaiveReference, decoded, expected, naive_trace, runs};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Nothing was looked up, or all lookups hit the first level.
const NONE_SLOW: SlowLookups = SlowLookups {
    second_hits: 0,
    third_hits: 0,
    walks: 0,
    fractured_walks: 0,
};

/// The name of a policy and of a machine.
type CellNames = (String, String);

/// What listeners heard, and the listeners that were made.
#[derive(Debug, Default)]
struct HeardSteps {
    /// The steps of each policy on each machine, if a listener heard their end.
    steps: BTreeMap<CellNames, Vec<(Step, SlowLookups)>>,
    /// The number of listeners that were made, by policy.
    made: BTreeMap<String, u32>,
}

impl HeardSteps {
    /// The steps of a result's policy on its machine.
    fn of(&self, result: &CellResult) -> &[(Step, SlowLookups)] {
        &self.steps[&(result.policy.clone(), result.machine.clone())]
    }

    /// The steps of the only listener.
    fn only(&self) -> &[(Step, SlowLookups)] {
        assert_eq!(self.steps.len(), 1);
        self.steps.values().next().expect("one listener")
    }
}

/// The steps without their slow lookups.
fn only_steps(heard: &[(Step, SlowLookups)]) -> Vec<Step> {
    heard.iter().map(|(step, _)| *step).collect()
}

/// A listener that writes all steps down.
struct StepCollector {
    names: CellNames,
    steps: Vec<(Step, SlowLookups)>,
    heard: Arc<Mutex<HeardSteps>>,
}

impl StepListener for StepCollector {
    fn begin(&mut self) {
        self.steps.clear();
    }

    fn step(&mut self, step: &Step, slow: SlowLookups) {
        self.steps.push((*step, slow));
    }

    fn end(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        let mut heard = self.heard.lock().expect("no panic");
        let earlier = heard.steps.insert(self.names.clone(), steps);
        assert!(earlier.is_none());
    }
}

/// Adds listeners to a plan. Returns the plan, and the record that the listeners fill.
fn listening(plan: Plan, wanted: StepsWanted) -> (Plan, Arc<Mutex<HeardSteps>>) {
    let heard = Arc::<Mutex<HeardSteps>>::default();
    let sink = Arc::clone(&heard);
    let plan = plan.with_listeners(wanted, move |policy, machine| {
        let made = &mut sink.lock().expect("no panic").made;
        *made.entry(policy.to_owned()).or_default() += 1;
        Some(Box::new(StepCollector {
            names: (policy.to_owned(), machine.to_owned()),
            steps: Vec::new(),
            heard: Arc::clone(&sink),
        }))
    });
    (plan, heard)
}

/// A plan of these policies on these machines.
fn plan_of(policies: &[&str], machines: &[&str]) -> Plan {
    let policies = policies.iter().map(|name| broadleaf_policy::parse(name));
    let machines = machines.iter().map(|name| broadleaf_machine::machine(name));
    Plan::new(
        policies.collect::<Result<_, _>>().expect("policies"),
        machines.collect::<Result<_, _>>().expect("machines"),
    )
    .expect("a plan")
}

#[test]
fn steps_carry_the_thread_core_instruction_and_line_of_each_reference() {
    for seed in 0..6 {
        for (grain, fetches) in [
            (Grain::Line, true),
            (Grain::Line, false),
            (Grain::Page, true),
            (Grain::Page, false),
        ] {
            let naive = naive_trace(seed, grain, fetches);
            for wanted in [StepsWanted::EachVisit, StepsWanted::EachAccess] {
                let expected = expected(&naive, grain, fetches, wanted);
                let plan = plan_of(&["4k", "approx-online"], &["skylake", "skylake-va23"]);
                let (plan, heard) = listening(plan, wanted);
                let mut items = naive.items.clone().in_parts_of(7);
                run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
                let heard = heard.lock().expect("no panic");
                assert_eq!(heard.steps.len(), 4);
                for (names, steps) in &heard.steps {
                    let found = only_steps(steps);
                    let case = format!("seed {seed}, {grain:?}, {fetches}, {wanted:?}, {names:?}");
                    assert_eq!(found.len(), expected.len(), "{case}");
                    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        assert_eq!(found, expected, "step {number}, {case}");
                    }
                }
            }
        }
    }
}

/// A stored trace gives the same steps: in version 1, and in version 2 by its words.
#[test]
fn stored_traces_have_all_that_steps_carry() {
    fn steps_of<S: Source<Error: std::fmt::Debug>>(source: &mut S) -> Vec<Step> {
        let (plan, heard) = listening(plan_of(&["4k"], &["skylake"]), StepsWanted::EachAccess);
        run(source, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
        let heard = heard.lock().expect("no panic");
        only_steps(heard.only())
    }
    for (seed, grain, fetches) in [
        (20, Grain::Line, true),
        (21, Grain::Line, false),
        (22, Grain::Page, true),
    ] {
        let naive = naive_trace(seed, grain, fetches);
        let expected = expected(&naive, grain, fetches, StepsWanted::EachAccess);
        let first = naive.encoded(fetches);
        assert!(
            steps_of(&mut decoded(&first)) == expected,
            "version 1, seed {seed}"
        );
        let second = recoded(&first);
        let mut source = RecodedBytes::new(&second, fetches);
        assert!(steps_of(&mut source) == expected, "version 2, seed {seed}");
    }
}

/// The random traces have several threads, cores, lines and instruction pointers. Without them the
/// tests of steps would show nothing.
#[test]
fn the_traces_of_these_tests_have_all_that_steps_carry() {
    let naive = naive_trace(0, Grain::Line, true);
    let of = |key: &dyn Fn(&NaiveReference) -> u64| {
        let keys = naive.references.iter().map(key);
        keys.collect::<std::collections::BTreeSet<u64>>().len()
    };
    assert_eq!(of(&|one| one.space.0.into()), 2);
    assert_eq!(of(&|one| one.thread.0.into()), 3);
    assert_eq!(of(&|one| one.core.map_or(99, |core| core.0).into()), 5);
    assert!(of(&|one| one.instruction >> 6) > 100);
    assert!(of(&|one| one.address >> 6 & 63) > 3);
    let folded = runs(&naive.references, Grain::Line).len();
    assert!(naive.references.iter().any(|one| one.leads) && folded < naive.references.len());
}

/// Instructions that a thread has not fetched yet are not those of the thread before.
#[test]
fn a_thread_that_ends_or_starts_leaves_nothing_to_the_next() {
    let fetch = |unit| Visit {
        unit,
        fetch: true,
        instructions: 1,
        ..Visit::default()
    };
    let mut items = Items::new(Grain::Page);
    items.visits([load(1)]);
    items.event(Event::CoreSwitch(CoreId(7)));
    items.visits([fetch(5), load(1)]);
    items.event(Event::ThreadSwitch(ThreadId(3)));
    items.visits([load(1), fetch(6), load(1)]);
    items.event(Event::CoreSwitch(CoreId(8)));
    items.visits([load(1)]);
    items.event(Event::ThreadEnd(ThreadId(3)));
    items.visits([load(1)]);
    items.event(Event::ThreadSwitch(ThreadId(3)));
    items.visits([load(1)]);
    items.event(Event::SpaceStart {
        pid: 1,
        parent: 0,
        command: Vec::new(),
    });
    items.visits([load(1)]);
    let (plan, heard) = listening(plan_of(&["4k"], &["skylake"]), StepsWanted::EachVisit);
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    let found: Vec<_> = only_steps(heard.only())
        .iter()
        .map(|step| {
            let StepOrigin {
                thread, core, ip, ..
            } = step.origin;
            (
                thread.map(|thread| thread.0),
                core.map(|core| core.0),
                ip.map(|ip| ip.0 >> 12),
            )
        })
        .collect();
    let expected = [
        (None, None, None),
        (None, Some(7), Some(5)),
        (Some(3), None, None),
        (Some(3), None, Some(6)),
        (Some(3), Some(8), Some(6)),
        (None, Some(7), None),
        (Some(3), None, None),
        (None, None, None),
    ];
    assert_eq!(found, expected);
}

/// Fetches are steps if memory holds code, and the instruction pointer of a fetch is its own.
#[test]
fn fetches_are_steps_where_memory_holds_code() {
    let naive = naive_trace(9, Grain::Line, true);
    let limits = MemoryLimits {
        code: true,
        ..MemoryLimits::none()
    };
    let plan = plan_of(&["4k"], &["skylake"]).limited_to(limits);
    let (plan, heard) = listening(plan.expect("a plan"), StepsWanted::EachAccess);
    let mut items = naive.items.clone();
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    let steps = heard.only().iter().copied();
    let (fetches, data): (Vec<_>, Vec<_>) = steps.partition(|(step, _)| step.visit.fetches);
    let expected = expected(&naive, Grain::Line, true, StepsWanted::EachAccess);
    assert_eq!(only_steps(&data), expected);
    assert!(fetches.len() > 500, "{}", fetches.len());
    for (step, slow) in fetches {
        assert_eq!((step.visit.accesses, slow), (false, NONE_SLOW));
        let line = step.origin.line.expect("a line");
        assert_eq!(step.origin.ip, Some(line.start()));
        assert_eq!(line.0 >> 6, step.visit.page.0);
    }
}
