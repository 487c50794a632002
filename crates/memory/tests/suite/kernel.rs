//! Reservations and superpages of a recorded kernel.

use crate::common::*;
use broadleaf_memory::Shootdown;
use broadleaf_memory::system::{Place, Spec};
use broadleaf_units::{BlockNumber, FileId, PageSize};

/// The pages of a block.
const BLOCK: u64 = 512;

/// The reservations that a policy makes for pages of a file, the first of which is mapped alone.
/// The kernel reserves this block of the file's space, if any; without `follows`, our rules hold.
fn reservations(name: &str, range: std::ops::Range<u64>, follows: bool, own: Option<u64>) -> u64 {
    let policy = policy(name);
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 4, 9], 4 * BLOCK));
    world.spaces.file(FileId(0), 1 << 30);
    if follows {
        world.spaces.follow_kernel();
    }
    if let Some(block) = own {
        let block = BlockNumber(block);
        world.spaces.reserved_by_kernel(SPACE, block, 0);
    }
    world.map(SPACE, FILE, range.clone());
    world.touch(SPACE, [range.start], false);
    world.counters().reservations
}

#[test]
fn no_odd_size_is_reserved_beside_the_kernels_reservations() {
    for (name, follows, own, expected) in [
        ("place(odd=yes)", false, None, 1),
        ("place(odd=yes)", true, None, 0),
        ("place(odd=yes)", true, Some(1), 0),
        ("place(odd=yes)", true, Some(0), 1),
    ] {
        let found = reservations(name, 0..300, follows, own);
        assert_eq!(found, expected, "{name}, {follows}, {own:?}");
    }
}

#[test]
fn no_first_page_reserves_a_block_that_the_kernel_did_not() {
    let name = "foxtrot(objects=shared)";
    for (follows, own, expected) in [(false, None, 1), (true, None, 0), (true, Some(0), 1)] {
        let found = reservations(name, 100..101, follows, own);
        assert_eq!(found, expected, "{follows}, {own:?}");
    }
}

#[test]
fn reservations_of_a_kernel_end_with_their_space_and_with_the_trace() {
    let policy = policy("place");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 9], 4 * BLOCK));
    world.spaces.follow_kernel();
    let blocks = [0, 7, u64::MAX / (1 << 21)].map(BlockNumber);
    for space in [SPACE, OTHER] {
        for block in blocks {
            world.spaces.reserved_by_kernel(space, block, 5);
        }
    }
    let all = world.spaces.kernel_reservation_bytes();
    assert!(all > 0, "they count as memory");
    world.end(SPACE);
    assert_eq!(world.spaces.kernel_reservation_bytes(), all / 2);
    for block in blocks {
        let page = broadleaf_units::PageNumber(block.0 * BLOCK + 3);
        assert_eq!(world.spaces.kernel_reserved_at(SPACE, page), None);
        assert_eq!(world.spaces.kernel_reserved_at(OTHER, page), Some(5));
    }
    world.spaces.stop_following_kernel();
    assert!(!world.spaces.follows_kernel());
    assert_eq!(world.spaces.kernel_reservation_bytes(), 0);
}

/// A block that cannot be a superpage has none that a kernel could break.
#[test]
fn a_memory_without_superpages_of_2_mib_ignores_breaks() {
    let of_2m = Spec {
        base: PageSize::SIZE_2M,
        ..spec(&[0, 9], 1024)
    };
    for (spec, pages) in [(spec(&[0, 4], 256), 16), (of_2m, 512)] {
        let policy = policy("greedy");
        let mut world = TestMemory::new(policy.as_ref(), &spec);
        let unit = 1 << (spec.base.shift() - PageSize::SIZE_4K.shift());
        world.map(SPACE, broadleaf_memory::Backing::Anonymous, 0..pages * unit);
        world.touch(SPACE, [0], false);
        assert_eq!(world.counters().promotions, 1);
        let at = Place {
            space: SPACE,
            page: 0,
        };
        world.system.demote_as_recorded(at);
        world.system.break_as_recorded(at);
        assert_eq!(world.level(SPACE, 0, false), Some(1));
        assert_eq!(world.counters().demotions, 0);
        assert_eq!(world.counters().reservations_broken, 0);
    }
}

#[test]
fn pages_that_the_kernel_took_back_go_in_runs() {
    let policy = policy("greedy");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 4, 9], 4 * BLOCK));
    world.map(SPACE, broadleaf_memory::Backing::Anonymous, 0..BLOCK);
    world.touch(SPACE, [0, 200], true);
    assert_eq!(world.level(SPACE, 0, true), Some(2));
    let at = Place {
        space: SPACE,
        page: 0,
    };
    world.system.break_as_recorded(at);
    let ranges = |shot: &Shootdown| match shot {
        Shootdown::Range { pages, .. } => Some((pages.start, pages.end)),
        _ => None,
    };
    let gone: Vec<_> = world
        .system
        .shootdowns()
        .filter_map(|shot| ranges(&shot))
        .collect();
    assert!(gone.ends_with(&[(1, 200), (201, BLOCK)]), "{gone:?}");
    assert_eq!(world.counters().part_filled_broken, 1);
    assert_eq!(world.free(), 4 * BLOCK - 2);
}
