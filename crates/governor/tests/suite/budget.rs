//! The memory budget: its limit, the choice of blocks, and demotions if memory is short.

use crate::common;
use crate::common::fake::FakeStep;
use crate::common::{BASE, FakeWorld, MIB};
use broadleaf_governor::{Allowance, Budgets, Came, Ticked};
use broadleaf_policy::Refusal;

const BLOCK: u64 = 2 * MIB;

fn allowing(added: Allowance) -> Budgets {
    Budgets {
        added,
        ..Budgets::DEFAULT
    }
}

fn demoted(ticks: &[Ticked]) -> usize {
    let outcomes = ticks.iter().flat_map(|ticked| &ticked.done.outcomes);
    let demoted = |came: Came| matches!(came, Came::Demoted(_));
    outcomes.filter(|outcome| demoted(outcome.came)).count()
}

#[test]
fn the_fullest_come_first() {
    // Eight blocks with 64, 128, ... pages. There is room for the last four: 4 KiB times 0 + 64 +
    // 128 + 192.
    let mut world = FakeWorld::new("pop-64", allowing(Allowance::Bytes(384 * 4096)), 8);
    (0..8).for_each(|block| world.fill(block, (block + 1) * 64));
    world.run_for(10);
    let huge: Vec<_> = (0..8).filter(|block| world.is_huge(*block)).collect();
    assert_eq!(huge, [4, 5, 6, 7]);
    assert_eq!(world.refused(Refusal::OverBudget), 4);
    assert_eq!(world.governor.ward().tally().added_bytes_peak, 384 * 4096);
}

#[test]
fn full_blocks_need_no_budget() {
    let mut world = FakeWorld::new("pop-64", allowing(Allowance::Bytes(0)), 8);
    (0..8).for_each(|block| world.fill(block, 511 + block % 2));
    world.run_for(10);
    assert_eq!(world.huge(), 4);
}

#[test]
fn a_share_is_of_what_would_be_held_without() {
    // 100 blocks, half full: 10 % of 100 MiB is ten of them.
    let mut world = FakeWorld::new("pop-64", Budgets::DEFAULT, 100);
    (0..100).for_each(|block| world.fill(block, 256));
    world.run_for(60);
    assert_eq!(world.huge(), 10);
    assert_eq!(demoted(&world.run_for(60)), 0);
}

#[test]
fn a_program_that_shrinks_loses_the_emptiest_first() {
    let mut world = FakeWorld::new("pop-64", Budgets::DEFAULT, 200);
    (0..100).for_each(|block| world.fill(block, 512));
    (100..200).for_each(|block| world.fill(block, 512 - (block - 100)));
    world.run_for(10);
    let added = world.governor.ward().added_bytes();
    assert_eq!(added, (0..100).sum::<u64>() * 4096, "all fit");
    // 376 MiB become 176 MiB. The 19 MiB of superpages exceed a tenth of that.
    for block in 0..100 {
        world.purge(block, 0..512);
    }
    let ticks = world.run_for(10);
    let allowed = (world.fake().rss_bytes() - world.governor.ward().added_bytes()) / 10;
    assert!(world.governor.ward().added_bytes() <= allowed);
    assert!(demoted(&ticks) >= 3);
    let huge: Vec<_> = (100..200).filter(|block| world.is_huge(*block)).collect();
    assert_eq!(huge, (100..100 + huge.len() as u64).collect::<Vec<_>>());
    // No more than necessary is demoted.
    let next = (huge.len() as u64) * 4096;
    assert!(world.governor.ward().added_bytes() + next + next > allowed);
    assert_eq!(demoted(&world.run_for(60)), 0, "and that was it");
}

/// Creates a world with a hundred superpages from blocks of 100 pages.
fn bloated() -> FakeWorld {
    let mut world = FakeWorld::new("pop-64", common::UNLIMITED, 200);
    (0..100).for_each(|block| world.fill(block, 100));
    world.run_for(20);
    assert_eq!(world.huge(), 100);
    assert_eq!(world.fake().filled_bytes(), 100 * 412 * 4096);
    world
}

#[test]
fn what_was_added_is_given_back_when_processes_wait_for_memory() {
    let mut world = bloated();
    world.fake().pressure = Some(1000);
    (100..120).for_each(|block| world.fill(block, 512));
    world.run_for(5);
    assert!(world.fake().filled_bytes() <= 10 * 412 * 4096);
    assert_eq!(
        world.huge(),
        0,
        "and nothing is promoted, though some were full"
    );
    assert_eq!(world.refused(Refusal::MemoryShort), 20);
    assert!(world.governor.ward().tally().returned_bytes >= 90 * 412 * 4096);
    world.fake().pressure = Some(0);
    world.run_for(5);
    assert_eq!(world.huge(), 20, "those that were not broken");
}

#[test]
fn after_a_shortage_nothing_that_adds_memory_is_promoted_for_a_while() {
    let mut world = bloated();
    (100..120).for_each(|block| world.fill(block, 300));
    world.fake().pressure = Some(1000);
    world.run_for(5);
    world.fake().pressure = Some(0);
    world.run_for(8);
    assert_eq!(world.huge(), 0);
    world.run_for(20);
    assert_eq!(world.huge(), 120);
}

#[test]
fn what_was_added_is_given_back_as_far_as_memory_is_short() {
    let mut world = bloated();
    let free = world.fake().free_bytes();
    // 256 MiB must stay available, and 40 MiB of them are taken.
    world.fake().elsewhere += free - (216 << 20);
    world.run_for(5);
    let free = world.fake().free_bytes();
    assert!(free >= 256 << 20, "{free}");
    assert!(free < (256 << 20) + BLOCK, "{free}");
    let tally = world.governor.ward().tally();
    assert_eq!(tally.demotions, (40 * MIB).div_ceil(412 * 4096));
}

#[test]
fn what_was_added_is_given_back_as_far_as_a_cgroup_is_short() {
    let mut world = bloated();
    let used = world.fake().frames.used() * 4096;
    world.fake().limit = Some(used);
    world.run_for(5);
    let left = world.fake().limit.unwrap() - world.fake().frames.used() * 4096;
    assert!(left >= used / 50 && left < used / 50 + BLOCK, "{left}");
}

#[test]
fn promotions_never_make_memory_short() {
    let mut world = FakeWorld::new("pop-64", common::UNLIMITED, 400);
    (0..400).for_each(|block| world.fill(block, 100));
    let free = world.fake().free_bytes();
    world.fake().elsewhere = free - (300 << 20);
    let ticks = world.run_for(60);
    let free = world.fake().free_bytes();
    assert!(free >= 256 << 20, "{free}");
    assert!(world.huge() >= 20);
    assert_eq!(demoted(&ticks), 0);
}

#[test]
fn promoting_and_demoting_do_not_alternate() {
    // Another program takes 64 MiB and returns them, every two seconds for ten minutes.
    let mut world = bloated();
    let before = world.governor.ward().tally().promotions;
    let free = world.fake().free_bytes();
    world.fake().elsewhere = free - (270 << 20);
    for _ in 0..150 {
        world.fake().elsewhere += 64 * MIB;
        world.run_for(2);
        world.fake().elsewhere -= 64 * MIB;
        world.run_for(2);
    }
    let tally = world.governor.ward().tally();
    let (promotions, demotions) = (tally.promotions - before, tally.demotions);
    // 50 MiB are missing each time, which is 32 superpages.
    assert!(demotions >= 31, "{demotions}");
    assert!(promotions <= 32 * 7, "{promotions} promotions");
    assert!(demotions <= 32 * 8, "{demotions} demotions");
}

#[test]
fn a_policy_may_break_superpages_that_added_nothing() {
    let policy = "promote if populated >= 64; demote if memory_short and populated == 512";
    let mut world = FakeWorld::new(policy, common::UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 512));
    world.run_for(2);
    assert_eq!(world.huge(), 4);
    world.fake().pressure = Some(9000);
    world.run_for(1);
    assert_eq!(world.huge(), 0);
    // Nothing was added, so no other policy demotes them.
    let mut world = FakeWorld::new("pop-64", common::UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 512));
    world.run_for(2);
    world.fake().pressure = Some(9000);
    world.run_for(60);
    assert_eq!(world.huge(), 4);
    world.step(FakeStep::Touch(BASE * 512..BASE * 512 + 1));
}
