//! The steps that listeners hear: thread, core, instruction and line are those of the trace.

mod naive;

use crate::differential::recoded::{RecodedBytes, recoded};
use crate::filtered::{Chunked, Chunks, limits, plan, random, replayed};
use broadleaf_accel::run;
use broadleaf_model::{
    Items, MemoryLimits, Plan, Source, Step, StepListener, StepOrigin, StepsWanted,
};
use broadleaf_tlb::Lookup;
use broadleaf_trace::{Event, Grain, Lead, Visit};
use broadleaf_units::{CoreId, ThreadId};
use naive::{NaiveReference, decoded, expected, naive_trace, runs};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The steps of each policy on each machine, as their listener heard them.
type HeardSteps = BTreeMap<(String, String), Vec<(Step, Option<Lookup>)>>;

/// A listener that writes all steps down.
struct StepCollector {
    names: (String, String),
    steps: Vec<(Step, Option<Lookup>)>,
    heard: Arc<Mutex<HeardSteps>>,
}

impl StepListener for StepCollector {
    fn begin(&mut self) {
        self.steps.clear();
    }

    fn step(&mut self, step: &Step, lookup: Option<Lookup>) {
        self.steps.push((*step, lookup));
    }

    fn end(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        let mut heard = self.heard.lock().expect("no panic");
        assert!(heard.insert(self.names.clone(), steps).is_none());
    }
}

/// The plan with listeners, and what they will have heard.
fn listening(plan: Plan, wanted: StepsWanted) -> (Plan, Arc<Mutex<HeardSteps>>) {
    let heard = Arc::<Mutex<HeardSteps>>::default();
    let sink = Arc::clone(&heard);
    let plan = plan.with_listeners(wanted, move |policy, machine| {
        Some(Box::new(StepCollector {
            names: (policy.to_owned(), machine.to_owned()),
            steps: Vec::new(),
            heard: Arc::clone(&sink),
        }))
    });
    (plan, heard)
}

fn frames_plan(policies: &[&str], machines: &[&str]) -> Plan {
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
    let mut cases = 0;
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
                let plan = frames_plan(&["4k", "approx-online"], &["skylake", "skylake-va23"]);
                let (plan, heard) = listening(plan, wanted);
                let mut items = naive.items.clone().in_parts_of(7);
                run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
                let heard = heard.lock().expect("no panic");
                assert_eq!(heard.len(), 4);
                for (names, steps) in heard.iter() {
                    let found: Vec<Step> = steps.iter().map(|(step, _)| *step).collect();
                    let case = format!("seed {seed}, {grain:?}, {fetches}, {wanted:?}, {names:?}");
                    assert_eq!(found.len(), expected.len(), "{case}");
                    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        assert_eq!(found, expected, "step {number}, {case}");
                    }
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 6 * 4 * 2 * 4);
}

/// A stored trace gives the same steps: in version 1, and in version 2 by its words.
#[test]
fn stored_traces_have_all_that_steps_carry() {
    fn steps_of<S: Source<Error: std::fmt::Debug>>(source: &mut S) -> Vec<Step> {
        let (plan, heard) = listening(frames_plan(&["4k"], &["skylake"]), StepsWanted::EachAccess);
        run(source, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
        let heard = heard.lock().expect("no panic");
        let steps = heard.values().next().expect("one listener");
        steps.iter().map(|(step, _)| *step).collect()
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

/// The traces have what the test above relies on.
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
    let load = |unit| Visit {
        unit,
        loads: 1,
        loads_before_store: 1,
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
    let (plan, heard) = listening(frames_plan(&["4k"], &["skylake"]), StepsWanted::EachVisit);
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    let steps = heard.values().next().expect("one listener");
    let found: Vec<_> = steps
        .iter()
        .map(|(step, _)| {
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

/// What the visits of a source come to, as steps.
fn counted(source: &Chunks) -> [u64; 2] {
    let mut counts = [0, 0];
    let mut count = |visit: &Visit| {
        counts[0] += u64::from(visit.lookups() > 0);
        counts[1] += visit.accesses() + u64::from(visit.lead != Lead::None);
    };
    for piece in source.parts.iter().flatten() {
        match piece {
            Chunked::Visits(visits) => visits.iter().for_each(&mut count),
            Chunked::Words(vocabulary, words, _) => words
                .iter()
                .for_each(|word| count(&vocabulary[usize::from(*word)])),
            Chunked::Event(_) => {}
        }
    }
    counts
}

#[test]
fn listeners_change_no_figure_and_hear_each_lookup() {
    let (mut misses, mut seconds) = (0, 0);
    for seed in 0..2 {
        let source = random(seed);
        let numbers = counted(&source);
        let limits = limits();
        for (number, limits) in limits.iter().enumerate().skip(seed as usize).step_by(2) {
            let machines = ["skylake", "skylake-va23"];
            // The filter changes no figure either: see `filtered`.
            let unheard = replayed(&source, &plan(&machines, limits).with_all_visits());
            for (wanted, steps) in [StepsWanted::EachVisit, StepsWanted::EachAccess]
                .into_iter()
                .zip(numbers)
            {
                let (plan, heard) = listening(plan(&machines, limits), wanted);
                let outcome = replayed(&source, &plan);
                let case = format!("seed {seed}, limits {number}, {wanted:?}");
                assert_eq!(outcome.trace, unheard.trace, "{case}");
                assert_eq!(outcome.frames, unheard.frames, "{case}");
                assert!(outcome.interim == unheard.interim, "{case}");
                let heard = heard.lock().expect("no panic");
                for (result, expected) in outcome.results.iter().zip(&unheard.results) {
                    let case = format!("{case}, {} on {}", result.policy, result.machine);
                    assert_eq!(result, expected, "{case}");
                    let lookups = &heard[&(result.policy.clone(), result.machine.clone())];
                    let memory = expected.memory.as_ref().expect("memory is modelled");
                    if memory.out_of_memory_after.is_none() {
                        assert_eq!(lookups.len() as u64, steps, "{case}");
                    }
                    if wanted == StepsWanted::EachAccess {
                        let count = |wanted| {
                            let all = lookups.iter().filter(|(_, found)| *found == Some(wanted));
                            all.count() as u64
                        };
                        let (walks, second) = (count(Lookup::Miss), count(Lookup::Second));
                        assert_eq!(walks, expected.walks.total(), "{case}");
                        assert_eq!(walks + second, expected.l1_misses, "{case}");
                        misses += walks;
                        seconds += second;
                    }
                }
            }
        }
    }
    assert!(misses > 1000 && seconds > 1000, "{misses} {seconds}");
}

/// Fetches are steps if memory holds code, and the instruction pointer of a fetch is its own.
#[test]
fn fetches_are_steps_where_memory_holds_code() {
    let naive = naive_trace(9, Grain::Line, true);
    let limits = MemoryLimits {
        code: true,
        ..MemoryLimits::none()
    };
    let plan = frames_plan(&["4k"], &["skylake"]).limited_to(limits);
    let (plan, heard) = listening(plan.expect("a plan"), StepsWanted::EachAccess);
    let mut items = naive.items.clone();
    run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let heard = heard.lock().expect("no panic");
    let steps = heard.values().next().expect("one listener");
    let (fetches, data): (Vec<_>, Vec<_>) = steps.iter().partition(|(step, _)| step.visit.fetches);
    let data: Vec<Step> = data.iter().map(|(step, _)| *step).collect();
    let expected = expected(&naive, Grain::Line, true, StepsWanted::EachAccess);
    assert_eq!(data, expected);
    assert!(fetches.len() > 500, "{}", fetches.len());
    for (step, lookup) in fetches {
        assert_eq!((step.visit.accesses, lookup), (false, None));
        let line = step.origin.line.expect("a line");
        assert_eq!(step.origin.ip, Some(line.start()));
        assert_eq!(line.0 >> 6, step.visit.page.0);
    }
}
