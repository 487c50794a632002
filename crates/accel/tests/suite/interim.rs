//! Interim results: counts up to a time, and so between two times.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_model::{Items, MemoryLimits, Outcome, Plan};
use broadleaf_trace::{Backing, Event, Grain};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

/// Two programs, one after the other.
fn two(first: u64, second: u64) -> Items {
    let mut items = Items::new(Grain::Page);
    for (space, pages) in [(1, first), (2, second)] {
        items.event(Event::SpaceSwitch(SpaceId(space)));
        items.event(map(0, 4096, Backing::Anonymous));
        items.visits((0..2 * pages).map(|number| store(number % pages)));
        items.event(Event::SpaceEnd { status: None });
    }
    items
}

fn replayed(items: &Items, after: &[u64]) -> Outcome {
    let policies = ["4k", "navarro"].map(|name| broadleaf_policy::parse(name).expect("a policy"));
    let machine = broadleaf_machine::machine("alpha21264").expect("a machine");
    let plan = Plan::within(policies.into(), vec![machine], MemoryLimits::new(64 << 20));
    let plan = plan.expect("a plan").with_interim_results(after.to_vec());
    run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a replay")
}

#[test]
fn what_is_counted_up_to_a_time_is_what_a_trace_that_ends_there_comes_to() {
    let (first, second) = (3000, 1000);
    let outcome = replayed(
        &two(first, second),
        &[2 * first, 2 * (first + second), 1 << 40],
    );
    let alone = replayed(&two(first, 0), &[]);
    for (interim, alone) in outcome.interim[0].iter().zip(&alone.results) {
        assert_eq!(interim.accesses, 2 * first);
        assert_eq!(interim.walks, alone.walks);
        assert_eq!(interim.page_faults, alone.page_faults);
        assert_eq!(interim.promotions, alone.promotions);
        // Ended spaces are gone.
        assert_eq!(
            (interim.resident_pages, alone.resident_pages > 0),
            (0, true)
        );
    }
    // Times at the end and after it.
    assert_eq!(outcome.interim.len(), 3);
    assert_eq!(outcome.interim[1], outcome.results);
    assert_eq!(outcome.interim[2], outcome.results);
}

#[test]
fn asking_for_results_changes_none() {
    let items = two(2000, 3000);
    let asked = replayed(&items, &[0, 17, 4000, 4000, 5001]);
    let not_asked = replayed(&items, &[]);
    let without_samples = |outcome: &Outcome| {
        let mut results = outcome.results.clone();
        for memory in results
            .iter_mut()
            .filter_map(|result| result.memory.as_mut())
        {
            (memory.over_time, memory.at_peak) = Default::default();
        }
        results
    };
    assert_eq!(without_samples(&asked), without_samples(&not_asked));
    let times: Vec<u64> = asked
        .interim
        .iter()
        .map(|cells| cells[0].accesses)
        .collect();
    assert_eq!(times, [0, 17, 4000, 4000, 5001]);
}
