//! Shared memory, counted by hand: its sharers, its single copy in memory and in the swap, and its
//! end.

use crate::common::*;
use broadleaf_units::{Rights, SpaceId};

#[test]
fn memory_that_is_shared_for_good_is_never_copied() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.touch(PARENT, 0..10, true);
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..10);
    world.touch(CHILD, 0..10, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (0, 0)
    );
    assert_eq!(world.free(), 4086);
}

#[test]
fn shared_memory_that_is_first_used_after_the_fork_stands_there_once() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..20);
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..20);
    // What is mapped there later is not what the parent has.
    world.touch(CHILD, 0..10, true);
    world.touch(PARENT, 0..10, false);
    assert_eq!(world.free(), 4086);
    assert_eq!(
        (world.counters().page_faults, world.counters().zeroed),
        (20, 10)
    );
    world.map_shared_memory(CHILD, 0..20);
    world.touch(CHILD, 0..10, true);
    assert_eq!(world.free(), 4076);
    // The parent's last mapping of the memory is removed, which ends the memory.
    world.end(PARENT);
    assert_eq!(world.free(), 4086);
    world.end(CHILD);
    assert_eq!(world.free(), 4096);
}

#[test]
fn shared_memory_outlives_the_process_that_used_it() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..10);
    world.touch(CHILD, 0..10, true);
    world.end(CHILD);
    assert_eq!(world.free(), 4086, "the parent has it mapped");
    world.touch(PARENT, 0..10, false);
    assert_eq!((world.free(), world.counters().zeroed), (4086, 10));
    world.remove(PARENT, 0..4);
    assert_eq!(world.free(), 4090);
    world.touch(PARENT, 0..10, false);
    assert_eq!(world.counters().zeroed, 14);
}

#[test]
fn shared_memory_stands_in_the_swap_once() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 64));
    world.map_shared_memory(PARENT, 0..100);
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..100);
    world.touch(PARENT, 0..100, true);
    let out = world.counters().swapped_out;
    assert!(out >= 100 - 64, "memory holds 64: {out}");
    world.touch(CHILD, 0..100, false);
    let counters = *world.counters();
    assert!(
        counters.swapped_in >= out,
        "found in the swap: {counters:?}"
    );
    assert_eq!(counters.zeroed, 100, "zeroes are given once");
    assert!(world.system.totals(&world.spaces).in_swap <= 100);
    world.end(PARENT);
    world.end(CHILD);
    assert_eq!(
        (world.system.totals(&world.spaces).in_swap, world.free()),
        (0, 64)
    );
}

#[test]
fn what_a_private_mapping_brought_from_the_swap_is_not_lost_with_a_store_to_it() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 64));
    world.map_shared_memory(PARENT, 0..100);
    world.touch(PARENT, 0..100, true);
    world.fork(PARENT, CHILD);
    // The child has the same memory, and copies what it stores to.
    let backing = world.spaces.shared_memory(CHILD, pages(0..100));
    world.map(CHILD, backing, 0..100);
    for page in 0..100 {
        world.touch(CHILD, page..page + 1, false);
        world.touch(CHILD, page..page + 1, true);
    }
    world.end(CHILD);
    world.touch(PARENT, 0..100, false);
    let zeroed = world.counters().zeroed;
    assert_eq!(zeroed, 100, "what the parent stored is there still");
}

#[test]
fn a_child_that_never_began_keeps_no_shared_memory_from_the_next() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard(PARENT, PID);
    world.unmap(PARENT, 0..10);
    assert_eq!(world.free(), 4086, "the child may begin yet");
    // Another has its number now, so it never will.
    world.fork_unheard(PARENT, PID);
    assert_eq!(world.free(), 4096);
}

#[test]
fn a_child_that_was_heard_of_before_its_fork_finds_no_shared_memory() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.begin(CHILD, PID);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard(PARENT, PID);
    // It executes another program, which maps memory where its parent has some.
    world.end(CHILD);
    world.begin(CHILD, PID);
    world.map_shared_memory(CHILD, 0..10);
    world.touch(CHILD, 0..10, true);
    assert_eq!(world.free(), 4076);
    world.end(PARENT);
    assert_eq!(world.free(), 4086);
}

#[test]
fn shared_memory_whose_rights_changed_in_part_is_one_for_a_child_still() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..20);
    let rights = Rights {
        write: false,
        ..Rights::READ_WRITE
    };
    for rights in [rights, Rights::READ_WRITE] {
        world.protect(PARENT, 5..9, rights);
    }
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..20);
    world.touch(CHILD, 0..20, true);
    world.touch(PARENT, 0..20, false);
    assert_eq!(world.free(), 4076);
}

#[test]
fn shared_memory_that_the_heap_grows_over_is_no_more() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.touch(PARENT, 0..10, true);
    let grown = world.spaces.set_heap(PARENT, pages(0..10));
    world.apply(&grown);
    world.unmap(PARENT, 0..10);
    assert_eq!(world.free(), 4096);
}

#[test]
fn pages_that_were_found_in_memory_were_not_zeroed_for_whoever_found_them() {
    let policy = policy("linux");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..16);
    world.touch(PARENT, 0..16, false);
    world.fork(PARENT, CHILD);
    world.map_shared_memory(CHILD, 0..16);
    // What it began with goes, and what is around the page that it asks for is mapped again.
    world.discard(CHILD, 0..16);
    assert_eq!(world.counters().resident, 16);
    world.touch(CHILD, 0..1, false);
    assert_eq!(world.counters().resident, 32, "mapped around");
    assert_eq!(
        world.system.totals(&world.spaces).common.extra_zeroed_pages,
        0
    );
    world.end(CHILD);
    assert_eq!(world.counters().zeroed_and_gone, 0);
}

#[test]
fn a_child_of_which_nothing_was_told_keeps_no_shared_memory() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map_shared_memory(PARENT, 0..10);
    world.touch(PARENT, 0..10, true);
    let forked = world.spaces.fork(PARENT, PID);
    assert_eq!(forked, []);
    let silent = SpaceId(7);
    world.spaces.begin(silent, PID);
    assert_eq!(world.spaces.end(silent), []);
    world.spaces.check();
    world.end(PARENT);
    assert_eq!(world.free(), 4096, "no process has the memory mapped");
}
