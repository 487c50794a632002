//! Processes that are excluded from a governor, and the change of a policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::fake::FakeStep;
use crate::common::{FakeWorld, UNLIMITED};
use broadleaf_governor::{Budgets, ProcessId};

fn governed(world: &FakeWorld) -> BTreeSet<ProcessId> {
    let processes = world.governor.ward().processes();
    processes.map(|(id, ..)| id).collect()
}

/// Returns the process that was spawned last.
fn youngest(world: &mut FakeWorld) -> ProcessId {
    let processes = world.fake().processes.keys().copied();
    processes.max().expect("there is the program")
}

#[test]
fn excluded_processes_take_their_children_along_and_may_come_back() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 4);
    let root = world.program;
    world.step(FakeStep::Fork);
    let child = youngest(&mut world);
    world.fake().step(child.pid, FakeStep::Fork);
    let grandchild = youngest(&mut world);
    world.tick();
    assert_eq!(governed(&world), [root, child, grandchild].into());
    // The root itself is never left out.
    world
        .governor
        .leave_out(Arc::new([root, child].into_iter().collect()));
    world.tick();
    assert_eq!(governed(&world), [root].into());
    world.fake().step(child.pid, FakeStep::Fork);
    world.step(FakeStep::Fork);
    let second = youngest(&mut world);
    world.tick();
    assert_eq!(governed(&world), [root, second].into());
    world.governor.leave_out(Arc::default());
    world.tick();
    assert_eq!(governed(&world).len(), 5);
}

#[test]
fn another_policy_goes_on_with_what_is_known() {
    let mut world = FakeWorld::new("pop-256", UNLIMITED, 4);
    world.fill(0, 300);
    world.fill(1, 100);
    world.run_for(2);
    assert_eq!(world.huge(), 1);
    let policy = |name| broadleaf_policy::parse(name).expect("a policy");
    world.governor.put_under(policy("pop-64"), UNLIMITED);
    world.run_for(2);
    assert_eq!(world.huge(), 2);
    assert_eq!(world.governor.ward().policy().name(), "pop-64");
    assert_eq!(world.governor.ward().added_bytes(), (212 + 412) * 4096);
    // A smaller allowance holds for existing superpages too: the one that added more is demoted.
    let less = Budgets {
        added: broadleaf_governor::Allowance::Bytes(300 * 4096),
        ..UNLIMITED
    };
    world.governor.put_under(policy("pop-64"), less);
    world.run_for(2);
    assert_eq!(world.huge(), 1);
    assert_eq!(world.governor.ward().added_bytes(), 212 * 4096);
}
