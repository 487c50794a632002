//! A budget holds across restarts of a governor, because found superpages count.

use crate::common::fake::{Fake, FakeStep};
use crate::common::{BASE, FakeWorld, MIB, anonymous};
use broadleaf_governor::{Allowance, Budgets, Governor, Kernel, ProcessTree, Ward};
use broadleaf_policy::Refusal;

const BLOCK: u64 = 2 * MIB;
const PAGE: u64 = 4096;

fn budgets(added: Allowance) -> Budgets {
    Budgets {
        added,
        ..Budgets::DEFAULT
    }
}

/// Runs the same kernel and program under a new governor without the old one's state.
fn restarted(mut world: FakeWorld, policy: &str, budgets: Budgets) -> FakeWorld {
    let kernel = std::mem::replace(world.fake(), Fake::new(0));
    let ward = Ward::new(broadleaf_policy::parse(policy).unwrap(), budgets);
    let program = world.program;
    FakeWorld {
        governor: Governor::new(kernel, ward, ProcessTree::of([program]), false),
        program,
    }
}

/// Creates two hundred blocks of 256 pages each.
fn half_full(budgets: Budgets) -> FakeWorld {
    let mut world = FakeWorld::new("pop-64", budgets, 200);
    (0..200).for_each(|block| world.fill(block, 256));
    world
}

#[test]
fn after_six_restarts_a_budget_is_what_it_was() {
    for added in [Allowance::Share(1000), Allowance::Bytes(20 * MIB)] {
        let budgets = budgets(added);
        let mut world = half_full(budgets);
        world.run_for(20);
        let first = world.fake().added_bytes();
        assert_eq!(first, 20 * MIB, "the budget is used");
        for _ in 0..6 {
            world = restarted(world, "pop-64", budgets);
            world.run_for(20);
            let added = world.fake().added_bytes();
            assert!(added <= first + BLOCK, "{added} after {first}");
            assert_eq!(world.huge(), 20, "and nothing was broken");
        }
        assert_eq!(world.refused(Refusal::OverBudget), 180);
        // Full blocks add nothing.
        (100..200).for_each(|block| world.fill(block, 512));
        world.run_for(20);
        assert_eq!(world.huge(), 120);
    }
}

#[test]
fn superpages_that_the_program_asked_for_do_not_count() {
    let budgets = budgets(Allowance::Bytes(10 * MIB));
    let mut world = half_full(budgets);
    world.run_for(20);
    assert_eq!(world.huge(), 10);
    world = restarted(world, "pop-64", budgets);
    world.fake().asked = vec![BASE..BASE + 100, BASE + 100..BASE + 200];
    world.run_for(20);
    assert_eq!(world.huge(), 20);
    assert_eq!(world.governor.ward().charged_bytes(), 10 * MIB);
}

#[test]
fn a_superpage_of_another_governor_counts_with_its_added_bytes() {
    let mut world = half_full(budgets(Allowance::Bytes(0)));
    world.run_for(1);
    assert_eq!(world.governor.ward().charged_bytes(), 0);
    let program = world.program;
    let made = world.fake().collapse(program, BASE..BASE + 4);
    assert_eq!(made, Ok(()));
    world.run_for(11);
    assert_eq!(world.governor.ward().charged_bytes(), 4 * 256 * PAGE);
    assert_eq!(world.governor.ward().added_bytes(), 0);
}

#[test]
fn what_was_charged_ends_with_the_memory() {
    let budgets = budgets(Allowance::Bytes(20 * MIB));
    let mut world = half_full(budgets);
    world.run_for(20);
    world = restarted(world, "pop-64", budgets);
    world.run_for(1);
    assert_eq!(world.governor.ward().charged_bytes(), 20 * BLOCK);
    // The program returns most of five blocks, and five whole blocks.
    let huge: Vec<u64> = (0..200).filter(|block| world.is_huge(*block)).collect();
    for block in &huge[..5] {
        world.purge(*block, 100..512);
    }
    for block in &huge[5..10] {
        world.purge(*block, 0..512);
    }
    world.run_for(11);
    let charged = 10 * BLOCK + 5 * 100 * PAGE;
    assert_eq!(world.governor.ward().charged_bytes(), charged);
}

#[test]
fn the_rest_of_found_superpages_is_charged_but_not_called_added() {
    let mut world = half_full(budgets(Allowance::Bytes(20 * MIB)));
    world.run_for(20);
    world = restarted(world, "pop-512", budgets(Allowance::Bytes(64 * MIB)));
    world.run_for(1);
    let huge: Vec<u64> = (0..200).filter(|block| world.is_huge(*block)).collect();
    assert_eq!(huge.len(), 20);
    for block in &huge {
        world.break_whole(*block);
    }
    world.tick();
    let ward = world.governor.ward();
    assert_eq!(ward.charged_bytes(), 20 * BLOCK);
    assert_eq!(ward.tally().added_bytes_peak, 0);
    // A second promotion of the same blocks adds nothing.
    world.run_for(20);
    assert!(huge.iter().all(|block| world.is_huge(*block)));
    let ward = world.governor.ward();
    assert_eq!(ward.charged_bytes(), 20 * BLOCK);
    assert_eq!(ward.tally().added_bytes_peak, 0);
}

#[test]
fn a_fork_is_charged_once_and_its_heir_after_it() {
    let budgets = budgets(Allowance::Bytes(20 * MIB));
    let mut world = half_full(budgets);
    world.run_for(20);
    assert_eq!(world.governor.ward().charged_bytes(), 20 * MIB);
    world.step(FakeStep::Fork);
    world.run_for(5);
    assert_eq!(world.governor.living().len(), 2);
    assert_eq!(world.governor.ward().charged_bytes(), 20 * MIB);
    assert_eq!(world.huge(), 20, "none was broken for it");
    world.step(FakeStep::Exit);
    world.run_for(5);
    assert_eq!(world.governor.living().len(), 1);
    assert_eq!(world.governor.ward().charged_bytes(), 20 * BLOCK);
}

#[test]
fn shared_memory_is_charged_once() {
    let budgets = budgets(Allowance::Bytes(20 * MIB));
    let mut world = FakeWorld::new("pop-64", budgets, 1);
    let mapping = broadleaf_governor::LiveMapping {
        backing: broadleaf_governor::LiveBacking::Shmem,
        name: "/dev/shm/x".to_owned(),
        inode: 7,
        ..anonymous(10..40)
    };
    world.step(FakeStep::Map(mapping));
    (10..40).for_each(|block| world.fill(block, 512));
    world.run_for(5);
    assert_eq!(world.huge(), 30);
    (0..3).for_each(|_| world.step(FakeStep::Fork));
    world = restarted(world, "pop-64", budgets);
    world.run_for(5);
    assert_eq!(world.governor.living().len(), 4);
    assert_eq!(world.governor.ward().charged_bytes(), 30 * BLOCK);
}

/// A program with four forks. Each fork filled 50 blocks of its own, at the same addresses, the
/// first blocks most.
fn workers(budgets: Budgets) -> FakeWorld {
    let mut world = FakeWorld::new("pop-64", budgets, 50);
    (0..50).for_each(|block| world.fill(block, 10));
    (0..4).for_each(|_| world.step(FakeStep::Fork));
    let all: Vec<u32> = (world.fake().processes.keys().map(|id| id.pid)).collect();
    for pid in all.into_iter().skip(1) {
        for block in 0..50 {
            let first = (BASE + block) * 512;
            world
                .fake()
                .step(pid, FakeStep::Touch(first..first + 164 - 2 * block));
        }
    }
    world
}

#[test]
fn after_four_restarts_a_budget_over_forked_workers_is_what_it_was() {
    let budgets = budgets(Allowance::Bytes(40 * MIB));
    let mut world = workers(budgets);
    world.run_for(20);
    let first = world.fake().added_bytes();
    assert!(
        (30 * MIB..=40 * MIB).contains(&first),
        "the budget is used: {first}"
    );
    for _ in 0..4 {
        world = restarted(world, "pop-64", budgets);
        world.run_for(20);
        let added = world.fake().added_bytes();
        assert!(added <= 40 * MIB + BLOCK, "{added} after {first}");
        assert!(world.governor.ward().charged_bytes() >= added);
    }
}

#[test]
fn shared_memory_without_a_name_is_charged_for_each_inode_and_offset() {
    let budgets = budgets(Allowance::Bytes(0));
    for (inode, offset, charged) in [(7, 0, 20), (8, 0, 40), (7, 512 * PAGE, 40), (0, 0, 40)] {
        let mut world = FakeWorld::new("pop-64", budgets, 1);
        let mapping = broadleaf_governor::LiveMapping {
            backing: broadleaf_governor::LiveBacking::Shmem,
            name: "/dev/zero (deleted)".to_owned(),
            inode: if inode == 0 { 0 } else { 7 },
            ..anonymous(10..30)
        };
        world.step(FakeStep::Map(mapping));
        world.step(FakeStep::Fork);
        let all: Vec<_> = world.fake().processes.keys().copied().collect();
        let child = world.fake().processes.get_mut(&all[1]).unwrap();
        for mapping in &mut child.mappings {
            (mapping.inode, mapping.offset) = (inode, offset);
        }
        for id in all {
            let (first, end) = (BASE + 10, BASE + 30);
            world
                .fake()
                .step(id.pid, FakeStep::Touch(first * 512..end * 512));
            assert_eq!(world.fake().collapse(id, first..end), Ok(()));
        }
        world.run_for(1);
        let ward = world.governor.ward();
        assert_eq!(
            ward.charged_bytes(),
            charged * BLOCK,
            "inode {inode}, offset {offset}"
        );
    }
}
