//! A program whose allocator returns pages, and a governor that does not fight the allocator.

use crate::common;
use crate::common::{BASE, FakeWorld, UNLIMITED};
use broadleaf_policy::Refusal;

/// Numbers that look random, the same ones each time.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn an_allocator_that_gives_pages_back_is_not_fought() {
    let blocks = 50;
    let mut world = FakeWorld::new("pop-64", UNLIMITED, blocks);
    let mut number = numbers();
    // What would be resident without superpages.
    let mut wanted = 0;
    for block in 0..blocks {
        let pages = 400 + number(113);
        world.fill(block, pages);
        wanted += pages;
    }
    world.run_for(5);
    assert_eq!(world.huge(), blocks as usize);
    let mut holes = vec![[false; 512]; blocks as usize];
    for _ in 0..60 {
        for block in 0..blocks {
            let at = number(390) as usize;
            for (page, hole) in holes[block as usize]
                .iter_mut()
                .enumerate()
                .skip(at)
                .take(6)
            {
                world.purge(block, page as u64..page as u64 + 1);
                wanted -= u64::from(!std::mem::replace(hole, true));
            }
        }
        world.run_for(1);
    }
    let most = world.fake().collapses.values().copied().max();
    assert!(most <= Some(2), "{most:?} promotions of one block");
    let used = world.fake().frames.used();
    assert!(
        used * 100 <= wanted * 103,
        "{used} frames, where {wanted} would do"
    );
    assert!(world.refused(Refusal::SplitByProgram) >= blocks);
}

#[test]
fn what_a_superpage_added_is_given_back_when_the_program_breaks_it() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    world.fill(0, 100);
    world.run_for(1);
    assert_eq!(world.fake().frames.used(), 512);
    // The rest stays resident as base pages, though the program does not need it.
    world.purge(0, 0..1);
    assert_eq!(world.fake().frames.used(), 511);
    world.run_for(2);
    assert_eq!(world.fake().frames.used(), 99);
    let tally = world.governor.ward().tally();
    assert_eq!((tally.demotions, tally.broken_by_programs), (0, 1));
    assert_eq!(tally.returned_bytes, 412 * 4096);
    assert_eq!(world.governor.ward().added_bytes(), 0);
}

/// The kernel keeps a partly returned superpage and its memory until a split.
#[test]
fn a_block_that_was_full_and_broken_is_split_once_and_then_left_alone() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    world.fill(0, 512);
    world.run_for(1);
    world.purge(0, 0..100);
    world.run_for(30);
    assert_eq!(world.fake().calls.get(&common::fake::Call::Split), Some(&1));
}

#[test]
fn a_superpage_that_is_broken_with_all_its_pages_teaches_nothing() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    world.fill(0, 512);
    world.run_for(1);
    assert!(world.is_huge(0));
    world.break_whole(0);
    world.run_for(2);
    // A store to what a fork shared, or the kernel itself: the program gave nothing back.
    assert_eq!(world.governor.ward().tally().broken_by_programs, 0);
    assert!(world.is_huge(0));
}

#[test]
fn a_block_that_is_full_again_is_promoted_again_after_growing_waits() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    let mut waits = Vec::new();
    for _ in 0..7 {
        world.fill(0, 512);
        let from = world.fake().now;
        while !world.is_huge(0) {
            world.tick();
        }
        waits.push((world.fake().now - from).as_secs());
        world.purge(0, 3..5);
        world.run_for(1);
    }
    assert_eq!(waits[0], 0);
    assert!(waits.windows(2).all(|two| two[0] <= two[1]), "{waits:?}");
    assert!(waits[6] >= 30, "{waits:?}");
    // Nearly full is not full.
    world.fill(0, 511);
    world.purge(0, 511..512);
    world.run_for(2000);
    assert!(!world.is_huge(0));
}

#[test]
fn all_given_back_is_remembered_of_an_allocator_that_gave_back_parts() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 2);
    for block in 0..2 {
        world.fill(block, 512);
    }
    world.run_for(1);
    world.purge(0, 0..1);
    world.run_for(1);
    // One by parts, and one at once.
    world.purge(0, 0..512);
    world.purge(1, 0..512);
    world.run_for(60);
    for block in 0..2 {
        world.fill(block, 300);
    }
    world.run_for(60);
    let pid = world.program.pid;
    assert_eq!(world.fake().collapses[&(pid, BASE)], 1);
    assert_eq!(world.fake().collapses[&(pid, BASE + 1)], 2);
    assert_eq!(world.governor.ward().tally().given_back, 1);
}
