//! Write-back of a file that is mapped in superpages and stored to here and there.

use crate::common::scripted::Scripted;
use crate::common::*;
use broadleaf_memory::frames::Start;
use broadleaf_memory::system::Spec;
use broadleaf_memory::{AddressSpaces, Backing};
use broadleaf_policy::{Copies, Needs, Policy};
use broadleaf_units::FileId;

/// Four superpages of 64 pages, which have pieces of 8 pages.
const PAGES: u64 = 256;

/// A mapped file, read throughout and stored to in some pages.
fn after<'a>(policy: &'a dyn Policy, stored: &[u64]) -> TestMemory<'a> {
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 3, 6], 1024)
    };
    let mut world = TestMemory::new(policy, &spec);
    world.spaces.file(FileId(0), PAGES << 12);
    world.map_shared(SPACE, FILE, 0..PAGES);
    world.touch(SPACE, 0..PAGES, false);
    world.touch(SPACE, stored.iter().copied(), true);
    world
}

/// Pages that were written to the file, or still have to be.
fn to_write(world: &TestMemory<'_>) -> u64 {
    world.counters().file_writes + world.system.totals(&world.spaces).unsaved_file_pages
}

#[test]
fn a_store_makes_all_of_a_superpage_to_be_written_unless_it_is_broken() {
    let demotes = policy("navarro(sizes=all)");
    let ignores = policy("navarro(sizes=all,dirty=ignore)");
    for (policy, written, demotions) in [(&demotes, 2, 2 * 2), (&ignores, 2 * 64, 0)] {
        let mut world = after(policy.as_ref(), &[5, 130]);
        let counters = world.counters();
        assert_eq!(counters.demotions, demotions, "{}", policy.name());
        assert_eq!(to_write(&world), written, "{}", policy.name());
        // The process that stored to the file unmaps it; this writes nothing back.
        world.unmap(SPACE, 0..PAGES);
        assert_eq!(to_write(&world), written, "{}", policy.name());
    }
}

#[test]
fn what_is_stored_to_throughout_is_written_whole_in_any_case() {
    let all: Vec<u64> = (0..PAGES).collect();
    for name in ["navarro", "navarro(dirty=ignore)", "4k"] {
        let policy = policy(name);
        assert_eq!(to_write(&after(policy.as_ref(), &all)), PAGES);
    }
}

#[test]
fn pages_that_nobody_maps_any_more_are_written_when_their_frames_are_wanted() {
    let policy = policy("4k");
    let mut world = after(policy.as_ref(), &[5, 130]);
    world.unmap(SPACE, 0..PAGES);
    assert_eq!(world.counters().file_writes, 0);
    world.map(SPACE, Backing::Anonymous, 4096..4096 + 1000);
    world.touch(SPACE, 4096..4096 + 1000, true);
    assert_eq!(world.counters().file_writes, 2);
    assert_eq!(world.system.totals(&world.spaces).unsaved_file_pages, 0);
}

#[test]
fn a_private_store_saves_what_was_stored_to_the_file_before() {
    let policy = policy("4k");
    let mut world = after(policy.as_ref(), &[5]);
    world.unmap(SPACE, 0..PAGES);
    world.map(SPACE, FILE, 0..PAGES);
    world.touch(SPACE, [5], false);
    world.touch(SPACE, [5], true);
    assert_eq!(world.counters().file_writes, 1);
}

#[test]
fn a_file_that_is_mapped_again_stays_where_it_is() {
    let policy = policy("navarro");
    let mut world = after(policy.as_ref(), &[]);
    assert_eq!(world.counters().reservations, 4);
    for _ in 0..3 {
        world.unmap(SPACE, 0..PAGES);
        world.map_shared(SPACE, FILE, 0..PAGES);
        world.touch(SPACE, 0..PAGES, false);
    }
    let counters = world.counters();
    assert_eq!((counters.copied, counters.file_reads), (0, PAGES));
    assert_eq!(counters.reservations, 4);
}

#[test]
fn the_daemon_moves_pages_for_an_extent_only_where_a_policy_copies() {
    for (copies, moves) in [(Copies::Never, false), (Copies::Scattered, true)] {
        // It reserves, and never promotes.
        let policy = Scripted::idle(Needs {
            copies,
            ..Needs::default()
        });
        let start = Start::Grouped {
            occupied: 0.5,
            fragmentation: None,
            movable: 1.0,
            seed: 1,
        };
        let spec = Spec {
            start: start.lay_out(1024, 10).expect("a layout").into(),
            swap: 0,
            ..spec(&[0, 3], 1024)
        };
        // The trace lists no mapping, so every page may be mapped.
        let mut world = TestMemory {
            spaces: AddressSpaces::default(),
            ..TestMemory::new(&policy, &spec)
        };
        world.touch(SPACE, 0..400, true);
        assert_eq!(world.counters().migrated > 0, moves);
    }
}
