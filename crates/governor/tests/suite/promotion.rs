//! Which blocks become superpages, and which never do.

use crate::common::fake::{Call, Step};
use crate::common::{BASE, UNLIMITED, World, anonymous};
use broadleaf_governor::{Behind, Mapping};
use broadleaf_policy::Refusal;

#[test]
fn a_block_is_promoted_at_the_threshold() {
    let mut world = World::new("pop-64", UNLIMITED, 4);
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
    let mut world = World::new("greedy", UNLIMITED, 3);
    let first = BASE * 512;
    // An empty page table, left over.
    world.fill(0, 1);
    world.purge(0, 0..1);
    // The kernel's page of zeroes alone.
    world.step(Step::Read(first + 512..first + 1024));
    world.run_for(30);
    assert_eq!(world.collapses(), 0);
    // A single page that was stored to makes the difference.
    world.fill(1, 1);
    world.run_for(1);
    assert!(world.is_huge(1) && !world.is_huge(0));
}

#[test]
fn no_policy_gets_a_superpage_of_zeroes_alone() {
    let mut world = World::new("promote if populated + zero >= 8", UNLIMITED, 2);
    let first = BASE * 512;
    world.step(Step::Read(first..first + 1024));
    world.fill(1, 1);
    world.run_for(30);
    assert!(world.is_huge(1) && !world.is_huge(0));
    assert_eq!(world.refused(Refusal::TooFewResident), 1);
}

#[test]
fn a_block_that_only_the_swap_holds_is_nothing_of_nothing() {
    let mut world = World::new("promote if populated + swapped >= 8", UNLIMITED, 1);
    world.fill(0, 8);
    world.step(Step::SwapOut(BASE * 512..BASE * 512 + 8));
    world.tick();
    assert!(world.is_huge(0));
}

#[test]
fn what_was_given_back_meanwhile_is_not_promoted() {
    let mut world = World::new("pop-64", UNLIMITED, 3);
    (0..3).for_each(|block| world.fill(block, 100));
    let (pid, first) = (world.program.pid, (BASE + 1) * 512);
    let purge = Step::Purge(first..first + 60);
    world.fake().races.push((Call::Blocks, pid, purge));
    world.tick();
    assert!(world.is_huge(0) && world.is_huge(2));
    assert!(!world.is_huge(1));
    assert_eq!(world.refused(Refusal::Changed), 1);
    // It comes back, and nothing is in the way.
    world.fill(1, 100);
    world.run_for(2);
    assert!(world.is_huge(1));
}

#[test]
fn what_a_fork_shares_is_promoted_when_the_child_has_gone() {
    let mut world = World::new("pop-64", UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 512));
    world.step(Step::Fork);
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
    world.fake().step(child.pid, Step::Exit);
    world.run_for(15);
    assert_eq!(world.huge(), 4);
}

#[test]
fn mappings_decide_which_blocks_there_are() {
    let mut world = World::new("greedy", UNLIMITED, 1);
    let mapping = |blocks, behind, congruent| Mapping {
        behind,
        congruent,
        ..anonymous(blocks)
    };
    world.step(Step::Map(mapping(10..12, Behind::Shmem, false)));
    world.step(Step::Map(mapping(20..22, Behind::Shmem, true)));
    world.step(Step::Map(mapping(30..32, Behind::File, true)));
    world.step(Step::Map(mapping(40..42, Behind::Other, true)));
    // A boundary inside of the block.
    let mut below = anonymous(50..51);
    below.end -= 4096;
    world.step(Step::Map(below));
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
    let mut world = World::new("greedy", UNLIMITED, 40);
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
    // Three runs, and the two again.
    assert_eq!(world.fake().calls[&Call::Collapse], 5);
}
