//! Forks of a child whose process number belonged to another child before: one that never began, or
//! one that ended.

use crate::common::*;
use broadleaf_accel::run;
use broadleaf_metrics::MemoryResult;
use broadleaf_model::{Items, MemoryLimits, Plan};
use broadleaf_trace::{Backing, Event, Grain, Mapping};
use broadleaf_units::SpaceId;
use std::ops::ControlFlow;

/// Pages of the shared memory. Memory has room for them once and for a fourth of them beside.
const PAGES: u64 = 3000;
/// The process number that is used more than once.
const CHILD: u32 = 7;

/// The final state of memory of 4,096 frames under policies that keep memory in different ways.
fn replayed(items: &Items) -> Vec<MemoryResult> {
    let policies = ["4k", "navarro", "linux"].map(|name| broadleaf_policy::parse(name).unwrap());
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let plan =
        Plan::within(policies.into(), vec![machine], MemoryLimits::new(16 << 20)).expect("a plan");
    let outcome = run(
        &mut items.clone(),
        &plan,
        &mut |_| ControlFlow::Continue(()),
    );
    let results = outcome.expect("a replay").results.into_iter();
    let memory = results.map(|result| result.memory.expect("limited memory"));
    memory.collect()
}

/// Shared memory from page 0 on.
fn shared() -> Event {
    Event::Map(Mapping {
        range: range(0, PAGES),
        protection: READ_WRITE,
        shared: true,
        backing: Backing::SharedMemory,
    })
}

fn fork() -> Event {
    Event::Fork { child: CHILD }
}

/// A process that has stored to all of its shared memory.
fn sharing() -> Items {
    let mut items = Items::new(Grain::Page);
    items.event(shared());
    items.visits((0..PAGES).map(store));
    items
}

/// The child begins in that space, finds the shared memory, and loads all of it.
fn begin_child(items: &mut Items, space: u32) {
    items.event(Event::SpaceSwitch(SpaceId(space)));
    items.event(Event::SpaceStart {
        pid: CHILD,
        parent: 1,
        command: Vec::new(),
    });
    items.event(shared());
    items.visits((0..PAGES).map(load));
}

#[test]
fn shared_memory_of_a_child_that_never_began_goes_where_its_number_is_used_again() {
    let swapped_out = |again: bool| -> Vec<u64> {
        let mut items = sharing();
        items.event(fork());
        // Only the child that may still begin has the memory now.
        items.event(Event::Unmap(range(0, PAGES)));
        if again {
            items.event(fork());
        }
        items.event(map(0, PAGES, Backing::Anonymous));
        items.visits((0..PAGES).map(store));
        let memory = replayed(&items).into_iter();
        memory.map(|memory| memory.swapped_out_pages).collect()
    };
    assert_eq!(swapped_out(true), [0; 3]);
    let held = swapped_out(false);
    assert!(held.iter().all(|pages| *pages > 1000), "{held:?}");
}

#[test]
fn shared_memory_that_another_child_of_that_number_finds_stays() {
    let mut items = sharing();
    // The first never begins, the second does, when its parent has given the memory back.
    items.event(fork());
    items.event(fork());
    items.event(Event::Unmap(range(0, PAGES)));
    begin_child(&mut items, 1);
    for memory in replayed(&items) {
        assert_eq!(memory.zeroed_pages, PAGES);
        assert_eq!(memory.swapped_out_pages, 0);
    }
}

#[test]
fn a_number_is_used_again_after_its_process_ended() {
    let mut items = sharing();
    items.event(fork());
    begin_child(&mut items, 1);
    items.event(Event::SpaceEnd { status: None });
    items.event(Event::SpaceSwitch(SpaceId(0)));
    // The second child finds the same memory in a space of its own, and is the last that has it.
    items.event(fork());
    items.event(Event::Unmap(range(0, PAGES)));
    begin_child(&mut items, 2);
    for memory in replayed(&items) {
        assert_eq!(memory.zeroed_pages, PAGES);
        assert_eq!(memory.swapped_out_pages, 0);
    }
    // When it is gone too, so is the memory.
    items.event(Event::SpaceEnd { status: None });
    items.event(Event::SpaceSwitch(SpaceId(0)));
    items.event(map(0, PAGES, Backing::Anonymous));
    items.visits((0..PAGES).map(store));
    for memory in replayed(&items) {
        assert_eq!(memory.swapped_out_pages, 0);
    }
}
