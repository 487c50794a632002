//! The runs that listeners are made to: those of the plan, and no others.

use super::lookups::summed;
use super::{HeardSteps, listening};
use crate::offline::{machine, replay_on};
use broadleaf_model::{Outcome, ReplayNote, StepsWanted};
use broadleaf_oracle::random::{Rng, near};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A replay with listeners.
struct HeardReplay {
    outcome: Outcome,
    /// The steps of each policy, if a listener to it heard the end.
    heard: BTreeMap<String, u64>,
    /// The number of listeners that were made, by policy.
    made: BTreeMap<String, u32>,
}

/// Replays a random trace on a random machine with listeners, and compares the outcome with that of
/// a replay without listeners. Compares the lookups of the steps with the counts of the results.
fn heard_replay(seed: u64, policies: &[&str]) -> HeardReplay {
    let mut rng = Rng::new(seed);
    let entries = 1 + rng.pick(&[1, 2, 5, 17]);
    let recording = near(rng.next(), 300);
    let on = || vec![machine(entries, &[1, 3, 9])];
    let mut heard = Arc::default();
    let outcome = replay_on(&recording, policies, on(), 7, |plan| {
        let (plan, hearing) = listening(plan, StepsWanted::EachVisit);
        heard = hearing;
        plan
    });
    let unheard = replay_on(&recording, policies, on(), 7, |plan| plan);
    assert_eq!(outcome, unheard, "seed {seed}");
    let heard: HeardSteps = std::mem::take(&mut *heard.lock().expect("no panic"));
    for result in &outcome.results {
        let walks = summed(heard.of(result)).walks;
        assert_eq!(
            walks,
            result.walks.total(),
            "{}, seed {seed}",
            result.policy
        );
    }
    let counts = heard.steps.into_iter();
    let counts = counts.map(|((policy, _), steps)| (policy, steps.len() as u64));
    HeardReplay {
        outcome,
        heard: counts.collect(),
        made: heard.made,
    }
}

/// Page faults are compared with `4k`, which is replayed in any case.
#[test]
fn no_listener_hears_a_policy_that_the_plan_does_not_have() {
    let replay = heard_replay(1, &["greedy", "approx-online"]);
    let policies: Vec<&str> = replay.made.keys().map(String::as_str).collect();
    assert_eq!(policies, ["approx-online", "greedy"]);
    assert!(replay.heard.keys().eq(replay.made.keys()));
    assert!(replay.heard.values().all(|steps| *steps > 100));
}

/// OFFLINE is replayed by several choices, and once more as another policy's follower. The listener
/// to the run of its result is the only one that hears the end.
#[test]
fn of_several_runs_the_listener_to_that_of_the_result_hears_the_end() {
    let policies = [
        "4k",
        "greedy",
        "asap",
        "approx-online",
        "offline",
        "offline(cycles=all)",
    ];
    let (mut followed, mut tried) = (0, 0);
    for seed in 0..10 {
        let replay = heard_replay(seed, &policies);
        let mut names = policies.to_vec();
        names.sort_unstable();
        assert!(replay.heard.keys().eq(&names), "seed {seed}");
        assert!(replay.made.keys().eq(&names), "seed {seed}");
        assert_eq!(replay.made["4k"], replay.made["greedy"], "seed {seed}");
        let makes = |note: &&ReplayNote| note.text.contains("makes the promotions of");
        followed += replay.outcome.notes.iter().filter(makes).count();
        tried += replay.made["offline"] - replay.made["4k"];
    }
    assert!(followed > 0 && tried > 0, "{followed} {tried}");
}
