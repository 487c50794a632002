//! Policies that weigh the use of blocks.

use crate::common::{FakeWorld, UNLIMITED};
use broadleaf_governor::{Allowance, Budgets};
use broadleaf_policy::Refusal;

/// The blocks of the program.
const BLOCKS: u64 = 30;

/// A program whose blocks are all full, under a policy that weighs use.
fn world() -> FakeWorld {
    let mut world = FakeWorld::new("hawkeye", UNLIMITED, BLOCKS);
    (0..BLOCKS).for_each(|block| world.fill(block, 512));
    world
}

/// The blocks that are superpages.
fn huge(world: &mut FakeWorld) -> Vec<u64> {
    (0..BLOCKS).filter(|block| world.is_huge(*block)).collect()
}

/// A measurement in which a third of the blocks was used, from a block on.
fn hot_third(from: u64) -> impl Iterator<Item = (u64, u16)> {
    let hot = from..from + BLOCKS / 3;
    (0..BLOCKS).map(move |block| (block, if hot.contains(&block) { 400 } else { 0 }))
}

#[test]
fn the_hot_third_is_promoted_and_nothing_before_the_first_measurement() {
    // The hot third moves, so that no choice is right by luck.
    for from in [0, 10, 20] {
        let mut world = world();
        world.run_for(30);
        assert_eq!(world.collapses(), 0, "nothing is known yet");
        assert_eq!(world.refused(Refusal::RarelyReferenced), 0);
        world.measure(hot_third(from));
        world.tick();
        let hot: Vec<u64> = (from..from + BLOCKS / 3).collect();
        assert_eq!(huge(&mut world), hot);
        for _ in 0..20 {
            world.measure(hot_third(from));
            world.run_for(2);
        }
        assert_eq!(huge(&mut world), hot, "cold blocks stay");
        assert_eq!(world.refused(Refusal::RarelyReferenced), BLOCKS - 10);
        assert_eq!(world.governor.ward().tally().demotions, 0);
    }
}

#[test]
fn a_block_that_becomes_hot_is_promoted_at_the_next_measurement() {
    let mut world = world();
    world.measure((0..BLOCKS).map(|block| (block, 0)));
    world.run_for(5);
    assert_eq!(world.collapses(), 0);
    world.measure((0..BLOCKS).map(|block| (block, u16::from(block == 7))));
    world.run_for(1);
    assert_eq!(huge(&mut world), [7]);
}

#[test]
fn a_budget_goes_to_the_hottest_blocks() {
    let budgets = Budgets {
        added: Allowance::Bytes(2 << 20),
        ..Budgets::DEFAULT
    };
    let mut world = FakeWorld::new("hawkeye", budgets, BLOCKS);
    // Each superpage adds 1 MiB. The cooler blocks come first by number.
    (0..BLOCKS).for_each(|block| world.fill(block, 256));
    world.measure((0..BLOCKS).map(|block| match block {
        17 | 29 => (block, 256),
        _ => (block, 60),
    }));
    world.run_for(2);
    assert_eq!(huge(&mut world), [17, 29]);
    assert!(world.refused(Refusal::OverBudget) > 0);
}

#[test]
fn a_process_that_cannot_be_measured_any_more_has_no_hot_blocks() {
    for (is_lost, promoted) in [(false, 5), (true, 0)] {
        let mut world = world();
        // While memory is short, nothing is promoted.
        world.fake().elsewhere = 16 << 30;
        world.measure((0..5).map(|block| (block, 400)));
        world.run_for(2);
        if is_lost {
            // The sampler's answer if it failed for long: a measurement without blocks.
            world.measure([]);
            world.run_for(2);
        }
        assert_eq!(world.collapses(), 0);
        world.fake().elsewhere = 0;
        world.run_for(120);
        assert_eq!(world.collapses(), promoted);
    }
}
