//! Beginnings that were read once: mixes that skip by them count as mixes that pass every visit.

use crate::caches::{CORE, level, random_visits, small, visit};
use crate::common::*;
use broadleaf_machine::{Machine, machine};
use broadleaf_model::{
    Beginning, Error, Items, MemoryLimits, MixOutcome, MixProgram, MixWork, Plan, check_mix,
    run_mix,
};
use broadleaf_oracle::random::Rng;
use broadleaf_trace::{Advice, Backing, Event, Grain, Lead, Visit};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

const WORK: MixWork = MixWork {
    skipped: 30_000,
    warming: 1000,
    counted: Some(6000),
};

/// Two cores with small caches.
fn two_cores() -> Machine {
    let core = format!("{CORE}count = 2\n");
    small(&[level(1, "4K", 2), level(2, "64K", 10), core].concat())
}

/// A program whose mappings come and go, with a second space now and then. It makes some 40,000
/// instructions.
fn program(seed: u64) -> Items {
    let mut rng = Rng::new(seed);
    let mut items = Items::new(Grain::Line).in_parts_of(3);
    items.event(map(0, 4096, Backing::Anonymous));
    for _ in 0..8 {
        for visits in random_visits(rng.next(), 1000).chunks(250) {
            let unit = if rng.one_in(2) {
                visits[0].unit
            } else {
                rng.below(1 << 18)
            };
            items.visits(visits.iter().copied().chain([
                // Only instructions; the upper part of a store; a fetch.
                Visit {
                    unit,
                    instructions: 2,
                    ..Visit::default()
                },
                Visit {
                    unit,
                    lead: Lead::Store,
                    ..Visit::default()
                },
                Visit {
                    fetch: true,
                    loads: 0,
                    stores: 0,
                    ..visits[1]
                },
            ]));
        }
        let first = rng.below(4096);
        match rng.below(4) {
            0 => items.event(Event::Unmap(range(first, 64))),
            1 => items.event(Event::Advise(range(first, 512), Advice::DontNeed)),
            2 => items.event(map(first, 64, Backing::Anonymous)),
            _ => items
                .event(Event::SpaceSwitch(SpaceId(1)))
                .event(map(0, 4096, Backing::Anonymous))
                .visits(random_visits(first, 100))
                .event(Event::SpaceSwitch(SpaceId(0))),
        };
    }
    items
}

fn plan(policy: &str, machine: &Machine, memory: Option<u64>) -> Option<Plan> {
    let policy = broadleaf_policy::parse(policy).expect("a policy");
    let limits = MemoryLimits {
        code: true,
        ..memory.map_or_else(MemoryLimits::none, MemoryLimits::new)
    };
    Plan::within(vec![policy], vec![machine.clone()], limits).ok()
}

/// The outcome of a mix of these programs, and the greatest number of passes.
fn mixed(programs: &[Items], plan: &Plan, condensed: bool) -> Result<(MixOutcome, u64), String> {
    let mut sources = programs.to_vec();
    let beginnings: Vec<Option<Beginning>> = sources
        .iter_mut()
        .map(|source| {
            let found = Beginning::of(source, WORK.skipped, &mut |_| ControlFlow::Continue(()));
            found.expect("a trace in memory").filter(|_| condensed)
        })
        .collect();
    let mut programs: Vec<_> = (sources.iter_mut().zip(&beginnings))
        .map(|(source, beginning)| MixProgram {
            beginning: beginning.as_ref(),
            ..MixProgram::new(source, WORK)
        })
        .collect();
    let mut passes = 0;
    let outcome = run_mix(&mut programs, plan, &mut |state| {
        passes = passes.max(u64::from(state.pass));
        ControlFlow::Continue(())
    });
    Ok((outcome.map_err(|error| error.to_string())?, passes))
}

/// Under every policy that can run mixes, with memory without limit and with little.
#[test]
fn mixes_that_skip_by_beginnings_count_as_others() {
    let (mut once, mut again) = (0, 0);
    for policy in broadleaf_policy::all_examples().expect("policies") {
        let name = policy.name();
        let machine = two_cores();
        if check_mix(policy.as_ref(), &machine, 2).is_err() {
            continue;
        }
        for (seed, memory) in [(1, None), (2, None), (3, Some(24 << 20))] {
            let programs = [program(seed), program(seed + 10)];
            // The machine has no scattered superpages.
            let Some(plan) = plan(&name, &machine, memory) else {
                continue;
            };
            let whole = mixed(&programs, &plan, false);
            let condensed = mixed(&programs, &plan, true);
            match (&whole, &condensed) {
                (Ok((whole, passes_of_whole)), Ok((condensed, passes))) => {
                    assert_eq!(whole, condensed, "{name} {memory:?}");
                    let counter = if passes > passes_of_whole {
                        &mut again
                    } else {
                        &mut once
                    };
                    *counter += 1;
                }
                _ => assert_eq!(whole, condensed, "{name} {memory:?}"),
            }
        }
    }
    // Policies with daemons fall back to passing every visit, and most others do not.
    assert!(once > 10 && again > 0, "{once} {again}");
}

/// Reservations fall due among visits that a beginning leaves out, and promote there. The mix
/// notices it, although memory unsettles no page.
#[test]
fn what_falls_due_among_visits_that_are_left_out_is_noticed() {
    let mut items = Items::new(Grain::Line);
    items.event(map(0, 4096, Backing::Anonymous));
    items.visits((0..50_000).map(|number| visit(number % 64, 1, 0, 1)));
    let programs = [items];
    let plan = plan("promote if age > 5000", &two_cores(), None).expect("a plan");
    let (whole, passes) = mixed(&programs, &plan, false).expect("an outcome");
    assert_eq!((whole.whole.promotions, passes), (1, 1));
    assert_eq!(mixed(&programs, &plan, true), Ok((whole, 2)));
}

/// Scattered superpages on the paper's machine.
#[test]
fn scattered_superpages_are_as_without_beginnings() {
    let machine = machine("chen2014-4core-scattered").expect("a machine");
    let plan = plan("scattered(by=core)", &machine, None).expect("a plan");
    let programs = [program(5), program(6), program(7)];
    let whole = mixed(&programs, &plan, false).expect("an outcome");
    assert_eq!(whole, mixed(&programs, &plan, true).expect("an outcome"));
}

/// A beginning keeps the first visits of pages, the first stores, and events.
#[test]
fn a_beginning_leaves_out_what_changes_nothing() {
    let mut items = Items::new(Grain::Line);
    let visit = |line, loads, stores| visit(line, loads, stores, 1);
    let rounds = |items: &mut Items| {
        for _ in 0..100 {
            items.visits((0..64).map(|line| visit(line, 1, 0)));
            items.visits([visit(64, 1, 0), visit(65, 0, 1)]);
        }
    };
    items.event(map(0, 64, Backing::Anonymous));
    rounds(&mut items);
    items.event(Event::Advise(range(0, 1), Advice::DontNeed));
    rounds(&mut items);
    let kept = |items: &mut Items, skipped| {
        let found = Beginning::of(items, skipped, &mut |_| ControlFlow::Continue(()));
        found.expect("a trace in memory").map(|one| one.len())
    };
    // Two events, and three visits after each.
    assert_eq!(kept(&mut items, 10_000), Some(8));
    assert_eq!(kept(&mut items, 100), Some(4));
    assert_eq!(kept(&mut items, 1 << 40), None, "the trace is shorter");
    let stopped = Beginning::of(&mut items, 10_000, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Stopped)));
}
