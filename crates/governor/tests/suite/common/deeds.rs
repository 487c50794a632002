//! Random actions of programs and of the rest of the machine.

use super::fake::{Call, FakeStep};
use super::{BASE, FakeWorld};
use broadleaf_governor::{Allowance, Budgets, Ticked};
use proptest::prelude::*;

pub(crate) const BLOCKS: u64 = 24;

/// An action between two ticks.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// The program, or one of its children, acts.
    Program(usize, FakeStep),
    /// Other programs use this many MiB.
    Elsewhere(u64),
    Pressure(u32),
    /// The program acts before the next call of a kind.
    Race(Call, FakeStep),
    /// The kernel refuses a block a few times.
    Refuse(u64, i32, u32),
    Ticks(usize),
}

pub(crate) fn pages() -> impl Strategy<Value = std::ops::Range<u64>> {
    let start = (0..BLOCKS, prop_oneof![Just(0), 0..512_u64]);
    let length = prop_oneof![1..10_u64, 60..70_u64, 200..520_u64, 1000..4000_u64];
    (start, length).prop_map(|((block, at), length)| {
        let first = (BASE + block) * 512 + at;
        first..(first + length).min((BASE + BLOCKS) * 512)
    })
}

pub(crate) fn step(forks: bool) -> impl Strategy<Value = FakeStep> {
    prop_oneof![
        6 => pages().prop_map(FakeStep::Touch),
        3 => pages().prop_map(FakeStep::Purge),
        1 => pages().prop_map(FakeStep::Read),
        1 => pages().prop_map(FakeStep::SwapOut),
        u32::from(forks) => Just(FakeStep::Fork),
        u32::from(forks) => Just(FakeStep::Exit),
    ]
}

pub(crate) fn deed(forks: bool) -> impl Strategy<Value = Deed> {
    let call = prop_oneof![
        Just(Call::Vitals),
        Just(Call::LivePages),
        Just(Call::Blocks),
        Just(Call::Shared),
        Just(Call::Split),
    ];
    let errno = prop_oneof![
        Just(libc::EAGAIN),
        Just(libc::EINVAL),
        Just(libc::ENOMEM),
        Just(libc::EBUSY),
        Just(libc::EPERM),
    ];
    prop_oneof![
        12 => (0..4_usize, step(forks)).prop_map(|(who, step)| Deed::Program(who, step)),
        1 => (0..16_000_u64).prop_map(Deed::Elsewhere),
        1 => prop_oneof![Just(0), Just(0), Just(5000_u32)].prop_map(Deed::Pressure),
        1 => (call, step(false)).prop_map(|(call, step)| Deed::Race(call, step)),
        1 => (BASE..BASE + BLOCKS, errno, 1..4_u32)
            .prop_map(|(block, errno, times)| Deed::Refuse(block, errno, times)),
        4 => (1..20_usize).prop_map(Deed::Ticks),
    ]
}

pub(crate) fn budget() -> impl Strategy<Value = Allowance> {
    prop_oneof![
        (0..40_u64).prop_map(|mib| Allowance::Bytes(mib << 20)),
        (0..3000_u32).prop_map(Allowance::Share),
    ]
}

pub(crate) fn policy() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("greedy"),
        Just("pop-64"),
        Just("freebsd"),
        Just("promote if populated >= 100; demote if memory_short"),
    ]
}

/// Performs the actions in a world, and checks the world after each tick.
pub(crate) fn run(
    policy: &str,
    budgets: Budgets,
    deeds: Vec<Deed>,
    mut after: impl FnMut(&mut FakeWorld, Ticked),
) {
    let mut world = FakeWorld::new(policy, budgets, BLOCKS);
    for deed in deeds {
        match deed {
            Deed::Program(who, step) => {
                let all = &world.fake().processes;
                // The first process stays, as the parent of the others.
                let pids: Vec<_> = all.keys().map(|id| id.pid).collect();
                let who = who % pids.len();
                if who > 0 || !matches!(step, FakeStep::Exit) {
                    world.fake().step(pids[who], step);
                }
            }
            Deed::Elsewhere(mib) => world.fake().elsewhere = mib << 20,
            Deed::Pressure(pressure) => world.fake().pressure = Some(pressure),
            Deed::Race(call, step) => {
                let pid = world.program.pid;
                world.fake().races.push((call, pid, step));
            }
            Deed::Refuse(block, errno, times) => {
                let pid = world.program.pid;
                world.fake().refuse.insert((pid, block), (errno, times));
            }
            Deed::Ticks(ticks) => {
                for _ in 0..ticks {
                    let ticked = world.tick();
                    after(&mut world, ticked);
                }
            }
        }
    }
}
