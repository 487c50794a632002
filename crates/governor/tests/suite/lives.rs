//! Processes start, fork, run other programs and end, at any moment.

use crate::common;
use crate::common::fake::{Call, FakeStep};
use crate::common::{BASE, FakeWorld, UNLIMITED, anonymous};
use broadleaf_governor::Ticked;
use broadleaf_policy::Refusal;

/// Creates a program with blocks to promote, some broken superpages, and one superpage to demote.
fn busy() -> FakeWorld {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 60);
    (0..40).for_each(|block| world.fill(block, 64 + block * 10));
    world.run_for(5);
    (0..10).for_each(|block| world.purge(block, 5..9));
    (40..60).for_each(|block| world.fill(block, 200));
    world
}

/// Returns the number of calls in the first and second tick of a busy program.
fn calls() -> (u64, u64) {
    let mut world = busy();
    let total = |world: &mut FakeWorld| world.fake().calls.values().sum::<u64>();
    let first = total(&mut world);
    world.tick();
    world.fake().pressure = Some(9000);
    world.tick();
    (first, total(&mut world))
}

#[test]
fn a_process_may_end_at_any_call() {
    let (first, last) = calls();
    assert!(last - first > 50, "{}", last - first);
    for call in first + 1..=last {
        let mut world = busy();
        let pid = world.program.pid;
        world.fake().at_call.insert(call, (pid, FakeStep::Exit));
        world.tick();
        world.fake().pressure = Some(9000);
        world.tick();
        let ticked = world.tick();
        assert!(!ticked.alive, "ended at call {call}");
        assert!(ticked.plan.is_empty() && ticked.seen.processes.is_empty());
        assert_eq!(world.governor.ward().processes().count(), 0);
        assert_eq!(world.governor.ward().remembered(), 0);
        assert_eq!(world.governor.ward().added_bytes(), 0);
        // The end of the process is no refusal.
        for reason in [Refusal::NotCollapsible, Refusal::Unreachable] {
            assert_eq!(world.refused(reason), 0, "ended at call {call}");
        }
        assert_eq!(world.fake().frames.used(), 0);
    }
}

#[test]
fn another_program_may_run_in_a_process_at_any_call() {
    let (first, last) = calls();
    for call in first + 1..=last {
        let mut world = busy();
        let pid = world.program.pid;
        world.fake().at_call.insert(call, (pid, FakeStep::Exec));
        world.tick();
        if !world.fake().at_call.is_empty() {
            assert!(call > first + 40, "{first} {call} {:?}", world.fake().calls);
            break;
        }
        world.step(FakeStep::Map(anonymous(0..60)));
        world.fill(30, 100);
        world.run_for(15);
        assert_eq!(world.huge(), 1, "at call {call}");
        let ward = world.governor.ward();
        assert_eq!(ward.added_bytes(), 412 * 4096);
        assert!(ward.remembered() <= 1, "of what was there before");
    }
}

#[test]
fn mappings_may_go_and_come_at_any_call() {
    let (first, last) = calls();
    for call in first + 1..=last {
        let mut world = busy();
        let pid = world.program.pid;
        let unmap = FakeStep::Unmap(BASE + 20..BASE + 50);
        world.fake().at_call.insert(call, (pid, unmap));
        world.tick();
        if !world.fake().at_call.is_empty() {
            assert!(call > first + 30, "{first} {call} {:?}", world.fake().calls);
            break;
        }
        world.step(FakeStep::Map(anonymous(20..50)));
        world.fill(25, 512);
        world.run_for(15);
        assert!(world.is_huge(25), "at call {call}");
        let huge: Vec<_> = (20..50).filter(|block| world.is_huge(*block)).collect();
        assert_eq!(huge, [25]);
    }
}

#[test]
fn what_was_promoted_before_a_fork_is_not_broken_in_vain() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 100));
    world.run_for(2);
    world.step(FakeStep::Fork);
    world.fake().pressure = Some(9000);
    let ticks = world.run_for(5);
    assert_eq!(world.huge(), 4, "the kernel does nothing to them");
    let child = *world.fake().processes.keys().max().unwrap();
    world.fake().step(child.pid, FakeStep::Exit);
    world.run_for(15);
    assert_eq!(world.huge(), 0);
    assert_eq!(world.fake().frames.used(), 400);
    // The child's superpages are not the governor's to demote.
    let whose = |ticked: &Ticked| {
        ticked
            .plan
            .demote
            .iter()
            .any(|(process, _)| *process == child)
    };
    assert!(!ticks.iter().any(whose));
}

#[test]
fn a_thousand_children_leave_no_state() {
    let mut world = FakeWorld::new("greedy", UNLIMITED, 4);
    world.fill(0, 512);
    let mut state = 88_172_645_463_325_252_u64;
    let mut number = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let root = world.program;
    let mut forked = 0;
    while forked < 1000 {
        let pids: Vec<_> = world.fake().processes.keys().map(|id| id.pid).collect();
        for _ in 0..20 {
            let pid = pids[number(pids.len() as u64) as usize];
            let block = BASE + number(4);
            let page = block * 512 + number(512);
            let fake = world.fake();
            match number(8) {
                0 | 1 => {
                    fake.step(pid, FakeStep::Fork);
                    forked += 1;
                }
                2 | 3 if pid != root.pid => fake.step(pid, FakeStep::Exit),
                4 => fake.step(pid, FakeStep::Unmap(block..block + 1)),
                5 => {
                    fake.step(pid, FakeStep::Unmap(block..block + 1));
                    let at = block - BASE;
                    fake.step(pid, FakeStep::Map(anonymous(at..at + 1)));
                }
                6 => fake.step(pid, FakeStep::Purge(page..page + 3)),
                _ => fake.step(pid, FakeStep::Touch(page..page + 20)),
            }
        }
        let soon = world.fake().calls.values().sum::<u64>() + number(300);
        let pid = pids[number(pids.len() as u64) as usize];
        if pid != root.pid {
            world.fake().at_call.insert(soon, (pid, FakeStep::Exit));
        }
        world.tick();
        let living = world.fake().processes.len();
        assert!(world.governor.ward().remembered() <= 4 * (living + 30));
    }
    assert!(world.collapses() > 10, "{}", world.collapses());
    let pids: Vec<_> = world.fake().processes.keys().map(|id| id.pid).collect();
    for pid in pids.into_iter().filter(|pid| *pid != root.pid) {
        world.fake().step(pid, FakeStep::Exit);
    }
    world.step(FakeStep::Unmap(BASE..BASE + 4));
    world.tick();
    let ward = world.governor.ward();
    assert_eq!(ward.processes().count(), 1);
    assert_eq!((ward.remembered(), ward.added_bytes()), (0, 0));
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    world.fill(0, 100);
    world.run_for(1);
    let first = world.program;
    // The new process with the same number is an orphan outside the tree.
    world.step(FakeStep::Exit);
    let mut later = first;
    later.started += 100;
    let process = common::process::FakeProcess::default();
    world.fake().processes.insert(later, process);
    world.fake().step(later.pid, FakeStep::Map(anonymous(0..1)));
    world
        .fake()
        .step(later.pid, FakeStep::Touch(BASE * 512..BASE * 512 + 100));
    let ticked = world.tick();
    assert!(!ticked.alive);
    world.run_for(30);
    assert!(!world.fake().is_huge(later, BASE));
    assert_eq!(world.fake().calls[&Call::LivePages], 2);
}
