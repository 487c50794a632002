//! Gather (Talluri 1995, section 6.4): the pages of a block are copied into one extent. The copies,
//! the cycles and the frames are compared with a list of pages.

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Costs, Spec};
use broadleaf_units::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};

/// The pages of a block.
const BLOCK: u64 = 16;
const FRAMES: u64 = 256;
/// The KiB of a base page.
const KIB: u64 = 4;

fn small_spec() -> Spec {
    Spec {
        swap: 0,
        ..spec(&[0, 4], FRAMES)
    }
}

fn frames_of(world: &TestMemory<'_>) -> BTreeMap<u64, u64> {
    let pages = world.system.frames_of_pages();
    pages.map(|(at, frame)| (at.page, frame)).collect()
}

#[test]
fn a_block_in_use_before_it_could_be_reserved_is_gathered_when_it_is_full() {
    for (name, promoted) in [("foxtrot", 0), ("foxtrot(gather=yes)", 1)] {
        let policy = policy(name);
        let mut world = TestMemory::new(policy.as_ref(), &small_spec());
        // Half a block is mapped, so that nothing can be reserved. Then the mapping grows.
        world.map(SPACE, Backing::Anonymous, 0..8);
        world.touch(SPACE, 0..8, true);
        world.map(SPACE, Backing::Anonymous, 8..16);
        world.touch(SPACE, 8..16, true);
        assert_eq!(world.counters().promotions, promoted, "{name}");
        assert_eq!(world.counters().copied, promoted * BLOCK, "{name}");
    }
}

/// Blocks whose mapping began in the middle, in random order, against a list of the pages.
#[test]
fn copies_and_cycles_are_those_of_the_pages_that_were_apart() {
    let policy = policy("foxtrot(gather=yes,heap=50)");
    let costs = Costs::default();
    let (mut gathered, mut in_place) = (0, 0);
    for seed in 0..40 {
        let mut rng = SplitMix64::new(seed);
        let mut world = TestMemory::new(policy.as_ref(), &small_spec());
        // Even blocks are mapped in two steps. Their first pages lie in no reservation.
        let mut early: BTreeSet<u64> = BTreeSet::new();
        for block in (0..6).step_by(2) {
            let from = block * BLOCK;
            let some = 1 + rng.below(7);
            world.map(SPACE, Backing::Anonymous, from..from + some);
            world.touch(SPACE, from..from + some, true);
            early.extend(from..from + some);
            world.map(SPACE, Backing::Anonymous, from + some..from + BLOCK);
        }
        for block in (1..6).step_by(2) {
            world.map(
                SPACE,
                Backing::Anonymous,
                block * BLOCK..(block + 1) * BLOCK,
            );
        }
        let mut resident = early.clone();
        let mut promoted: BTreeSet<u64> = BTreeSet::new();
        let (mut copies, mut copy_cycles) = (0, 0);
        for _ in 0..60 {
            let page = rng.below(6 * BLOCK);
            if resident.contains(&page) {
                continue;
            }
            world.touch(SPACE, page..page + 1, true);
            resident.insert(page);
            let block = page / BLOCK;
            let of_block = block * BLOCK..(block + 1) * BLOCK;
            let count = resident.range(of_block.clone()).count() as u64;
            if count * 2 < BLOCK {
                continue;
            }
            assert!(promoted.insert(block), "seed {seed}: once");
            resident.extend(of_block.clone());
            let missing = BLOCK - count;
            if block.is_multiple_of(2) {
                gathered += 1;
                copies += count;
                // Section 6.2.2, with one mapping of each page.
                let parts = costs.find
                    + costs.lock
                    + costs.free
                    + costs.invalidate
                    + costs.shootdown
                    + KIB * costs.copy_kib;
                copy_cycles +=
                    count * parts + costs.extent + missing * KIB * costs.zero_kib + costs.promotion;
            } else {
                in_place += 1;
            }
            let frames = frames_of(&world);
            let first = frames[&of_block.start];
            assert_eq!(first % BLOCK, 0, "seed {seed}: an aligned extent");
            for (page, frame) in of_block.zip(first..) {
                assert_eq!(frames[&page], frame, "seed {seed}: page {page}");
            }
        }
        let counters = world.counters();
        assert_eq!(counters.promotions, promoted.len() as u64, "seed {seed}");
        assert_eq!(counters.copied, copies, "seed {seed}");
        assert_eq!(counters.copy_cycles, copy_cycles, "seed {seed}");
        let distinct: BTreeSet<u64> = frames_of(&world).into_values().collect();
        assert_eq!(
            distinct.len(),
            resident.len(),
            "seed {seed}: one frame each"
        );
    }
    assert!(gathered > 20 && in_place > 20, "{gathered}, {in_place}");
}
