//! Attempts after refusals of the kernel become rare.

use crate::common;
use crate::common::fake::{Call, Fake, FakeStep};
use crate::common::{BASE, FakeWorld, UNLIMITED};
use broadleaf_governor::{Came, KernelError};
use broadleaf_policy::Refusal;

fn collapse_calls(fake: &Fake) -> u64 {
    fake.calls.get(&Call::Collapse).copied().unwrap_or(0)
}

/// Runs a program for a minute. The kernel refuses its first block, and the program faults
/// elsewhere all the time. Returns the number of attempts for the block.
fn asked_in_a_minute(errno: i32) -> (FakeWorld, u64) {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 400);
    world.fill(0, 100);
    let pid = world.program.pid;
    world.fake().refuse.insert((pid, BASE), (errno, u32::MAX));
    let until = world.fake().now + std::time::Duration::from_secs(60);
    let mut ticks = 0;
    while world.fake().now < until {
        world.fill(1 + ticks % 300, 1 + ticks / 300 * 10);
        world.tick();
        ticks += 1;
    }
    assert!(ticks > 200, "{ticks} ticks");
    let asked = collapse_calls(world.fake());
    (world, asked)
}

#[test]
fn a_block_that_the_kernel_does_not_take_is_asked_for_ever_more_rarely() {
    let (world, asked) = asked_in_a_minute(libc::EINVAL);
    assert!((2..=4).contains(&asked), "{asked}");
    assert_eq!(world.refused(Refusal::NotCollapsible), 1);
    assert_eq!(world.refused(Refusal::BackingOff), 0, "counted once");
}

#[test]
fn a_busy_block_is_asked_for_again_soon() {
    let (world, asked) = asked_in_a_minute(libc::EAGAIN);
    assert!((8..=14).contains(&asked), "{asked}");
    assert_eq!(world.refused(Refusal::Busy), 1);
}

#[test]
fn a_busy_block_is_promoted_when_it_is_not_busy_any_more() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 1);
    world.fill(0, 100);
    let pid = world.program.pid;
    world.fake().refuse.insert((pid, BASE), (libc::EAGAIN, 2));
    world.run_for(3);
    assert!(world.is_huge(0));
}

#[test]
fn without_memory_nothing_is_asked_for() {
    for (free_blocks, limit, reason) in [
        (Some(1), None, Refusal::NoExtent),
        (None, Some(300 << 20), Refusal::NoCharge),
    ] {
        let mut world = FakeWorld::new("pop-64", UNLIMITED, 100);
        (0..100).for_each(|block| world.fill(block, 512));
        let pid = world.program.pid;
        let errno = if limit.is_some() {
            libc::EBUSY
        } else {
            libc::ENOMEM
        };
        for block in 0..100 {
            world
                .fake()
                .refuse
                .insert((pid, BASE + block), (errno, u32::MAX));
        }
        world.fake().free_blocks = free_blocks;
        world.fake().limit = limit;
        let ticked = world.tick();
        let first = ticked.done.outcomes.len() as u64;
        assert!(first > 0);
        let asked = collapse_calls(world.fake());
        world.run_for(60);
        // Pauses of 1, 2, 4, 8, 10, 10, ... seconds. After each pause come no more attempts than at
        // first.
        let again = collapse_calls(world.fake()) - asked;
        assert!(again <= 9 * asked, "{again} after {asked}");
        assert_eq!(world.refused(reason), 100, "each block once");
        assert_eq!(world.refused(Refusal::BackingOff), 0);
        // With memory again, promotions continue.
        world.fake().refuse.clear();
        world.fake().free_blocks = None;
        world.fake().limit = None;
        world.run_for(70);
        assert_eq!(world.huge(), 100);
    }
}

/// The kernel answers EBUSY if a cgroup is full, and if the program handles faults itself. It
/// answers EINVAL if the program advised against superpages.
#[test]
fn the_flags_of_a_mapping_name_the_reason() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 6);
    (0..6).for_each(|block| world.fill(block, 100));
    let pid = world.program.pid;
    for (block, errno, flags) in [
        (0, libc::EBUSY, Some(Refusal::Userfaultfd)),
        (1, libc::EBUSY, None),
        (2, libc::EINVAL, Some(Refusal::AdvisedAgainst)),
        (3, libc::EINVAL, None),
        (4, libc::EAGAIN, Some(Refusal::Userfaultfd)),
    ] {
        let fake = world.fake();
        fake.refuse.insert((pid, BASE + block), (errno, u32::MAX));
        if let Some(refusal) = flags {
            fake.flags.insert((pid, BASE + block), refusal);
        }
    }
    world.tick();
    assert_eq!(world.huge(), 1);
    for reason in [
        Refusal::Userfaultfd,
        Refusal::NoCharge,
        Refusal::AdvisedAgainst,
        Refusal::NotCollapsible,
        Refusal::Busy,
    ] {
        assert_eq!(world.refused(reason), 1, "{reason}");
    }
}

#[test]
fn no_extent_is_no_promotion() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 10);
    (0..10).for_each(|block| world.fill(block, 100 + block));
    world.fake().free_blocks = Some(3);
    // Processes wait for memory now and then, so the kernel is not asked to make room.
    world.fake().pressure = Some(600);
    world.tick();
    let huge: Vec<_> = (0..10).filter(|block| world.is_huge(*block)).collect();
    assert_eq!(huge, [7, 8, 9], "the fullest");
    assert_eq!(world.refused(Refusal::NoExtent), 7);
    world.fake().pressure = Some(0);
    world.run_for(2);
    assert_eq!(world.huge(), 10, "the kernel makes room");
}

#[test]
fn a_process_that_may_not_be_changed_is_left_alone_until_another_program_runs_in_it() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 50);
    (0..50).for_each(|block| world.fill(block, 100));
    let program = world.program;
    let process = world.fake().processes.get_mut(&program).unwrap();
    process.out_of_reach = true;
    world.run_for(2);
    let asked = collapse_calls(world.fake());
    world.fill(3, 200);
    world.run_for(60);
    assert_eq!(collapse_calls(world.fake()), asked);
    assert_eq!(world.refused(Refusal::Unreachable), 50);
    let process = world.fake().processes.get_mut(&program).unwrap();
    process.out_of_reach = false;
    world.step(FakeStep::Exec);
    world.step(FakeStep::Map(common::anonymous(0..50)));
    world.fill(0, 100);
    world.run_for(2);
    assert_eq!(world.huge(), 1);
}

#[test]
fn a_process_that_may_not_be_looked_at_is_no_error() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 50);
    world.fill(0, 100);
    let program = world.program;
    world.fake().processes.get_mut(&program).unwrap().hidden = true;
    let ticks = world.run_for(60);
    assert!(
        ticks
            .iter()
            .all(|ticked| ticked.alive && ticked.plan.is_empty())
    );
    // No attempt is made at each tick.
    let looks = world.fake().calls[&Call::LivePages];
    assert!(looks <= 10, "{looks} looks in {} ticks", ticks.len());
    // The governor lists the process until its memory can be read.
    let unseen = |world: &FakeWorld| {
        let all = world.governor.unseen();
        all.map(|(id, unseen)| (id, unseen.no)).collect::<Vec<_>>()
    };
    assert_eq!(unseen(&world), [(program, KernelError::NotAllowed)]);
    world.fake().processes.get_mut(&program).unwrap().hidden = false;
    world.run_for(15);
    assert_eq!(unseen(&world), []);
}

#[test]
fn a_superpage_that_the_kernel_does_not_break_is_left_for_a_while() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 4);
    (0..4).for_each(|block| world.fill(block, 100));
    world.run_for(1);
    world.fake().splits_in_vain = true;
    world.fake().pressure = Some(9000);
    let ticks = world.run_for(60);
    let splits = world.fake().calls[&Call::Split];
    assert!(splits <= 4 * 14, "{splits}");
    let outcomes = ticks.iter().flat_map(|ticked| &ticked.done.outcomes);
    assert!(outcomes.clone().count() > 0);
    assert!(
        outcomes
            .clone()
            .all(|outcome| outcome.came == Came::StillHuge)
    );
    assert_eq!(world.huge(), 4);
    assert_eq!(world.governor.ward().tally().demotions, 0);
    assert_eq!(world.governor.ward().tally().promotions, 4);
}
