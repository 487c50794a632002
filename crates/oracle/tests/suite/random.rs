//! Checks of the oracle against itself on random traces.

use std::collections::BTreeMap;

use broadleaf_oracle::random::{Action, Rng, Script, shrink, thin};
use broadleaf_oracle::split::split;
use broadleaf_oracle::{
    OracleCounts, OracleMachine, OwnedItem, Pace, PolicySpec, Recording, replay, replay_items,
};
use broadleaf_trace::Event;

fn counts(recording: &Recording, policy: PolicySpec) -> OracleCounts {
    replay(recording, policy, OracleMachine::Skylake)
}

#[test]
fn a_script_gives_the_same_trace_each_time() {
    for seed in 0..20 {
        assert_eq!(
            Script::from_seed(seed).recording(),
            Script::from_seed(seed).recording()
        );
    }
    assert_ne!(
        Script::from_seed(1).recording(),
        Script::from_seed(2).recording()
    );
}

#[test]
fn cutting_visits_apart_changes_no_count() {
    for seed in 0..40 {
        let recording = Script::from_seed(seed).recording();
        let cut = split(&recording, &mut Rng::new(seed));
        for policy in [
            PolicySpec::FreeBsd,
            PolicySpec::Pop(64),
            PolicySpec::Dirty(64),
            PolicySpec::Life(1_000_000),
        ] {
            assert_eq!(
                counts(&cut, policy),
                counts(&recording, policy),
                "seed {seed}, {policy}"
            );
        }
    }
}

#[test]
fn leaping_changes_no_count_where_time_is_short() {
    let mut compared = 0;
    for seed in 0..60 {
        let mut script = Script::from_seed(seed);
        script.steps.retain(|step| step.action != Action::Wait);
        let recording = script.recording();
        for policy in [
            PolicySpec::FreeBsd,
            PolicySpec::Dirty(64),
            PolicySpec::Life(500),
        ] {
            let at = |pace| {
                replay_items(
                    recording.grain,
                    recording.items(),
                    policy,
                    OracleMachine::Skylake,
                    pace,
                )
            };
            assert_eq!(
                at(Pace::Leap),
                at(Pace::EveryAccess),
                "seed {seed}, {policy}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 180);
}

#[test]
fn a_failing_trace_is_cut_down_to_what_fails() {
    let fails = |recording: &Recording| counts(recording, PolicySpec::Greedy).demotions > 0;
    let script = (0..)
        .map(Script::from_seed)
        .find(|script| fails(&script.recording()));
    let Some(script) = script else {
        panic!("no trace demotes")
    };
    let small = shrink(&script, fails);
    assert!(
        fails(&small.recording()) && small.steps.len() <= 6,
        "{small:?}"
    );
    let thinned = thin(&small.recording(), fails);
    let visits: usize = thinned
        .items
        .iter()
        .map(|item| {
            if let OwnedItem::Visits(visits) = item {
                visits.len()
            } else {
                0
            }
        })
        .sum();
    assert!(fails(&thinned) && visits <= 2, "{thinned:?}");
}

/// Random traces are useful only if they reach all cases.
#[test]
fn the_traces_reach_every_policy_every_refusal_and_every_event() {
    let mut met = BTreeMap::<String, u64>::new();
    for seed in 0..120 {
        let recording = Script::from_seed(seed).recording();
        for item in &recording.items {
            if let OwnedItem::Event(event) = item {
                let text = format!("{event:?}");
                *met.entry(text.split([' ', '(']).next().unwrap_or_default().into())
                    .or_default() += 1;
                if let Event::Advise(_, advice) = event {
                    *met.entry(format!("{advice:?}")).or_default() += 1;
                }
            }
        }
        for policy in PolicySpec::ALL {
            let counts = counts(&recording, policy);
            let figures = [
                ("promotions", counts.promotions),
                ("demotions", counts.demotions),
                ("zeroed", counts.extra_zeroed_pages),
                ("disk-read", counts.extra_disk_read_pages),
                ("false-dirty", counts.false_dirty_pages),
                ("walks-2m", counts.walks_2m),
                ("second-level hits", counts.l1_misses - counts.l2_misses),
            ];
            for (reason, count) in figures.into_iter().chain(counts.refusals) {
                *met.entry(format!("{policy} {reason}")).or_default() += count;
            }
        }
    }
    let mut wanted: Vec<String> = [
        "Map",
        "Unmap",
        "Protect",
        "Remap",
        "Advise",
        "Brk",
        "StackGrow",
        "File",
        "Misplaced",
        "SpaceSwitch",
        "SpaceStart",
        "Fork",
        "Exec",
        "SpaceEnd",
        "ThreadStart",
        "ThreadSwitch",
        "ThreadEnd",
        "CoreSwitch",
        "Site",
        "Allocation",
        "DontNeed",
        "Free",
        "Remove",
        "HugePage",
        "NoHugePage",
        "Other(21)",
        "freebsd mixed_dirty",
        "freebsd too_few_resident",
        "foresight not_foreseen",
        "foresight not_covered",
        "greedy mixed_protection",
        "greedy no_reservation",
        "pop-509 too_few_resident",
        "pop-509 not_covered",
        "dirty-64 too_few_dirty",
        "life-1e9 too_young",
        "life-1e6 not_covered",
        "thp-always file_backed",
        "thp-always shared_memory",
        "thp-always advised_against",
        "thp-always not_covered",
        "thp-always mixed_protection",
        "thp-always already_populated",
        "greedy disk-read",
    ]
    .map(String::from)
    .into();
    for policy in PolicySpec::ALL
        .into_iter()
        .filter(|&policy| policy != PolicySpec::FourK)
    {
        for figure in ["promotions", "demotions", "walks-2m", "second-level hits"] {
            wanted.push(format!("{policy} {figure}"));
        }
    }
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|name| met.get(*name).is_none_or(|&count| count == 0))
        .collect();
    assert!(missing.is_empty(), "{missing:?} not met in {met:#?}");
}
