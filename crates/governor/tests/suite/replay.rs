//! A journal replays to the same decisions, and other policies are estimated from it.

use crate::common::deeds::{Deed, budget, deed, policy, run};
use crate::common::fake::{Call, FakeStep};
use crate::common::{BASE, FakeWorld, UNLIMITED, header, journal};
use broadleaf_governor::journal::{Estimate, Header, TickRecord, Verified, read, under, verify};
use broadleaf_governor::{Allowance, Budgets, Came, Tally, TickPlan, Ticked};
use broadleaf_policy::Refusal;
use proptest::prelude::*;

fn verified(bytes: &[u8]) -> Verified {
    let (header, ticks) = read(bytes).unwrap();
    verify(&header, ticks).unwrap()
}

fn estimated(bytes: &[u8], policy: &str, budgets: Budgets) -> Estimate {
    let (header, ticks) = read(bytes).unwrap();
    let policy = broadleaf_policy::parse(policy).unwrap();
    let reach = verified(bytes).reach;
    under(policy, budgets, &header, reach, ticks).unwrap()
}

fn text(tally: &Tally) -> String {
    format!("{tally:?}")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_run_replays_decision_by_decision(
        policy in policy(),
        added in budget(),
        deeds in prop::collection::vec(deed(true), 1..60),
    ) {
        let budgets = Budgets { added, ..UNLIMITED };
        let mut ticks = Vec::new();
        let mut tally = String::new();
        run(policy, budgets, deeds, |world, ticked| {
            ticks.push(ticked);
            tally = text(world.governor.ward().tally());
        });
        let bytes = journal(&header(policy, budgets), &ticks);
        let verified = verified(&bytes);
        prop_assert_eq!(verified.difference, None);
        prop_assert_eq!(verified.ticks, ticks.len() as u64);
        if !ticks.is_empty() {
            prop_assert_eq!(text(&verified.tally), tally.clone());
            // Under the journal's own policy, the estimate is the run.
            let estimate = estimated(&bytes, policy, budgets);
            prop_assert_eq!(text(&estimate.tally), tally);
        }
    }

    #[test]
    fn no_estimate_panics(
        recorded in policy(),
        other in policy(),
        deeds in prop::collection::vec(deed(true), 1..60),
        added in budget(),
    ) {
        let mut ticks = Vec::new();
        run(recorded, UNLIMITED, deeds, |_, ticked| ticks.push(ticked));
        let bytes = journal(&header(recorded, UNLIMITED), &ticks);
        let budgets = Budgets { added, ..UNLIMITED };
        let estimate = estimated(&bytes, other, budgets);
        prop_assert_eq!(estimate.ticks, ticks.len() as u64);
        if let Allowance::Bytes(bytes) = added {
            prop_assert!(estimate.tally.added_bytes_peak <= bytes + (2 << 20));
        }
    }
}

/// Runs a program for a while. It fills blocks to different degrees, returns some, and fills
/// others.
fn play(policy: &str, budgets: Budgets, dry: bool) -> (FakeWorld, Vec<u8>) {
    let mut world = match dry {
        true => FakeWorld::dry(policy, budgets, 64),
        false => FakeWorld::new(policy, budgets, 64),
    };
    let mut ticks = Vec::new();
    let mut second = |world: &mut FakeWorld| ticks.extend(world.run_for(1));
    for block in 0..64 {
        world.fill(block, 8 * block + 8);
        if block % 8 == 7 {
            second(&mut world);
        }
    }
    for block in (32..48).chain(60..64) {
        world.purge(block, 0..20);
    }
    second(&mut world);
    world.step(FakeStep::Unmap(BASE + 50..BASE + 55));
    (0..16).for_each(|block| world.fill(block, 300));
    second(&mut world);
    second(&mut world);
    let header = Header {
        dry,
        ..header(policy, budgets)
    };
    (world, journal(&header, &ticks))
}

/// Returns the journal of a program that gets superpages and forks. Parent and child may store to
/// them.
fn forking(policy: &str, stores: bool) -> Vec<u8> {
    let blocks = |range: std::ops::Range<u64>| {
        let page = |block: u64| (BASE + block) * 512;
        FakeStep::Touch(page(range.start) + 100..page(range.end))
    };
    let mut deeds = vec![
        Deed::Program(0, blocks(12..16)),
        Deed::Ticks(1),
        Deed::Program(0, FakeStep::Fork),
        Deed::Ticks(1),
    ];
    if stores {
        deeds.extend([
            Deed::Program(0, FakeStep::Fork),
            Deed::Program(0, blocks(13..14)),
            Deed::Ticks(1),
            Deed::Program(1, blocks(12..15)),
            Deed::Ticks(3),
            Deed::Program(1, FakeStep::Exit),
            Deed::Ticks(3),
        ]);
    }
    let mut ticks = Vec::new();
    run(policy, UNLIMITED, deeds, |_, ticked| ticks.push(ticked));
    journal(&header(policy, UNLIMITED), &ticks)
}

#[test]
fn a_fork_of_superpages_that_the_estimate_did_not_make_adds_nothing() {
    let bytes = forking("greedy", true);
    let recorded = verified(&bytes).tally;
    assert!(recorded.promotions >= 4 && recorded.huge_bytes_peak >= 4 << 21);
    // The budget allows full blocks alone.
    let added = Allowance::Bytes(0);
    let estimate = estimated(&bytes, "greedy", Budgets { added, ..UNLIMITED });
    assert_eq!(estimate.tally.added_bytes_peak, 0);
    // Without superpages, the fork has base pages.
    let none = estimated(&bytes, "4k", UNLIMITED);
    assert_eq!(figures(&none.tally), [0; 6]);
    assert_eq!((none.huge_bytes, none.added_bytes), (0, 0));
}

#[test]
fn an_estimate_looks_at_a_block_that_fills_only_if_the_recorded_run_has_a_superpage_there() {
    let block = |number: u64| (BASE + number) * 512;
    let deeds = vec![
        Deed::Program(0, FakeStep::Touch(block(14)..block(17) + 428)),
        Deed::Program(0, FakeStep::Touch(block(4) + 247..block(5) + 1)),
        Deed::Ticks(15),
        Deed::Race(
            Call::Vitals,
            FakeStep::Touch(block(4) + 410..block(5) + 340),
        ),
        Deed::Ticks(1),
        Deed::Program(0, FakeStep::Fork),
        Deed::Program(1, FakeStep::Touch(block(4) + 452..block(5) + 1)),
        Deed::Program(0, FakeStep::Purge(block(14)..block(14) + 1)),
        Deed::Ticks(8),
    ];
    let budgets = Budgets {
        added: Allowance::Bytes(1 << 20),
        ..UNLIMITED
    };
    let (mut ticks, mut tally) = (Vec::new(), String::new());
    run("greedy", budgets, deeds, |world, ticked| {
        ticks.push(ticked);
        tally = text(world.governor.ward().tally());
    });
    let bytes = journal(&header("greedy", budgets), &ticks);
    assert_eq!(text(&estimated(&bytes, "greedy", budgets).tally), tally);
}

#[test]
fn a_fork_has_the_superpages_that_the_estimate_made() {
    let estimate = estimated(&forking("4k", false), "greedy", UNLIMITED).tally;
    let run = verified(&forking("greedy", false)).tally;
    assert_eq!(estimate.huge_bytes_peak, run.huge_bytes_peak);
    assert_eq!(estimate.added_bytes_peak, run.added_bytes_peak);
}

/// Returns the totals that are compared between an estimate and a run.
fn figures(tally: &Tally) -> [u64; 6] {
    [
        tally.promotions,
        tally.demotions,
        tally.broken_by_programs,
        tally.given_back,
        tally.added_bytes_peak >> 12,
        tally.huge_bytes_peak >> 21,
    ]
}

#[test]
fn an_estimate_from_a_run_without_superpages_is_what_the_policy_does() {
    for budgets in [UNLIMITED, Budgets::DEFAULT] {
        for policy in ["pop-64", "pop-256", "greedy", "freebsd"] {
            let (world, _) = play(policy, budgets, false);
            for (recorded, dry) in [("4k", false), (policy, true), ("greedy", true)] {
                let (_, bytes) = play(recorded, budgets, dry);
                let estimate = estimated(&bytes, policy, budgets);
                let run = world.governor.ward();
                assert_eq!(figures(&estimate.tally), figures(run.tally()), "{policy}");
                assert_eq!(estimate.added_bytes, run.added_bytes());
                assert_eq!(estimate.policy, policy);
            }
        }
    }
}

#[test]
fn superpages_that_another_policy_would_not_have_hold_what_they_held_before() {
    let (_, bytes) = play("greedy", UNLIMITED, false);
    let none = estimated(&bytes, "4k", UNLIMITED);
    assert_eq!(figures(&none.tally), [0; 6]);
    assert_eq!((none.huge_bytes, none.added_bytes), (0, 0));
    // Each block was full at its promotion, so its contents are known.
    let (run, _) = play("pop-256", UNLIMITED, false);
    let estimate = estimated(&bytes, "pop-256", UNLIMITED).tally;
    let run = run.governor.ward().tally();
    assert_eq!(estimate.added_bytes_peak, run.added_bytes_peak);
    // Stores to pages inside a recorded superpage are unknown.
    assert_eq!(estimate.promotions + 16, run.promotions);
}

/// Runs a program that stores to one page of each block in turn, until all blocks are full.
fn filling(policy: &str, budgets: Budgets, micros: f64) -> (u64, Vec<u8>) {
    let mut world = FakeWorld::new(policy, budgets, 64);
    world.fake().micros = micros;
    let mut ticks = Vec::new();
    for pages in 1..=64 {
        (0..64).for_each(|block| world.fill(block, 8 * pages));
        ticks.push(world.tick());
    }
    ticks.extend(world.run_for(5));
    let promotions = world.governor.ward().tally().promotions;
    (promotions, journal(&header(policy, budgets), &ticks))
}

#[test]
fn a_policy_that_asks_for_more_makes_no_more() {
    // A quick machine, and one with about 30 promotions in a tick.
    for micros in [100.0, 7000.0] {
        let (_, bytes) = filling("pop-256", UNLIMITED, micros);
        let mut last = u64::MAX;
        for policy in [
            "pop-1", "pop-64", "pop-256", "pop-300", "pop-400", "pop-461", "pop-512",
        ] {
            let estimate = estimated(&bytes, policy, UNLIMITED).tally;
            let (run, _) = filling(policy, UNLIMITED, micros);
            assert_eq!(run, 64, "every policy promotes all blocks in the end");
            assert_eq!(estimate.promotions, run, "{policy}");
            assert!(estimate.promotions <= last, "{policy}");
            last = estimate.promotions;
        }
    }
}

#[test]
fn an_estimate_takes_the_time_that_promotions_took() {
    let (_, bytes) = filling("pop-256", UNLIMITED, 7000.0);
    let reach = verified(&bytes).reach.unwrap();
    assert!((20..50).contains(&reach), "{reach}");
    // With time for all, each block is promoted at 64 pages, so the blocks that come later are
    // fuller.
    let hurried = estimated(&bytes, "pop-64", UNLIMITED).tally;
    assert!(hurried.added_bytes_peak < 64 * 448 * 4096, "{hurried:?}");
    let (_, bytes) = filling("pop-256", UNLIMITED, 100.0);
    assert_eq!(verified(&bytes).reach, None);
}

#[test]
fn a_dry_run_replays_too() {
    let (_, bytes) = play("pop-64", Budgets::DEFAULT, true);
    let verified = verified(&bytes);
    assert_eq!(verified.difference, None);
    assert_eq!(verified.tally.promotions, 0);
    assert!(verified.ticks > 20);
}

#[test]
fn the_first_tick_that_differs_is_reported() {
    let mut world = FakeWorld::new("pop-64", Budgets::DEFAULT, 100);
    (0..100).for_each(|block| world.fill(block, 256));
    let mut ticks = world.run_for(1);
    assert!(ticks.len() > 3);
    ticks[1].plan = TickPlan::default();
    ticks[0].plan.promote.pop();
    let bytes = journal(&header("pop-64", Budgets::DEFAULT), &ticks);
    let difference = verified(&bytes).difference.unwrap();
    assert_eq!((difference.tick, difference.at), (1, ticks[0].seen.at));
    assert_eq!(difference.then, ticks[0].plan);
    assert_eq!(difference.now.promotions(), 10);
    let said = difference.to_string();
    assert!(
        said.starts_with("tick 1, ") && said.ends_with("10 to promote and 0 to break now"),
        "{said}"
    );
}

#[test]
fn what_came_of_decisions_and_budgets_matter() {
    let mut world = FakeWorld::new("pop-64", Budgets::DEFAULT, 100);
    (0..100).for_each(|block| world.fill(block, 256));
    // The next observation shows a superpage even without the recorded outcome. It does not show a
    // refusal.
    let pid = world.program.pid;
    world.fake().refuse.insert((pid, BASE), (libc::EINVAL, 2));
    let mut ticks: Vec<Ticked> = world.run_for(2);
    let bytes = journal(&header("pop-64", UNLIMITED), &ticks);
    assert_eq!(verified(&bytes).difference.map(|one| one.tick), Some(1));
    ticks[0].done.outcomes.clear();
    let bytes = journal(&header("pop-64", Budgets::DEFAULT), &ticks);
    assert!(verified(&bytes).difference.is_some());
}

#[test]
fn what_the_kernel_refused_is_refused_in_the_estimate() {
    let mut world = FakeWorld::new("pop-64", UNLIMITED, 6);
    let pid = world.program.pid;
    for (block, errno) in [(0, libc::EINVAL), (1, libc::EAGAIN)] {
        // The refusals of the recorded run, alone.
        world.fake().refuse.insert((pid, BASE + block), (errno, 2));
    }
    (0..6).for_each(|block| world.fill(block, 100));
    let mut ticks = vec![world.tick()];
    (0..6).for_each(|block| world.fill(block, 300));
    ticks.extend(world.run_for(1));
    (0..6).for_each(|block| world.fill(block, 400));
    ticks.extend(world.run_for(30));
    let bytes = journal(&header("pop-64", UNLIMITED), &ticks);
    let refused = |tally: &Tally, reason: Refusal| {
        let mut all = tally.refusals.iter();
        all.any(|(name, _)| name == reason)
    };
    let greedy = estimated(&bytes, "greedy", UNLIMITED).tally;
    assert!(refused(&greedy, Refusal::NotCollapsible));
    assert!(refused(&greedy, Refusal::Busy));
    assert_eq!(greedy.promotions, 6, "the recorded run was let, later");
    // The two blocks that were refused at first were seen to fill, so they continue to fill in the
    // estimate. The other blocks were not.
    let later = estimated(&bytes, "freebsd", UNLIMITED).tally;
    assert_eq!(later.promotions, 2);
}

#[test]
fn a_policy_that_is_out_of_reach_is_refused() {
    let (_, bytes) = play("4k", UNLIMITED, false);
    let (header, ticks) = read(bytes.as_slice()).unwrap();
    let policy = broadleaf_policy::parse("online").unwrap();
    let error = under(policy, UNLIMITED, &header, None, ticks).unwrap_err();
    assert!(error.to_string().contains("online"), "{error}");
    let (_, ticks) = read(bytes.as_slice()).unwrap();
    let bad = Header {
        policy: "nothing of the kind".to_owned(),
        ..header
    };
    assert!(verify(&bad, ticks).is_err());
    // Damage is an error here too.
    let torn = bytes.iter().rposition(|byte| *byte == b'}').unwrap();
    let mut damaged = bytes.clone();
    damaged[torn] = b'!';
    let (header, ticks) = read(damaged.as_slice()).unwrap();
    assert!(verify(&header, ticks).is_err());
    let ticks: Vec<Result<TickRecord, _>> = read(bytes.as_slice()).unwrap().1.collect();
    let outcomes = ticks.into_iter().flat_map(|tick| tick.unwrap().outcomes);
    assert!(
        !outcomes
            .into_iter()
            .any(|one| matches!(one.came, Came::Promoted(_)))
    );
}
