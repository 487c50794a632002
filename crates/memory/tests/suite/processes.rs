//! Sharing between processes, counted by hand: copies at forks, files, and the memory left when
//! processes end.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_units::{FileId, SpaceId};

#[test]
fn a_child_copies_what_either_stores_to_and_nothing_else() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map(PARENT, Backing::Anonymous, 0..100);
    world.touch(PARENT, 0..100, true);
    let free = world.free();
    world.fork(PARENT, CHILD);
    world.map(CHILD, Backing::Anonymous, 0..100);
    assert_eq!(world.free(), free, "nothing was copied yet");
    world.touch(CHILD, 0..100, false);
    assert_eq!(world.counters().page_faults, 100);
    world.touch(CHILD, 0..30, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (30, 30)
    );
    assert_eq!(world.free(), free - 30);
    // Ten of these the child has copied, so the parent only learns that they are its own.
    world.touch(PARENT, 20..40, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (50, 40)
    );
    world.end(PARENT);
    world.touch(CHILD, 0..100, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (120, 40)
    );
    world.end(CHILD);
    assert_eq!(world.free(), 4096);
    assert_eq!(world.counters().page_faults, 100);
}

#[test]
fn a_superpage_that_is_shared_breaks_where_it_is_stored_to() {
    let policy = policy("thp-always");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map(PARENT, Backing::Anonymous, 0..512);
    world.touch(PARENT, 0..512, true);
    assert_eq!(
        (world.counters().promotions, world.counters().page_faults),
        (1, 1)
    );
    world.fork(PARENT, CHILD);
    world.map(CHILD, Backing::Anonymous, 0..512);
    world.touch(CHILD, 0..1, true);
    assert_eq!(
        (world.counters().demotions, world.counters().copied),
        (1, 1)
    );
    // The parent's superpage is still there. A store to it breaks it in turn, if the frame is still
    // shared.
    assert_eq!(world.counters().in_superpages, 512);
    world.touch(PARENT, 1..2, true);
    assert_eq!(
        (world.counters().demotions, world.counters().copied),
        (2, 2)
    );
}

#[test]
fn a_child_that_never_begins_is_gone_with_its_parent() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map(PARENT, Backing::Anonymous, 0..10);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard(PARENT, PID);
    world.touch(PARENT, 0..10, true);
    assert_eq!(world.counters().copied, 10);
    world.end(PARENT);
    assert_eq!(world.free(), 4096);
}

#[test]
fn a_child_that_was_heard_of_before_its_fork_shares_nothing() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    world.map(PARENT, Backing::Anonymous, 0..10);
    // It begins, and executes another program.
    world.begin(CHILD, PID);
    world.begin(SpaceId(2), PID);
    world.touch(PARENT, 0..10, true);
    world.fork_unheard(PARENT, PID);
    world.touch(PARENT, 0..10, true);
    assert_eq!(world.counters().resident, 10);
    assert_eq!(world.counters().write_faults, 0);
    // Numbers of processes are used again: this is another child.
    world.fork(PARENT, CHILD);
    assert_eq!(world.counters().resident, 20);
}

#[test]
fn processes_that_map_a_file_share_its_pages() {
    let policy = policy("4k");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4096));
    let file = file(3);
    world.spaces.file(FileId(3), 64 << 12);
    world.map(PARENT, file, 0..64);
    world.map(CHILD, file, 0..64);
    world.touch(PARENT, 0..64, false);
    world.touch(CHILD, 0..64, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().file_reads),
        (128, 64)
    );
    assert_eq!(world.free(), 4096 - 64);
    // A private page that is stored to is the process's own from then on.
    world.touch(CHILD, 0..8, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().copied),
        (8, 8)
    );
    world.end(CHILD);
    world.end(PARENT);
    // The file's pages stay in memory, and are found there.
    assert_eq!(world.system.sample().file_cache, 64);
    world.map(PARENT, file, 0..64);
    world.touch(PARENT, 0..64, false);
    assert_eq!(world.counters().file_reads, 64);
}

#[test]
fn page_tables_take_frames_that_stand_together_where_the_policy_says_so() {
    for (name, together) in [("navarro", true), ("navarro(daemon=cache)", false)] {
        let policy = policy(name);
        let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 1 << 15));
        world.map(PARENT, Backing::Anonymous, 0..20 * 512);
        for block in 0..20 {
            world.touch(PARENT, block * 512..block * 512 + 1, true);
        }
        // One more reference, since tables are given their frames before the next.
        world.touch(PARENT, 1..2, true);
        let wired = world.system.sample().wired;
        assert_eq!(wired, if together { 64 } else { 20 }, "{name}");
        world.end(PARENT);
        world.touch(CHILD, 0..2, true);
        assert!(world.system.sample().wired <= if together { 64 } else { 1 });
    }
}
