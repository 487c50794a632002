//! The time that a program may wait for a superpage is measured, and bounded if the user sets a
//! limit.

use crate::common::fake::Call;
use crate::common::{FakeWorld, UNLIMITED};
use broadleaf_governor::Budgets;
use broadleaf_policy::Refusal;
use std::time::Duration;

fn world(longest: Option<Duration>, blocks: u64) -> FakeWorld {
    let budgets = Budgets {
        longest_stall: longest,
        ..UNLIMITED
    };
    let mut world = FakeWorld::new("greedy", budgets, blocks);
    (0..blocks).for_each(|block| world.fill(block, 100));
    world
}

#[test]
fn every_call_counts() {
    let mut world = world(None, 40);
    world.tick();
    let stalls = world.governor.stalls();
    assert_eq!(world.huge(), 40);
    assert_eq!(stalls.count, world.fake().calls[&Call::Collapse]);
    // 0.1 ms for each block, and 0.9 us for each page.
    assert!(
        stalls.total >= Duration::from_micros(40 * 190),
        "{stalls:?}"
    );
    assert!(stalls.longest <= stalls.total && stalls.p99 <= stalls.longest);
    assert!(
        stalls.longest >= Duration::from_micros(16 * 190),
        "{stalls:?}"
    );
    assert_eq!(stalls.too_long, 0);
    // Demotions count as well.
    world.fake().pressure = Some(9000);
    world.run_for(1);
    assert_eq!(world.governor.stalls().count, stalls.count + 40);
}

#[test]
fn a_limit_makes_calls_smaller() {
    let longest = Duration::from_micros(700);
    let mut world = world(Some(longest), 40);
    world.run_for(5);
    let stalls = world.governor.stalls();
    assert_eq!(world.huge(), 40);
    assert!(stalls.longest <= longest, "{stalls:?}");
    assert_eq!(stalls.too_long, 0);
    // One block at first, and then three at a time.
    assert!((14..=20).contains(&stalls.count), "{stalls:?}");
}

#[test]
fn a_block_that_takes_too_long_stops_the_rest_for_a_while() {
    let longest = Duration::from_millis(2);
    let mut world = world(Some(longest), 40);
    world.fake().micros = 3000.0;
    world.tick();
    let stalls = world.governor.stalls();
    assert_eq!((world.huge(), stalls.count, stalls.too_long), (1, 1, 1));
    assert_eq!(world.refused(Refusal::StallTooLong), 39);
    world.run_for(60);
    // Calls after 1, 2, 4, 8, 16 and 32 seconds, each delayed by the waits of the stall limit.
    let calls = world.governor.stalls().count;
    assert!((3..=8).contains(&calls), "{calls}");
    // When blocks are quick again, all are promoted.
    world.fake().micros = 100.0;
    world.run_for(120);
    assert_eq!(world.huge(), 40);
}
