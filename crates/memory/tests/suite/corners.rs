//! Corner cases of limited memory: the cost of each event, who pays, and what must be cleaned up.

use crate::common::scripted::Scripted;
use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::frames::Start;
use broadleaf_memory::system::Spec;
use broadleaf_policy::{Copies, Effort, Needs, Placement, Point};
use broadleaf_units::PageSize;

/// Superpages of 2 MiB, and a swap that never fills.
fn large(frames: u64) -> Spec {
    Spec {
        swap: 1 << 40,
        ..spec(&[0, 9], frames)
    }
}

/// Promotes at every point, and pages get any frame.
fn at_fault() -> Scripted {
    Scripted::eager(Needs {
        placement: Placement::AtFault,
        ..Needs::default()
    })
}

/// Promotes nothing. A daemon zeroes `frames` frames in a million accesses, every 1000.
fn zeroes_ahead(frames: u64) -> Scripted {
    Scripted::idle(Needs {
        placement: Placement::AtFault,
        zeroed_ahead: frames,
        scan: Some(scan(1000)),
        ..Needs::default()
    })
}

#[test]
fn pages_that_are_no_longer_needed_break_a_superpage_once_and_for_all() {
    let policy = policy("freebsd14");
    let mut world = TestMemory::new(policy.as_ref(), &large(4096));
    world.map(SPACE, Backing::Anonymous, 0..512);
    world.touch(SPACE, 0..512, true);
    world.freed(SPACE, 0..100);
}

#[test]
fn pages_that_do_not_come_to_lie_on_base_pages_are_not_moved_over_others() {
    let policy = policy("4k");
    let spec = Spec {
        base: PageSize::from_shift(13).expect("a size"),
        ..large(4096)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    world.map(SPACE, Backing::Anonymous, 0..8);
    world.map(SPACE, Backing::Anonymous, 20..21);
    world.touch(SPACE, [0, 1, 2, 3, 10], true);
    world.remap(SPACE, 0..5, 21..26);
}

#[test]
fn the_program_waits_for_compaction_that_it_asked_for() {
    let needs = Needs {
        placement: Placement::AtFault,
        copies: Copies::Scattered,
        ..Needs::default()
    };
    let policy = Scripted {
        effort: Effort::Now,
        ..Scripted::eager(needs)
    };
    let start = Start::Grouped {
        occupied: 0.5,
        fragmentation: None,
        movable: 1.0,
        seed: 1,
    };
    let spec = Spec {
        start: start.lay_out(4096, 10).expect("a layout").into(),
        ..large(4096)
    };
    let mut world = TestMemory::new(&policy, &spec);
    world.map(SPACE, Backing::Anonymous, 0..512);
    world.touch(SPACE, 0..1, true);
    let counters = world.counters();
    assert!(counters.migrated > 0 && counters.daemon_cycles == 0);
}

#[test]
fn promotions_between_references_cost_the_daemon() {
    let needs = Needs {
        asked_at_age: Some(10),
        ..Needs::default()
    };
    let policy = Scripted {
        promotes_at: &[Point::Due],
        ..Scripted::eager(needs)
    };
    let mut world = TestMemory::new(&policy, &large(4096));
    world.map(SPACE, Backing::Anonymous, 0..512);
    world.touch(SPACE, 0..1, true);
    world.pass(100);
    world.touch(SPACE, 1..2, true);
    let counters = world.counters();
    assert!(counters.fault_cycles + counters.daemon_cycles >= 512 * 1200);
}

#[test]
fn a_superpage_that_an_event_breaks_costs_the_program() {
    let policy = at_fault();
    let mut world = TestMemory::new(&policy, &large(4096));
    world.map(SPACE, Backing::Anonymous, 0..512);
    world.touch(SPACE, 0..1, true);
    let before = world.counters().fault_cycles + world.counters().daemon_cycles;
    world.unmap(SPACE, 0..10);
    world.touch(SPACE, 10..11, true);
    let counters = world.counters();
    assert_eq!(counters.demotions, 1);
    let after = counters.fault_cycles + counters.daemon_cycles;
    assert!(after >= before + 18_000, "{before} {after}");
}

#[test]
fn frames_zeroed_ahead_count_where_zeroes_were_wanted() {
    let policy = zeroes_ahead(10_000);
    let mut world = TestMemory::new(&policy, &large(4096));
    world.map(SPACE, FILE, 0..10);
    world.map(SPACE, Backing::Anonymous, 1024..1100);
    world.pass(1000); // ten frames are zeroed
    world.touch(SPACE, 0..10, false); // ten pages of a file take them
    world.touch(SPACE, 1024..1034, true);
    let counters = world.counters();
    assert_eq!((counters.zeroed, counters.zeroed_ahead), (10, 0));
}

#[test]
fn a_frame_that_was_zeroed_holds_no_page_of_a_file() {
    let policy = zeroes_ahead(1_000_000);
    let mut world = TestMemory::new(&policy, &large(64));
    world.map(SPACE, FILE, 0..20);
    world.map(SPACE, Backing::Anonymous, 1024..2000);
    world.touch(SPACE, 0..20, false);
    // Until the daemon takes pages of the file back.
    let mut page = 1024;
    while world.counters().dropped < 3 {
        world.touch(SPACE, [page], true);
        page += 1;
    }
    assert!(world.system.sample().file_cache > 0);
    // All that is free is zeroed.
    world.pass(1000);
    assert_eq!(world.system.sample().file_cache, 0);
}

#[test]
fn a_superpage_that_is_shared_no_more_takes_one_fault() {
    let policy = at_fault();
    let mut world = TestMemory::new(&policy, &large(4096));
    world.map(PARENT, Backing::Anonymous, 0..512);
    world.touch(PARENT, 0..512, true);
    world.fork(PARENT, CHILD);
    world.map(CHILD, Backing::Anonymous, 0..512);
    world.system.visited(CHILD);
    world.end(CHILD);
    world.touch(PARENT, 0..512, true);
    let counters = world.counters();
    assert_eq!((counters.in_superpages, counters.write_faults), (512, 1));
}

#[test]
fn daemons_pass_over_children_that_never_began() {
    let policy = policy("ingens(scan_period=1000)");
    let mut world = TestMemory::new(policy.as_ref(), &large(8192));
    world.map(PARENT, Backing::Anonymous, 0..512);
    world.touch(PARENT, 0..512, true);
    world.fork_unheard(PARENT, PID);
    world.pass(10000);
    assert!(
        world.counters().promotions <= 1,
        "a child that never began was promoted"
    );
}

#[test]
fn a_fork_takes_the_right_to_store_out_of_tlbs() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &large(4096));
    world.map(PARENT, Backing::Anonymous, 0..8);
    world.touch(PARENT, 0..8, true);
    world.fork_unheard(PARENT, PID);
    assert!(
        world.system.has_shootdowns(),
        "pages lost the right to be stored to, and no TLB drops its entries"
    );
}

#[test]
fn pages_that_are_no_longer_needed_leave_without_the_swap() {
    let policy = policy("freebsd14");
    let mut world = TestMemory::new(policy.as_ref(), &large(64));
    world.map(SPACE, Backing::Anonymous, 0..200);
    world.touch(SPACE, 0..40, true);
    world.freed(SPACE, 0..40);
    world.touch(SPACE, 100..140, true);
    assert_eq!(
        world.counters().swapped_out,
        0,
        "what the program gave up was written to the swap"
    );
}
