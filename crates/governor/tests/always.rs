//! What holds whatever programs do.

mod common;

use broadleaf_governor::{Allowance, Budgets};
use common::fake::{Call, Step};
use common::{BASE, World};
use proptest::prelude::*;

const BLOCKS: u64 = 24;

/// What a program, or somebody else, does between two ticks.
#[derive(Clone, Debug)]
enum Deed {
    /// The program, or one of its children, does something.
    Program(usize, Step),
    /// Somebody else uses so many MiB.
    Elsewhere(u64),
    Pressure(u32),
    /// Before the kernel is asked for something next.
    Race(Call, Step),
    /// The kernel refuses a block a few times.
    Refuse(u64, i32, u32),
    Ticks(usize),
}

fn pages() -> impl Strategy<Value = std::ops::Range<u64>> {
    let start = (0..BLOCKS, prop_oneof![Just(0), 0..512_u64]);
    let length = prop_oneof![1..10_u64, 60..70_u64, 200..520_u64, 1000..4000_u64];
    (start, length).prop_map(|((block, at), length)| {
        let first = (BASE + block) * 512 + at;
        first..(first + length).min((BASE + BLOCKS) * 512)
    })
}

fn step(forks: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => pages().prop_map(Step::Touch),
        3 => pages().prop_map(Step::Purge),
        1 => pages().prop_map(Step::Read),
        1 => pages().prop_map(Step::SwapOut),
        u32::from(forks) => Just(Step::Fork),
        u32::from(forks) => Just(Step::Exit),
    ]
}

fn deed(forks: bool) -> impl Strategy<Value = Deed> {
    let call = prop_oneof![
        Just(Call::Vitals),
        Just(Call::Pages),
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

fn budget() -> impl Strategy<Value = Allowance> {
    prop_oneof![
        (0..40_u64).prop_map(|mib| Allowance::Bytes(mib << 20)),
        (0..3000_u32).prop_map(Allowance::Share),
    ]
}

fn policy() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("greedy"),
        Just("pop-64"),
        Just("freebsd"),
        Just("promote if populated >= 100; demote if memory_short"),
    ]
}

fn run(policy: &str, budgets: Budgets, deeds: Vec<Deed>, after: impl Fn(&mut World)) {
    let mut world = World::new(policy, budgets, BLOCKS);
    for deed in deeds {
        match deed {
            Deed::Program(who, step) => {
                let all = &world.fake().processes;
                // The first stays, as the others' parent.
                let pids: Vec<_> = all.keys().map(|id| id.pid).collect();
                let who = who % pids.len();
                if who > 0 || !matches!(step, Step::Exit) {
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
                    world.tick();
                    after(&mut world);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_superpages_add_stays_within_bytes(
        policy in policy(),
        mib in 0..40_u64,
        deeds in prop::collection::vec(deed(true), 1..60),
    ) {
        let budgets = Budgets { added: Allowance::Bytes(mib << 20), ..Budgets::DEFAULT };
        run(policy, budgets, deeds, |world| {
            let most = (mib << 20) + (2 << 20);
            let added = world.fake().added_bytes();
            assert!(added <= most, "{added} of {most}");
        });
    }

    #[test]
    fn what_superpages_add_stays_within_a_budget(
        policy in policy(),
        added in budget(),
        deeds in prop::collection::vec(deed(false), 1..60),
    ) {
        let budgets = Budgets { added, ..Budgets::DEFAULT };
        run(policy, budgets, deeds, |world| {
            let (added, rss) = (world.fake().added_bytes(), world.fake().rss_bytes());
            let most = budgets.added.bytes(rss - added.min(rss)) + (2 << 20);
            assert!(added <= most, "{added} of {most}");
            // What nobody uses of it is less, and the ward knows of all of it.
            let filled = world.fake().filled_bytes();
            let known = world.governor.ward().added_bytes();
            assert!(filled <= most, "{filled} of {most} filled");
            assert!(filled <= known + (2 << 20), "{filled}, and {known} known of");
        });
    }

    #[test]
    fn nothing_is_promoted_while_memory_is_short(
        deeds in prop::collection::vec(deed(true), 1..60),
    ) {
        let budgets = common::UNLIMITED;
        let mut world = World::new("greedy", budgets, BLOCKS);
        world.fake().pressure = Some(5000);
        for deed in deeds {
            if let Deed::Program(_, step) = deed {
                world.step(step);
                world.tick();
            }
        }
        assert_eq!(world.collapses(), 0);
    }
}
