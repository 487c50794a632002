//! The choice of blocks to promote.

use crate::common::fake::{Call, FakeStep};
use crate::common::{BASE, FakeWorld, UNLIMITED, anonymous};
use broadleaf_governor::{LiveBacking, LiveMapping};
use broadleaf_policy::Refusal;

#[test]
fn a_block_is_promoted_at_the_threshold() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 4);
    world.fill(0, 63);
    world.fill(1, 64);
    world.fill(2, 512);
    world.tick();
    assert!(!world.is_huge(0));
    assert!(world.is_huge(1) && world.is_huge(2));
    assert_eq!(world.refused(Refusal::TooFewResident), 1);
    world.fill(0, 64);
    world.tick();
    assert!(world.is_huge(0));
    assert!(!world.is_huge(3));
    let tally = world.governor.ward().tally();
    assert_eq!((tally.promotions, tally.demotions), (3, 0));
    assert_eq!(tally.huge_bytes_peak, 3 << 21);
}

#[test]
fn a_block_of_nothing_is_left_alone_though_the_kernel_would_promote_it() {
    let mut world = FakeWorld::new("greedy", UNLIMITED, 3);
    let first = BASE * 512;
    // The block has an empty page table from earlier.
    world.fill(0, 1);
    world.purge(0, 0..1);
    // The block has only the kernel's page of zeroes.
    world.step(FakeStep::Read(first + 512..first + 1024));
    world.run_for(30);
    assert_eq!(world.collapses(), 0);
    // A single page with a store makes the difference.
    world.fill(1, 1);
    world.run_for(1);
    assert!(world.is_huge(1) && !world.is_huge(0));
}

#[test]
fn no_policy_gets_a_superpage_of_zeroes_alone() {
    let mut world = FakeWorld::new("promote if populated + zero >= 8", UNLIMITED, 2);
    let first = BASE * 512;
    world.step(FakeStep::Read(first..first + 1024));
    world.fill(1, 1);
    world.run_for(30);
    assert!(world.is_huge(1) && !world.is_huge(0));
    assert_eq!(world.refused(Refusal::TooFewResident), 1);
}

#[test]
fn a_block_that_only_the_swap_holds_is_nothing_of_nothing() {
    let mut world = FakeWorld::new("promote if populated + swapped >= 8", UNLIMITED, 1);
    world.fill(0, 8);
    world.step(FakeStep::SwapOut(BASE * 512..BASE * 512 + 8));
    world.tick();
    assert!(world.is_huge(0));
}

#[test]
fn what_was_given_back_meanwhile_is_not_promoted() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 3);
    (0..3).for_each(|block| world.fill(block, 100));
    let (pid, first) = (world.program.pid, (BASE + 1) * 512);
    let purge = FakeStep::Purge(first..first + 60);
    world.fake().races.push((Call::Blocks, pid, purge));
    world.tick();
    assert!(world.is_huge(0) && world.is_huge(2));
    assert!(!world.is_huge(1));
    assert_eq!(world.refused(Refusal::Changed), 1);
    // The pages return, and nothing prevents the promotion.
    world.fill(1, 100);
    world.run_for(2);
    assert!(world.is_huge(1));
}

#[test]
fn what_a_fork_shares_is_promoted_when_the_child_has_gone() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 512));
    world.step(FakeStep::Fork);
    let before = world.fake().frames.used();
    world.run_for(30);
    assert_eq!(world.collapses(), 0);
    assert_eq!(world.fake().frames.used(), before);
    assert_eq!(
        world.refused(Refusal::TooManyShared),
        8,
        "of parent and child"
    );
    let child = *world.fake().processes.keys().max().unwrap();
    world.fake().step(child.pid, FakeStep::Exit);
    world.run_for(15);
    assert_eq!(world.huge(), 4);
}

#[test]
fn mappings_decide_which_blocks_there_are() {
    let mut world = FakeWorld::new("greedy", UNLIMITED, 1);
    let mapping = |blocks, backing, congruent| LiveMapping {
        backing,
        congruent,
        ..anonymous(blocks)
    };
    world.step(FakeStep::Map(mapping(10..12, LiveBacking::Shmem, false)));
    world.step(FakeStep::Map(mapping(20..22, LiveBacking::Shmem, true)));
    world.step(FakeStep::Map(mapping(30..32, LiveBacking::File, true)));
    world.step(FakeStep::Map(mapping(40..42, LiveBacking::Other, true)));
    // A boundary inside the block.
    let mut below = anonymous(50..51);
    below.end -= 4096;
    world.step(FakeStep::Map(below));
    for block in [10, 11, 20, 21, 30, 31, 40, 41, 50] {
        world.fill(block, 400);
    }
    world.run_for(10);
    let is_huge: Vec<_> = (0..60).filter(|block| world.is_huge(*block)).collect();
    assert_eq!(is_huge, [20, 21]);
    assert_eq!(world.refused(Refusal::Incongruent), 2);
    assert_eq!(world.refused(Refusal::FileBacked), 2);
    assert_eq!(world.fake().calls[&Call::Collapse], 1, "nothing in vain");
}

#[test]
fn neighbours_are_asked_for_at_once_and_each_has_its_own_answer() {
    let mut world = FakeWorld::new("greedy", UNLIMITED, 40);
    (0..40).for_each(|block| world.fill(block, 100));
    let pid = world.program.pid;
    for block in [3, 7] {
        world
            .fake()
            .refuse
            .insert((pid, BASE + block), (libc::EINVAL, 9));
    }
    let ticked = world.tick();
    assert_eq!(world.huge(), 38);
    assert_eq!(world.refused(Refusal::NotCollapsible), 2);
    assert_eq!(ticked.done.outcomes.len(), 40);
    // There are three runs, and a retry of two blocks.
    assert_eq!(world.fake().calls[&Call::Collapse], 5);
}
