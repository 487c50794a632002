//! Earlier traces: they leave memory and TLBs in their state, and none of their accesses is
//! counted.

use crate::common::*;
use broadleaf_accel::{run, run_after};
use broadleaf_metrics::{CellResult, MemoryResult};
use broadleaf_model::{Error, Items, MemoryLimits, Outcome, Plan, ReplayProgress};
use broadleaf_trace::{Backing, Event, Grain, Mapping, Visit};
use broadleaf_units::{FileId, SpaceId};
use std::ops::ControlFlow;

const PAGE: u64 = 4096;

fn plan(policies: &[&str], memory: u64) -> Plan {
    let policies = policies
        .iter()
        .map(|name| broadleaf_policy::parse(name).expect("a policy"));
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    Plan::within(policies.collect(), vec![machine], MemoryLimits::new(memory)).expect("a plan")
}

fn on(_: ReplayProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A program that stores to `pages` pages of anonymous memory twice, and reads a file.
fn program(space: u32, pages: u64, file: (u32, &str, u64), ends: bool) -> Items {
    let mut items = Items::new(Grain::Page);
    write(&mut items, space, pages, file, ends);
    items
}

fn write(items: &mut Items, space: u32, pages: u64, file: (u32, &str, u64), ends: bool) {
    let (id, path, file_pages) = file;
    items.event(Event::SpaceSwitch(SpaceId(space)));
    items.event(Event::SpaceStart {
        pid: 100 + space,
        parent: 1,
        command: vec!["program".into()],
    });
    items.event(Event::File {
        id: FileId(id),
        size: file_pages * PAGE,
        path: path.into(),
    });
    items.event(map(0, 4096, Backing::Anonymous));
    let backing = Backing::File {
        file: FileId(id),
        offset: 0,
    };
    items.event(map(8192, file_pages, backing));
    items.visits((0..2 * pages).map(|number| store(number % pages)));
    items.visits((0..file_pages).map(|page| load(8192 + page)));
    if ends {
        items.event(Event::SpaceEnd { status: None });
    }
}

fn memory(result: &CellResult) -> &MemoryResult {
    result.memory.as_ref().expect("limited memory")
}

#[test]
fn a_file_that_an_earlier_program_read_is_found_in_memory() {
    let plan = plan(&["4k", "navarro"], 64 << 20);
    let mut earlier = [program(0, 10, (3, "/data", 50), true)];
    let mut same = program(0, 10, (7, "/data", 50), true);
    let outcome = run_after(&mut earlier, &mut same, &plan, &mut on).expect("a replay");
    for result in &outcome.results {
        assert_eq!(memory(result).file_pages_read, 0, "{}", result.policy);
        // Both programs fault in each page all the same.
        assert!(result.page_faults >= 50, "{}", result.policy);
    }
    let mut other = program(0, 10, (3, "/other", 50), true);
    let outcome = run_after(&mut earlier, &mut other, &plan, &mut on).expect("a replay");
    for result in &outcome.results {
        assert_eq!(memory(result).file_pages_read, 50, "{}", result.policy);
    }
}

#[test]
fn a_program_that_has_not_ended_keeps_its_memory() {
    let plan = plan(&["4k"], 16 << 20);
    let peak = |ends: bool| {
        let mut earlier = [program(0, 3000, (0, "/a", 1), ends)];
        let mut later = program(0, 2000, (0, "/b", 1), true);
        let outcome = run_after(&mut earlier, &mut later, &plan, &mut on).expect("a replay");
        memory(&outcome.results[0]).swapped_out_pages
    };
    // 4,096 frames hold 2,000 pages, and not 5,000.
    assert_eq!(peak(true), 0);
    assert!(peak(false) > 800, "{}", peak(false));
}

#[test]
fn what_is_left_in_memory_is_in_the_way_of_extents() {
    // A file as large as memory is read: its pages stay where they are until they are wanted.
    let plan = plan(&["thp-always"], 64 << 20);
    let alone = |earlier: &mut [Items]| {
        let mut later = program(0, 4096, (0, "/b", 1), true);
        let outcome = run_after(earlier, &mut later, &plan, &mut on).expect("a replay");
        outcome.results[0].clone()
    };
    let fresh = alone(&mut []);
    assert_eq!(memory(&fresh).extents_refused, 0);
    let used = alone(&mut [program(5, 1000, (0, "/large", 15_000), false)]);
    assert!(used.promotions < fresh.promotions, "{}", used.promotions);
    assert!(memory(&used).extents_refused > 0);
}

#[test]
fn what_is_counted_is_what_happens_after() {
    let policies = ["4k", "navarro", "linux", "pop-64", "freebsd14"];
    let plan = || plan(&policies, 12 << 20);
    let mut earlier = [program(1, 2500, (0, "/a", 300), true)];
    let mut second = program(2, 2400, (1, "/b", 500), true);
    let after = run_after(&mut earlier, &mut second, &plan(), &mut on).expect("a replay");
    let mut both = Items::new(Grain::Page);
    write(&mut both, 1, 2500, (0, "/a", 300), true);
    write(&mut both, 2, 2400, (1, "/b", 500), true);
    let accesses = 2 * 2500 + 300;
    let whole = plan().with_interim_results(vec![accesses]);
    let whole = run(&mut both, &whole, &mut on).expect("a replay");
    let sums = |outcome: &[CellResult]| -> Vec<Vec<u64>> {
        let sums = |result: &CellResult| {
            let memory = memory(result);
            vec![
                result.accesses,
                result.l1_misses,
                result.l2_misses,
                result.walk_cycles,
                result.page_faults,
                result.promotions,
                result.demotions,
                memory.write_faults,
                memory.swapped_out_pages,
                memory.swapped_in_pages,
                memory.file_pages_read,
                memory.reservations,
                memory.reservations_broken,
                memory.extents_refused,
                memory.copied_bytes,
                memory.fault_cycles,
                memory.daemon_cycles,
            ]
        };
        outcome.iter().map(sums).collect()
    };
    let before = sums(&whole.interim[0]);
    for (now, (all, before)) in sums(&after.results)
        .iter()
        .zip(sums(&whole.results).iter().zip(&before))
    {
        let left: Vec<u64> = all
            .iter()
            .zip(before)
            .map(|(all, before)| all - before)
            .collect();
        assert_eq!(*now, left);
    }
    assert_eq!(after.trace.accesses, 2 * 2400 + 500);
    assert_eq!(after.trace.pages, 2400 + 500);
    let times = |outcome: &Outcome| -> Vec<u64> {
        let over_time = &memory(&outcome.results[0]).over_time;
        over_time.iter().map(|sample| sample.time).collect()
    };
    assert_eq!(times(&after).last(), Some(&after.trace.accesses));
    assert!(times(&after).is_sorted());
}

#[test]
fn memory_that_is_not_modelled_remembers_nothing() {
    let policies = vec![broadleaf_policy::parse("4k").expect("a policy")];
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let plan = Plan::new(policies, vec![machine]).expect("a plan");
    let mut earlier = [program(0, 10, (0, "/a", 1), true)];
    let mut later = program(0, 10, (0, "/a", 1), true);
    let refused = run_after(&mut earlier, &mut later, &plan, &mut on);
    assert!(matches!(refused, Err(Error::Memory(_))), "{refused:?}");
}

#[test]
fn a_name_that_leaves_no_room_is_refused() {
    let plan = plan(&["4k"], 16 << 20);
    let mut earlier = [program(1 << 24, 10, (0, "/a", 1), true)];
    let mut later = program(0, 10, (0, "/a", 1), true);
    let refused = run_after(&mut earlier, &mut later, &plan, &mut on);
    assert!(matches!(refused, Err(Error::Number { .. })), "{refused:?}");
}

#[test]
fn what_is_left_unused_of_what_was_filled_before_is_not_counted() {
    let plan = plan(&["thp-always"], 64 << 20);
    let alone = |earlier: &mut [Items]| {
        let mut later = program(0, 600, (0, "/b", 1), true);
        let outcome = run_after(earlier, &mut later, &plan, &mut on).expect("a replay");
        outcome.results[0].extra_zeroed_pages
    };
    let fresh = alone(&mut []);
    assert_eq!(fresh, 1024 - 600);
    // The first of them lives on with pages that it never used.
    assert_eq!(alone(&mut [program(1, 10, (0, "/a", 1), false)]), fresh);
    assert_eq!(alone(&mut [program(1, 10, (0, "/a", 1), true)]), fresh);
}

#[test]
fn what_only_fetched_before_is_not_counted_either() {
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let policy = broadleaf_policy::parse("4k").expect("a policy");
    let limits = MemoryLimits {
        code: true,
        ..MemoryLimits::new(16 << 20)
    };
    let plan = Plan::within(vec![policy], vec![machine], limits).expect("a plan");
    let mut earlier = Items::new(Grain::Page);
    earlier.visits((0..9).map(|page| Visit {
        unit: page,
        fetch: true,
        instructions: 5,
        ..Visit::default()
    }));
    let mut later = program(1, 10, (0, "/b", 1), true);
    let alone = run_after(&mut [], &mut later.clone(), &plan, &mut on).expect("a replay");
    let after = run_after(&mut [earlier], &mut later, &plan, &mut on).expect("a replay");
    assert_eq!(after.trace, alone.trace);
    let faults = |outcome: &Outcome| outcome.results[0].page_faults;
    assert_eq!(faults(&after), faults(&alone));
}

#[test]
fn a_number_that_names_another_file_later_is_that_file() {
    let plan = plan(&["4k"], 64 << 20);
    let mut earlier = [program(0, 10, (3, "/data", 50), true)];
    let mut later = program(0, 10, (7, "/data", 50), false);
    write(&mut later, 1, 10, (7, "/other", 50), true);
    let outcome = run_after(&mut earlier, &mut later, &plan, &mut on).expect("a replay");
    assert_eq!(memory(&outcome.results[0]).file_pages_read, 50);
}

#[test]
fn progress_is_that_of_each_trace() {
    let plan = plan(&["4k"], 64 << 20);
    let mut earlier = [
        program(0, 100, (3, "/a", 1), true),
        program(0, 200, (3, "/b", 1), true),
    ];
    let mut later = program(0, 300, (7, "/c", 1), false);
    let mut most = [0; 3];
    let mut report = |state: ReplayProgress| {
        let trace = &mut most[state.earlier.unwrap_or(2)];
        *trace = state.accesses.max(*trace);
        ControlFlow::Continue(())
    };
    run_after(&mut earlier, &mut later, &plan, &mut report).expect("a replay");
    assert_eq!(most, [201, 401, 601]);
}

#[test]
fn children_that_a_recording_does_not_follow_keep_no_shared_memory() {
    let plan = plan(&["4k"], 16 << 20);
    let resident = |items: Items| {
        let mut items = items;
        items.event(Event::Map(Mapping {
            range: range(0, 3000),
            protection: READ_WRITE,
            shared: true,
            backing: Backing::SharedMemory,
        }));
        items.visits((0..3000).map(store));
        items.event(Event::Fork { child: 7 });
        items.event(Event::Unmap(range(0, 3000)));
        items.event(map(0, 3000, Backing::Anonymous));
        items.visits((0..3000).map(store));
        let outcome = run(&mut items, &plan, &mut on).expect("a replay");
        memory(&outcome.results[0]).swapped_out_pages
    };
    let alone = Items::new(Grain::Page).without_children();
    assert_eq!(resident(alone), 0);
    // One that is followed may begin yet.
    assert!(resident(Items::new(Grain::Page)) > 1000);
}

#[test]
fn a_program_that_another_replaces_leaves_its_memory() {
    let plan = plan(&["4k"], 64 << 20);
    let mut items = Items::new(Grain::Page);
    // Forty times the same process, each time in a space of its own. The trace ends none of them.
    for space in 0..40 {
        write(&mut items, space, 100, (0, "/a", 1), false);
    }
    let mut one = Items::new(Grain::Page);
    for space in 0..40 {
        one.event(Event::SpaceSwitch(SpaceId(space)));
        one.event(Event::SpaceStart {
            pid: 7,
            parent: 1,
            command: vec!["program".into()],
        });
        one.event(map(0, 4096, Backing::Anonymous));
        one.visits((0..100).map(store));
    }
    let peak = |items: &mut Items| {
        let outcome = run(items, &plan, &mut on).expect("a replay");
        outcome.results[0].peak_resident_pages
    };
    assert_eq!(peak(&mut one), 100);
    // Other processes live side by side.
    assert!(peak(&mut items) >= 4000);
}
