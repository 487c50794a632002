//! Early restart against a slow model, and what ends a stream (Talluri 1995, section 6.2.3).

use crate::common::*;
use broadleaf_memory::Backing;
use broadleaf_memory::system::{Costs, Files, Spec};
use broadleaf_units::{FileId, SplitMix64};
use std::collections::BTreeMap;

/// The pages of a block.
const BLOCK: u64 = 16;
const HEAP: Backing = Backing::Anonymous;
const EARLY: &str = "foxtrot(restart=early,heap=50)";

fn small_spec() -> Spec {
    spec(&[0, 4], 512)
}

/// The accesses until the missing pages have arrived, at 1e9 accesses and 3e9 cycles a second.
fn accesses(cycles: u64) -> u64 {
    (cycles / 3).max(1)
}

#[test]
fn a_stream_ends_with_the_memory_that_it_is_for() {
    let policy = policy(EARLY);
    let arrival = accesses(8 * 4 * Costs::default().zero_kib);
    for (given_back, promotions) in [(0..0, 1), (0..BLOCK, 0), (3..4, 0)] {
        let mut world = TestMemory::new(policy.as_ref(), &small_spec());
        world.map(SPACE, HEAP, 0..BLOCK);
        world.touch(SPACE, 0..8, true);
        if !given_back.is_empty() {
            world.unmap(SPACE, given_back.clone());
            world.map(SPACE, HEAP, given_back);
        }
        world.touch(SPACE, [7], true);
        world.pass(arrival);
        assert_eq!(world.counters().promotions, promotions);
    }
}

#[test]
fn nothing_is_awaited_that_costs_nothing() {
    // Files in the kernel's memory need no disk, so there is nothing to wait for.
    for (files, promotions) in [(Files::OnDisk, 0), (Files::InMemory, 1)] {
        let policy = policy("foxtrot(restart=early)");
        let spec = Spec {
            files,
            ..small_spec()
        };
        let mut world = TestMemory::new(policy.as_ref(), &spec);
        world.spaces.file(FileId(0), 1 << 30);
        world.map(SPACE, FILE, 0..BLOCK);
        world.touch(SPACE, 0..8, false);
        assert_eq!(world.counters().promotions, promotions, "{files:?}");
    }
}

#[test]
fn a_block_that_the_program_completes_is_promoted_at_once() {
    let policy = policy(EARLY);
    let mut world = TestMemory::new(policy.as_ref(), &small_spec());
    world.map(SPACE, HEAP, 0..BLOCK);
    world.touch(SPACE, 0..BLOCK - 1, true);
    assert_eq!(world.counters().promotions, 0);
    world.touch(SPACE, [BLOCK - 1], true);
    assert_eq!(world.counters().promotions, 1);
    world.pass(1 << 30);
    assert_eq!(world.counters().promotions, 1);
}

/// Random stores and pauses, against a map of the touched pages and the arrivals of each block.
#[test]
fn promotions_come_when_the_rest_has_arrived() {
    const BLOCKS: u64 = 6;
    let zero = 4 * Costs::default().zero_kib;
    let policy = policy(EARLY);
    let mut promotions = 0;
    for seed in 0..40 {
        let mut rng = SplitMix64::new(seed);
        let mut world = TestMemory::new(policy.as_ref(), &small_spec());
        world.map(SPACE, HEAP, 0..BLOCKS * BLOCK);
        // The touched pages of each block as bits, when its rest arrives, and if it is one page.
        let mut blocks: BTreeMap<u64, (u16, Option<u64>, bool)> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..150 {
            now += rng.below(300);
            for (_, due, is_one) in blocks.values_mut() {
                *is_one |= due.is_some_and(|due| due <= now);
            }
            let page = rng.below(BLOCKS * BLOCK);
            world.pass(now);
            world.touch(SPACE, [page], true);
            let (touched, due, is_one) = blocks.entry(page / BLOCK).or_default();
            *touched |= 1 << (page % BLOCK);
            let missing = touched.count_zeros();
            *is_one |= missing == 0;
            if missing <= 8 && due.is_none() {
                *due = Some(now + accesses(u64::from(missing) * zero));
            }
            let expected = blocks.values().filter(|(.., is_one)| *is_one).count();
            assert_eq!(world.counters().promotions, expected as u64, "seed {seed}");
        }
        promotions += world.counters().promotions;
    }
    assert!(promotions > 100, "{promotions} promotions");
}
