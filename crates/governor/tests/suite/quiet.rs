//! The cost of observation, and dry runs.

use crate::common::fake::{Call, FakeStep};
use crate::common::process::FakeProcess;
use crate::common::{BASE, FakeWorld, UNLIMITED};
use broadleaf_governor::{Budgets, ProcessId};
use std::collections::BTreeMap;

#[test]
fn a_process_in_which_nothing_happens_is_hardly_looked_at() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 100);
    (0..100).for_each(|block| world.fill(block, 40));
    let ticks = world.run_for(60);
    let looks = world.fake().calls[&Call::LivePages];
    assert!((6..=8).contains(&looks), "{looks}");
    assert!(ticks.len() < 150, "{}", ticks.len());
    // The process is read as soon as something happens.
    world.fill(0, 100);
    world.run_for(2);
    assert!(world.is_huge(0));
}

#[test]
fn a_governor_that_may_rest_looks_less_and_less_often() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 100);
    (0..100).for_each(|block| world.fill(block, 40));
    world
        .governor
        .rest_for_at_most(std::time::Duration::from_secs(10));
    let ticks = world.run_for(120);
    assert!(ticks.len() < 25, "{}", ticks.len());
    let looks = world.fake().calls[&Call::LivePages];
    assert!(looks <= 4, "{looks}");
    // The waits are short again as soon as something happens.
    world.fill(0, 100);
    world.run_for(1);
    assert!(world.is_huge(0));
    assert!(world.tick().wait < std::time::Duration::from_secs(1));
}

#[test]
fn what_a_program_gives_back_is_noticed_without_a_fault() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 2);
    world.fill(0, 100);
    world.run_for(20);
    world.purge(0, 0..10);
    world.run_for(2);
    assert_eq!(world.governor.ward().tally().broken_by_programs, 1);
}

#[test]
fn looking_at_memory_that_is_never_promoted_takes_no_more_than_it_may() {
    // 4 GiB whose blocks hold a quarter each, and a fault now and then.
    let mut world = FakeWorld::new("freebsd", Budgets::DEFAULT, 2048);
    (0..2048).for_each(|block| world.fill(block, 128));
    let (cpu, now) = (world.fake().cpu, world.fake().now);
    let until = now + std::time::Duration::from_secs(120);
    let mut at = 0;
    while world.fake().now < until {
        world.fill(at % 2048, 129 + at / 2048);
        world.tick();
        at += 1;
    }
    let (cpu, now) = (world.fake().cpu - cpu, world.fake().now - now);
    let share = cpu.as_secs_f64() / now.as_secs_f64();
    assert!(share <= 0.0055, "{share}");
    assert!(share >= 0.001, "{share} is hardly a look");
    assert_eq!(world.governor.spent().acting, std::time::Duration::ZERO);
}

#[test]
fn many_processes_that_do_nothing_cost_no_more_than_they_may() {
    let mut world = FakeWorld::new("freebsd", Budgets::DEFAULT, 1);
    (0..500).for_each(|_| world.step(FakeStep::Fork));
    let (cpu, now) = (world.fake().cpu, world.fake().now);
    world.run_for(120);
    let (cpu, now) = (world.fake().cpu - cpu, world.fake().now - now);
    let share = cpu.as_secs_f64() / now.as_secs_f64();
    assert!(share <= 0.0055, "{share}");
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_it_would_do() {
    let mut world = FakeWorld::dry("pop-64", UNLIMITED, 50);
    (0..50).for_each(|block| world.fill(block, 100));
    let state = |world: &mut FakeWorld| {
        let processes: &BTreeMap<ProcessId, FakeProcess> = &world.fake().processes;
        format!("{processes:?}")
    };
    let before = state(&mut world);
    let ticks = world.run_for(30);
    assert_eq!(state(&mut world), before);
    assert_eq!(ticks[0].plan.promotions(), 50);
    assert!(ticks.iter().all(|ticked| ticked.done.outcomes.is_empty()));
    for call in [Call::Collapse, Call::Split, Call::Shared] {
        assert_eq!(world.fake().calls.get(&call), None);
    }
    world.fake().pressure = Some(9000);
    world.step(FakeStep::Touch(BASE * 512..BASE * 512 + 101));
    world.run_for(30);
    assert_eq!(world.fake().calls.get(&Call::Split), None);
}
