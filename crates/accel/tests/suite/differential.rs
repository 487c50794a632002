//! The accelerators against the oracle, on random traces: every count and every refusal of every
//! policy has to be equal, on each of the machines that are built in.
//!
//! `BROADLEAF_CASES` sets the number of traces. The default is 30; `tests/hard/random-traces`
//! tries 1,000. A differing trace is cut down to the necessary steps and visits, and printed with
//! its seed.

mod curves;
mod figures;
mod fractured;
mod locality;
mod print;
pub(crate) mod recoded;
mod reduced;
mod replays;
mod rules;

use broadleaf_model::Plan;
use broadleaf_oracle::random::{Rng, Script, shrink, thin};
use broadleaf_oracle::split::split;
use broadleaf_oracle::{OracleMachine as Machine, PolicySpec, Recording, alone};
use figures::{CountsByName, differences};
use print::print;
use replays::{engine, in_ample_memory, oracle, replayed, replayed_on};
use std::sync::atomic::{AtomicU64, Ordering};

fn cases(of_thousand: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much a test does is the tester's to say"
    )]
    let asked = std::env::var("BROADLEAF_CASES");
    let all: u64 = asked.ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    (all * of_thousand).div_ceil(1000)
}

/// The nineteen policies, and a few whose numbers random traces pass more often.
fn policies(rng: &mut Rng) -> Vec<PolicySpec> {
    let mut policies = PolicySpec::ALL.to_vec();
    policies.push(PolicySpec::Life(1 + rng.below(2000)));
    policies.push(PolicySpec::Pop(2 + rng.below(510)));
    policies.push(PolicySpec::Dirty(1 + rng.below(20)));
    policies.push(PolicySpec::Advice {
        anonymous: 1 + rng.below(20),
        file: 1 + rng.below(40),
        file_dirty: 1 + rng.below(20),
    });
    policies
}

/// The machine that a seed's traces are replayed on: each of those that are built in has its turn.
fn machine_of(seed: u64) -> Machine {
    Machine::ALL[(seed % Machine::ALL.len() as u64) as usize]
}

/// Tries the seeds on as many threads as there are cores.
fn for_each_seed(count: u64, check: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        break;
                    }
                    check(seed);
                }
            });
        }
    });
}

/// Stops with the smallest trace in which `left` and `right` still differ for `policy`.
fn report(
    seed: u64,
    script: &Script,
    policy: PolicySpec,
    pair: impl Fn(&Recording) -> (CountsByName, CountsByName),
) -> ! {
    let differs = |recording: &Recording| {
        let (left, right) = pair(recording);
        left != right
    };
    let small = thin(&shrink(script, differs).recording(), differs);
    let (left, right) = pair(&small);
    panic!(
        "seed {seed}, {policy} on {}:\n{}{}",
        machine_of(seed),
        differences(&left, &right),
        print(&small)
    );
}

/// Asserts that two replays of a seed's trace have the same counts under each of the seed's
/// policies. `prepare` changes the trace first.
fn assert_same_counts(
    seed: u64,
    prepare: impl Fn(Recording) -> Recording,
    left: impl Fn(&Recording, &[PolicySpec], Machine) -> Vec<CountsByName>,
    right: impl Fn(&Recording, &[PolicySpec], Machine) -> Vec<CountsByName>,
) {
    let script = Script::from_seed(seed);
    let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
    let recording = prepare(script.recording());
    let both = left(&recording, &policies, machine)
        .into_iter()
        .zip(right(&recording, &policies, machine));
    for ((of_left, of_right), &policy) in both.zip(&policies) {
        if of_left != of_right {
            report(seed, &script, policy, |recording| {
                let recording = prepare(recording.clone());
                (
                    left(&recording, &[policy], machine).remove(0),
                    right(&recording, &[policy], machine).remove(0),
                )
            });
        }
    }
}

#[test]
fn every_count_equals_the_oracles() {
    for_each_seed(cases(1000), |seed| {
        assert_same_counts(seed, |recording| recording, engine, oracle);
    });
}

#[test]
fn memory_that_does_not_run_short_changes_no_count() {
    for_each_seed(cases(300), |seed| {
        assert_same_counts(seed + 5_000_000, alone, engine, in_ample_memory);
    });
}

#[test]
fn frames_that_nobody_shares_change_no_count() {
    for_each_seed(cases(1000), |seed| {
        assert_same_counts(seed, alone, in_ample_memory, oracle);
    });
}

#[test]
fn visits_may_be_cut_anywhere() {
    for_each_seed(cases(250), |seed| {
        let seed = seed + 1_000_000;
        let cut = |recording: &Recording, policies: &[PolicySpec], machine: Machine| {
            let cut = split(recording, &mut Rng::new(seed));
            engine(&cut, policies, machine)
        };
        assert_same_counts(seed, |recording| recording, cut, engine);
    });
}

#[test]
fn policies_do_not_disturb_each_other() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 2_000_000;
        let script = Script::from_seed(seed);
        let (policies, machine) = (policies(&mut Rng::new(seed)), machine_of(seed));
        let recording = script.recording();
        for (index, (together, &policy)) in engine(&recording, &policies, machine)
            .iter()
            .zip(&policies)
            .enumerate()
        {
            if *together != engine(&recording, &[policy], machine).remove(0) {
                report(seed, &script, policy, |recording| {
                    (
                        engine(recording, &policies, machine).remove(index),
                        engine(recording, &[policy], machine).remove(0),
                    )
                });
            }
        }
    });
}

#[test]
fn machines_do_not_disturb_each_other() {
    for_each_seed(cases(100), |seed| {
        let seed = seed + 6_000_000;
        let recording = Script::from_seed(seed).recording();
        let policies = policies(&mut Rng::new(seed));
        let together = replayed_on(&recording, &policies, &Machine::ALL);
        for (at, &machine) in Machine::ALL.iter().enumerate() {
            let alone = engine(&recording, &policies, machine);
            let of_machine = together.iter().skip(at).step_by(Machine::ALL.len());
            for ((left, right), policy) in of_machine.zip(&alone).zip(&policies) {
                assert_eq!(
                    differences(left, right),
                    "",
                    "seed {seed}, {policy} on {machine}"
                );
            }
        }
    });
}
