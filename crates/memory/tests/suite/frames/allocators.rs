//! Allocators against a scan of every frame, and what each of them is known for.

use broadleaf_memory::frames::{ALLOCATORS, Allocator, Buddy, Choice, Frame};
use broadleaf_units::SplitMix64;
use std::collections::BTreeMap;
use std::ops::Range;

const MOST_ORDER: u8 = 5;

/// A pool under an allocator.
fn pool(name: &str, frames: u64, orders: &[u8]) -> Buddy {
    let allocator = Allocator::named(name).expect("an allocator");
    let mut pool = Buddy::new(frames, MOST_ORDER);
    pool.choose_by(allocator, orders, 0.5);
    pool
}

/// The runs of free frames, found frame by frame.
fn runs(free: &[bool]) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for (frame, _) in (0..).zip(free).filter(|(_, free)| **free) {
        match runs.last_mut() {
            Some(run) if run.end == frame => run.end += 1,
            _ => runs.push(frame..frame + 1),
        }
    }
    runs
}

/// The lowest aligned extent of free frames in a range.
fn lowest(free: &[bool], within: &Range<u64>, order: u8) -> Option<u64> {
    let size = 1 << order;
    let mut places = (0..free.len() as u64).step_by(size);
    places.find(|first| {
        let extent = *first..first + size as u64;
        within.start <= extent.start
            && extent.end <= within.end
            && extent.clone().all(|frame| free[frame as usize])
    })
}

/// The extent that the rule of the name takes.
fn slowly(name: &str, free: &[bool], order: u8) -> Option<u64> {
    let all = 0..free.len() as u64;
    let mut fitting: Vec<_> = runs(free)
        .into_iter()
        .filter_map(|run| Some((run.end - run.start, lowest(free, &run, order)?)))
        .collect();
    match name {
        "first-fit" => lowest(free, &all, order),
        "best-fit" => {
            fitting.sort_unstable();
            fitting.first().map(|(_, first)| *first)
        }
        "worst-fit" => {
            fitting.sort_unstable_by_key(|(length, first)| (u64::MAX - length, *first));
            fitting.first().map(|(_, first)| *first)
        }
        // Orders 2 and 4 have a quarter of the frames each, and others have the lower half.
        _ => {
            let quarter = all.end / 4;
            let own = match order {
                4 => 3 * quarter..4 * quarter,
                2 => 2 * quarter..3 * quarter,
                _ => 0..2 * quarter,
            };
            lowest(free, &own, order)
        }
    }
}

#[test]
fn every_rule_takes_the_extent_that_a_scan_finds() {
    const FRAMES: u64 = 256;
    for allocator in ALLOCATORS.iter().skip(1) {
        let name = allocator.described.name;
        let (mut taken, mut refused) = (0, 0);
        for seed in 0..20 {
            let mut rng = SplitMix64::new(seed);
            let mut pool = pool(name, FRAMES, &[0, 2, 4]);
            let mut free = vec![true; FRAMES as usize];
            let mut held: BTreeMap<u64, u8> = BTreeMap::new();
            for _ in 0..400 {
                let order = [0, 0, 0, 1, 2, 3, 4][rng.below(7) as usize];
                if rng.below(5) < 3 {
                    let expected = slowly(name, &free, order);
                    assert_eq!(pool.has_extent(order), expected.is_some(), "{name}");
                    let given = pool.allocate_by(order, Choice::Highest);
                    let first = given.map(|given| given.first.0);
                    assert_eq!(first, expected, "{name}, seed {seed}, order {order}");
                    match first {
                        Some(first) => {
                            held.insert(first, order);
                            free[first as usize..][..1 << order].fill(false);
                            taken += 1;
                        }
                        None => refused += 1,
                    }
                } else if let Some((first, order)) = held
                    .range(rng.below(FRAMES)..)
                    .next()
                    .map(|(first, order)| (*first, *order))
                {
                    held.remove(&first);
                    pool.free(Frame(first), order).expect("it was allocated");
                    free[first as usize..][..1 << order].fill(true);
                }
                pool.check();
                let count = free.iter().filter(|free| **free).count() as u64;
                assert_eq!(pool.free_frames(), count);
            }
        }
        assert!(taken > 500 && refused > 50, "{name}: {taken}, {refused}");
    }
}

#[test]
fn rules_differ_in_the_hole_that_they_fill() {
    // Free runs of 8, 2 and 20 frames, in this order.
    let holes = [4..12, 14..16, 20..40];
    for (name, expected) in [
        ("buddy", 14),
        ("first-fit", 4),
        ("best-fit", 14),
        ("worst-fit", 20),
    ] {
        let mut pool = pool(name, 64, &[0, 1]);
        for frame in (0..64).filter(|frame| !holes.iter().any(|hole| hole.contains(frame))) {
            assert!(pool.take(Frame(frame), 0));
        }
        assert_eq!(pool.allocate(0), Some(Frame(expected)), "{name}");
    }
}

#[test]
fn pools_lend_each_other_nothing() {
    let mut pool = pool("pools", 64, &[0, 4]);
    assert_eq!((pool.free_for_pages(), pool.frames_for_pages()), (32, 32));
    for _ in 0..32 {
        let frame = pool.allocate(0).expect("a frame of the lower half");
        assert!(pool.serves_pages(frame));
    }
    assert_eq!((pool.free_frames(), pool.free_for_pages()), (32, 0));
    assert_eq!(pool.allocate(0), None);
    assert_eq!(pool.allocate(4), Some(Frame(32)));
    assert_eq!(pool.allocate(4), Some(Frame(48)));
    assert_eq!(pool.allocate(4), None);
    pool.free(Frame(3), 0).expect("it was allocated");
    assert!(!pool.has_extent(4) && pool.has_extent(0));
}

#[test]
fn pools_have_all_frames_of_a_memory_that_is_no_multiple_of_a_page() {
    // Orders 5 and 2, the frames of their pools, and those of base pages.
    for (frames, extents, expected) in [
        (56, 0.5, [0, 12, 44]),
        (80, 0.5, [0, 20, 60]),
        (88, 0.8, [32, 32, 24]),
        (64, 0.0, [0, 0, 64]),
        (3, 1.0, [0, 0, 3]),
    ] {
        let mut pool = Buddy::new(frames, MOST_ORDER);
        let pools = Allocator::named("pools").expect("it");
        pool.choose_by(pools, &[0, 2, 5], extents);
        assert_eq!(pool.free_for_pages(), expected[2], "{frames} frames");
        for (order, frames) in [5, 2, 0].into_iter().zip(expected) {
            let mut taken = 0;
            while let Some(first) = pool.allocate(order) {
                taken += 1_u64 << order;
                assert_eq!(pool.serves_pages(first), order == 0);
            }
            assert_eq!(taken, frames, "order {order}");
        }
        pool.check();
        assert_eq!(pool.free_frames(), 0, "{frames} frames");
    }
}

#[test]
fn a_rule_learns_of_memory_that_is_in_use_already() {
    let mut pool = Buddy::new(32, MOST_ORDER);
    assert!(pool.take(Frame(0), 3));
    pool.choose_by(Allocator::named("first-fit").expect("it"), &[0], 0.5);
    assert_eq!(pool.allocate(0), Some(Frame(8)));
    pool.check();
}
