//! Each mechanism of limited memory by itself, counted by hand: without it, its test fails.

use crate::common::scripted::Scripted;
use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::frames::Start;
use broadleaf_memory::system::{Costs, Files, Spec};
use broadleaf_policy::{
    Copies, Effort, Needs, PageDaemon, Placement, Point, Policy, PromotionOrder, Scan,
};
use broadleaf_units::FileId;

/// Promotes full pieces at these points, and breaks superpages when memory is short.
fn full_at(points: &'static [Point], needs: Needs) -> Scripted {
    Scripted {
        needs,
        promotes_at: points,
        quarters: 4,
        effort: Effort::Later,
        demotes_at: &[Point::Short],
    }
}

/// Superpages of eight base pages.
fn small(frames: u64) -> Spec {
    Spec {
        start: Start::Empty.lay_out(frames, 3).expect("a layout").into(),
        ..spec(&[0, 3], frames)
    }
}

/// With a file that is larger than memory.
fn world<'a>(policy: &'a dyn Policy, spec: &Spec) -> TestMemory<'a> {
    let mut world = TestMemory::new(policy, spec);
    world.spaces.file(FileId(0), 1 << 30);
    world
}

#[test]
fn loads_of_untouched_memory_share_a_page_of_zeroes() {
    let needs = Needs {
        zero_page: true,
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let policy = full_at(&[Point::Scan], needs);
    let mut world = world(&policy, &small(64));
    world.map(SPACE, Backing::Anonymous, 0..40);
    world.touch(SPACE, 0..10, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (10, 0)
    );
    world.touch(SPACE, 0..4, true);
    assert_eq!(
        (world.counters().write_faults, world.counters().resident),
        (4, 4)
    );
    // A store to what was never read takes one fault.
    world.touch(SPACE, 20..21, true);
    assert_eq!(
        (world.counters().page_faults, world.counters().write_faults),
        (11, 4)
    );
}

#[test]
fn a_fault_in_a_file_maps_what_is_in_memory_around_it() {
    let needs = Needs {
        fault_around: 16,
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let policy = full_at(&[Point::Scan], needs);
    let spec = Spec {
        files: Files::InMemory,
        ..small(256)
    };
    let mut world = world(&policy, &spec);
    world.map(SPACE, FILE, 3..100);
    world.touch(SPACE, 5..6, false);
    // From where the mapping begins, sixteen pages; then sixteen from an aligned one.
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (1, 16)
    );
    world.touch(SPACE, 3..19, false);
    assert_eq!(world.counters().page_faults, 1);
    world.touch(SPACE, 40..41, false);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (2, 32)
    );
    // A store maps its own page alone.
    world.touch(SPACE, 70..71, true);
    assert_eq!(
        (world.counters().page_faults, world.counters().resident),
        (3, 33)
    );
}

#[test]
fn pages_of_files_are_found_in_free_frames() {
    let policy = policy("4k");
    let mut world = world(policy.as_ref(), &small(64));
    world.map(SPACE, FILE, 0..30);
    world.map(SPACE, Backing::Anonymous, 512..600);
    world.touch(SPACE, 0..30, false);
    let mut page = 512;
    while world.counters().dropped == 0 {
        world.touch(SPACE, page..page + 1, true);
        page += 1;
    }
    let reads = world.counters().file_reads;
    assert_eq!(reads, 30);
    world.touch(SPACE, 0..30, false);
    assert!(world.counters().cache_hits > 0);
    assert_eq!(
        world.counters().file_reads + world.counters().cache_hits,
        30 + world.counters().page_faults - 30 - (page - 512)
    );
}

#[test]
fn superpages_break_when_memory_is_short_so_that_only_what_is_used_of_them_stays() {
    let mut resident = Vec::new();
    for asked in [true, false] {
        let needs = Needs {
            asked_when_short: asked,
            ..Needs::default()
        };
        let policy = full_at(&[Point::Fault], needs);
        let mut world = world(&policy, &small(64));
        world.map(SPACE, Backing::Anonymous, 0..16);
        world.map(SPACE, FILE, 512..4096);
        world.touch(SPACE, 0..16, true);
        assert_eq!(world.counters().promotions, 2);
        // One page of each is used all the time, while pages of a file come and go.
        for page in 512..2512 {
            world.touch(SPACE, 0..1, false);
            world.touch(SPACE, 8..9, false);
            world.touch(SPACE, page..page + 1, false);
        }
        resident.push(world.counters().swapped_out);
    }
    // Unbroken, they are used as a whole.
    assert!(resident[0] == 14 && resident[1] < 7, "{resident:?}");
}

#[test]
fn what_was_broken_when_memory_was_short_is_a_superpage_again_when_it_is_used() {
    let policy = policy("navarro");
    // Without a swap, only pages of the file leave.
    let spec = Spec {
        swap: 0,
        ..small(64)
    };
    let mut world = world(policy.as_ref(), &spec);
    world.map(SPACE, Backing::Anonymous, 0..16);
    world.map(SPACE, FILE, 512..4096);
    world.touch(SPACE, 0..16, true);
    // Pages of a file come and go, and the daemon breaks both to see which of their pages are used:
    // all are.
    let mut broken = 0;
    for page in 512..1512 {
        world.touch(SPACE, page..page + 1, false);
        broken += u32::from(world.level(SPACE, 0, false) != Some(1));
        // The daemon may go on at the first of these references, and at no other.
        world.touch(SPACE, 0..16, false);
        world.touch(SPACE, 0..16, false);
        let all: Vec<_> = (0..16)
            .map(|page| world.level(SPACE, page, false))
            .collect();
        assert_eq!(all, vec![Some(1); 16]);
    }
    assert!(broken > 4, "{broken}");
}

#[test]
fn the_daemon_clears_an_extent_that_was_asked_for_in_vain() {
    let mut refused = Vec::new();
    for daemon in [PageDaemon::ForContiguity, PageDaemon::OldestFirst] {
        let needs = Needs {
            daemon,
            ..Needs::default()
        };
        let policy = full_at(&[Point::Fault], needs);
        let mut world = world(&policy, &small(128));
        // An unused file fills memory, except for scattered frames of a program.
        world.map(SPACE, FILE, 0..100);
        world.touch(SPACE, 0..100, false);
        world.unmap(SPACE, 0..100);
        world.map(SPACE, Backing::Anonymous, 1024..1024 + 160);
        // Eight pages apart: each wants an extent of its own.
        for page in (1024..1024 + 80).step_by(8) {
            world.touch(SPACE, page..page + 1, true);
        }
        refused.push((
            world.counters().extents_refused,
            world.counters().reservations,
        ));
    }
    let [(_, with), (_, without)] = refused[..] else {
        panic!("two runs");
    };
    assert!(with > without, "{with} reservations against {without}");
}

#[test]
fn frames_zeroed_ahead_spare_the_program_the_zeroing() {
    let needs = Needs {
        zeroed_ahead: 100_000,
        scan: Some(scan(100)),
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let policy = full_at(&[Point::Short], needs);
    let mut world = world(&policy, &small(64));
    world.map(SPACE, Backing::Anonymous, 0..40);
    // A tenth of a frame in an access: ten in a period, one of which the page table gets.
    world.pass(100);
    world.touch(SPACE, 0..15, true);
    assert_eq!(
        (world.counters().zeroed_ahead, world.counters().zeroed),
        (9, 6)
    );
}

#[test]
fn a_fair_daemon_serves_the_space_first_that_has_least() {
    let scan = Scan {
        promotions: 4,
        order: PromotionOrder::Fair,
        ..scan(100)
    };
    let needs = Needs {
        copies: Copies::Scattered,
        scan: Some(scan),
        placement: Placement::AtFault,
        ..Needs::default()
    };
    let policy = full_at(&[Point::Scan], needs);
    let mut world = world(&policy, &small(1024));
    for space in [SPACE, OTHER] {
        world.map(space, Backing::Anonymous, 0..64);
        world.touch(space, 0..64, true);
    }
    world.pass(100);
    // Four promotions, in turns: two for each.
    assert_eq!(world.counters().promotions, 4);
    let levels = |world: &mut TestMemory<'_>, space| {
        let promoted = (0..64)
            .step_by(8)
            .filter(|page| world.reference(space, *page, true) == Ok(1));
        promoted.count()
    };
    assert_eq!(
        (levels(&mut world, SPACE), levels(&mut world, OTHER)),
        (2, 2)
    );
}

#[test]
fn promotions_have_the_price_of_copying_where_they_copy_or_always_have_it() {
    let costs = Costs::default();
    let of_eight = |kib: u64| 8 * 4 * kib + costs.promotion;
    let (zeroing, copying) = (of_eight(costs.zero_kib), of_eight(costs.copy_kib));
    let in_place = costs.promotion;
    use Placement::{AtFault, Reserved};
    // At the first page of a piece; at its last, where its pages lie in their places; and where
    // they do not.
    for (placement, quarters, booked) in [
        (AtFault, 0, [(zeroing, 0), (zeroing, 0), (zeroing, zeroing)]),
        (
            Reserved,
            4,
            [(in_place, 0), (in_place, 0), (copying, copying)],
        ),
        (AtFault, 4, [(0, 0), (copying, copying), (copying, copying)]),
    ] {
        let all = [Copies::Never, Copies::Scattered, Copies::Always];
        for (copies, booked) in all.into_iter().zip(booked) {
            let needs = Needs {
                placement,
                copies,
                ..Needs::default()
            };
            let policy = Scripted {
                quarters,
                ..Scripted::eager(needs)
            };
            let mut world = world(&policy, &small(64));
            world.map(SPACE, Backing::Anonymous, 0..8);
            world.touch(SPACE, (0..8).rev(), true);
            let counters = world.counters();
            let price = (counters.promotion_cycles, counters.copy_cycles);
            assert_eq!(price, booked, "{copies:?}, {placement:?}, {quarters}");
        }
    }
}
