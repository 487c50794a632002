//! Objects that keep their frames (Talluri 1995, sections 6.3.2 and 6.3.4): files that several
//! processes map, and read-around. Frames and reads are compared with lists of pages.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Costs, Place, Spec};
use broadleaf_units::{FileId, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};

/// The pages of a block.
const BLOCK: u64 = 16;
const FRAMES: u64 = 512;

fn small_spec() -> Spec {
    spec(&[0, 4], FRAMES)
}

/// The frame of each page of a space.
fn frames_of(world: &TestMemory<'_>, space: broadleaf_units::SpaceId) -> BTreeMap<u64, u64> {
    let pages = world.system.frames_of_pages();
    let of_space = pages.filter(|(at, _)| at.space == space);
    of_space.map(|(at, frame)| (at.page, frame)).collect()
}

/// With a large file.
fn world<'a>(policy: &'a dyn broadleaf_policy::Policy, spec: &Spec) -> TestMemory<'a> {
    let mut world = TestMemory::new(policy, spec);
    world.spaces.file(FileId(0), 1 << 30);
    world
}

#[test]
fn the_first_mapper_decides_where_a_file_lies() {
    for (name, promotions) in [("foxtrot", 0), ("foxtrot(objects=shared)", 1)] {
        let policy = policy(name);
        let mut world = world(policy.as_ref(), &small_spec());
        world.map(SPACE, FILE, 0..BLOCK);
        world.map(OTHER, FILE, 0..BLOCK);
        world.touch(SPACE, [3], false);
        // Half of the block makes a superpage, which needs the first mapper's page in its place.
        world.touch(OTHER, 4..12, false);
        assert_eq!(world.counters().promotions, promotions, "{name}");
        assert_eq!(world.counters().copied, 0, "{name}");
        let [of_first, of_other] = [SPACE, OTHER].map(|space| frames_of(&world, space));
        let places = |frames: &BTreeMap<u64, u64>| -> BTreeSet<u64> {
            frames.iter().map(|(page, frame)| frame - page).collect()
        };
        let together = places(&of_first) == places(&of_other);
        assert_eq!(together, promotions == 1, "{name}");
    }
}

/// Random loads by two processes, against the block of frames that each block of the file has.
#[test]
fn every_mapper_finds_a_page_at_its_place() {
    let policy = policy("place(objects=shared)");
    for seed in 0..40 {
        let mut rng = SplitMix64::new(seed);
        let mut world = world(policy.as_ref(), &small_spec());
        let mut places: BTreeMap<u64, u64> = BTreeMap::new();
        let mut mapped: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for space in [SPACE, OTHER] {
            world.map(space, FILE, 0..4 * BLOCK);
        }
        for _ in 0..80 {
            let space = [SPACE, OTHER][rng.below(2) as usize];
            if rng.below(20) == 0 {
                // Pages that nobody maps stay where they are.
                world.unmap(space, 0..4 * BLOCK);
                world.map(space, FILE, 0..4 * BLOCK);
                mapped.retain(|(of, _), _| *of != space.0);
                continue;
            }
            let page = rng.below(4 * BLOCK);
            world.touch(space, [page], false);
            let frame = frames_of(&world, space)[&page];
            let first = frame - page % BLOCK;
            assert_eq!(first % BLOCK, 0, "seed {seed}: page {page} is out of place");
            let place = *places.entry(page / BLOCK).or_insert(first);
            assert_eq!(first, place, "seed {seed}: page {page} of another block");
            mapped.insert((space.0, page), frame);
        }
        for space in [SPACE, OTHER] {
            let expected: BTreeMap<u64, u64> = (mapped.iter())
                .filter(|((of, _), _)| *of == space.0)
                .map(|((_, page), frame)| (*page, *frame))
                .collect();
            assert_eq!(frames_of(&world, space), expected, "seed {seed}");
        }
        assert_eq!(world.counters().reservations, places.len() as u64);
    }
}

#[test]
fn the_first_page_of_a_file_reserves_a_block() {
    for (name, promotions) in [("foxtrot", 0), ("foxtrot(objects=shared)", 1)] {
        let policy = policy(name);
        let mut world = world(policy.as_ref(), &small_spec());
        // A dynamic linker maps the first page to read it, and then the whole file.
        world.map(SPACE, FILE, 100..101);
        world.touch(SPACE, [100], false);
        world.map(SPACE, FILE, 64..64 + BLOCK);
        world.touch(SPACE, 65..64 + BLOCK, false);
        assert_eq!(world.counters().promotions, promotions, "{name}");
        assert_eq!(world.counters().copied, 0, "{name}");
    }
}

#[test]
fn counters_of_a_file_count_what_any_process_uses() {
    for (counters, promotions) in [("process", 0), ("object", 1)] {
        let policy = policy(&format!("foxtrot(objects=shared,counters={counters})"));
        let mut world = world(policy.as_ref(), &small_spec());
        world.map(SPACE, FILE, 0..BLOCK);
        world.map(OTHER, FILE, 0..BLOCK);
        world.touch(SPACE, 0..7, false);
        assert_eq!(world.counters().promotions, 0);
        // The eighth page of the file that is used is the first of this process.
        world.touch(OTHER, [9], false);
        assert_eq!(world.counters().promotions, promotions, "{counters}");
        let at = Place {
            space: OTHER,
            page: 3,
        };
        assert_eq!(world.system.level_at(at) as u64, promotions, "{counters}");
    }
}

#[test]
fn a_fault_reads_the_rest_of_the_block_in_the_background() {
    let costs = Costs::default();
    for (name, around, reads) in [
        ("foxtrot", 0, 1),
        ("foxtrot(read_around=yes)", 15, 16),
        ("foxtrot(read_around=yes,files=network)", 8, 9),
    ] {
        let policy = policy(name);
        let mut world = world(policy.as_ref(), &small_spec());
        world.map(SPACE, FILE, 0..2 * BLOCK);
        world.touch(SPACE, [5], false);
        let counters = *world.counters();
        assert_eq!(counters.read_around, around, "{name}");
        assert_eq!(counters.file_reads, reads, "{name}");
        assert_eq!(counters.resident, 1, "{name}: neighbours have no mapping");
        assert_eq!(counters.fault_cycles, costs.fault + costs.disk, "{name}");
        assert_eq!(counters.daemon_cycles, around * costs.disk, "{name}");
    }
}

/// Random loads, against the set of pages in memory.
#[test]
fn what_was_read_around_is_not_read_again() {
    for network in [false, true] {
        let place = if network { "network" } else { "local" };
        let policy = policy(&format!("place(read_around=yes,files={place})"));
        for seed in 0..30 {
            let mut rng = SplitMix64::new(seed);
            let mut world = world(policy.as_ref(), &small_spec());
            world.map(SPACE, FILE, 0..6 * BLOCK);
            world.map(OTHER, FILE, 0..6 * BLOCK);
            let mut there: BTreeSet<u64> = BTreeSet::new();
            let mut used: BTreeSet<(u32, u64)> = BTreeSet::new();
            let mut around = 0;
            for _ in 0..60 {
                let space = [SPACE, OTHER][rng.below(2) as usize];
                let page = rng.below(6 * BLOCK);
                world.touch(space, [page], false);
                if !used.insert((space.0, page)) {
                    continue;
                }
                there.insert(page);
                let end = page / BLOCK * BLOCK + BLOCK;
                let near = match network {
                    true => page + 1..end.min(page + 9),
                    false => end - BLOCK..end,
                };
                around += near.filter(|page| there.insert(*page)).count() as u64;
                let counters = world.counters();
                assert_eq!(counters.file_reads, there.len() as u64, "seed {seed}");
                assert_eq!(counters.read_around, around, "seed {seed}");
            }
            assert!(around > 20, "{around}");
            // All of them lie in their places, whoever read them.
            for space in [SPACE, OTHER] {
                let frames = frames_of(&world, space);
                assert!(
                    frames
                        .iter()
                        .all(|(page, frame)| page % BLOCK == frame % BLOCK)
                );
            }
        }
    }
}

#[test]
fn pages_that_were_read_around_leave_before_a_program_runs_out_of_memory() {
    let policy = policy("foxtrot(read_around=yes)");
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 4], 64)
    };
    let mut world = world(policy.as_ref(), &spec);
    world.map(SPACE, FILE, 0..64);
    world.touch(SPACE, [0, 16], false);
    world.map(SPACE, Backing::Anonymous, 512..512 + 56);
    world.touch(SPACE, 512..512 + 56, true);
    assert!(world.counters().dropped > 0);
}

#[test]
fn a_page_that_others_map_already_counts_once() {
    let policy = policy("foxtrot(reserve=no,gather=yes,objects=shared,counters=object)");
    let mut world = TestMemory::new(policy.as_ref(), &spec(&[0, 4], 512));
    world.spaces.file(FileId(0), 1 << 30);
    world.map(SPACE, FILE, 0..16);
    world.map(OTHER, FILE, 0..16);
    // Seven pages of sixteen are less than half, whoever maps them.
    world.touch(SPACE, 0..7, false);
    world.touch(OTHER, 0..7, false);
    assert_eq!(world.counters().promotions, 0);
    world.touch(OTHER, [7], false);
    assert_eq!(world.counters().promotions, 1);
}

/// A reservation gives up frames, in which a smaller one of another object begins.
#[test]
fn objects_whose_extents_overlap_keep_their_own_frames() {
    const LARGE: u64 = 16;
    let policy = policy("foxtrot(size=16k+64k,objects=shared,heap=100)");
    let spec = Spec {
        swap: 0,
        ..spec(&[0, 2, 4], 64)
    };
    let mut world = TestMemory::new(policy.as_ref(), &spec);
    world.map_shared_memory(SPACE, 0..LARGE);
    world.touch(SPACE, [13], true);
    let first = frames_of(&world, SPACE)[&13] - 13;
    // Single pages take all frames.
    let mut pages = Vec::new();
    for page in (512..).step_by(2) {
        world.map(OTHER, Backing::Anonymous, page..page + 1);
        if world.reference(OTHER, page, true).is_err() {
            break;
        }
        pages.push(page);
    }
    // Those at frames 8 to 11 of the extent go, and another object begins there.
    let frames = frames_of(&world, OTHER);
    let inside = first + 8..first + 12;
    let going: Vec<u64> = pages
        .into_iter()
        .filter(|page| frames.get(page).is_some_and(|frame| inside.contains(frame)))
        .collect();
    assert_eq!(going.len(), 4);
    for page in going {
        world.unmap(OTHER, page..page + 1);
    }
    world.map_shared_memory(SPACE, 64..68);
    world.touch(SPACE, [64], true);
    assert_eq!(frames_of(&world, SPACE)[&64], inside.start);
    // The frame of the first object goes back to its reservation, which ends.
    world.remove(SPACE, 0..LARGE);
    world.remove(SPACE, 64..68);
    assert_eq!(world.system.sample().reserved, 0);
}
