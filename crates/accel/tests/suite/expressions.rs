//! Expressions that say what a policy of the catalogue does give its counts on random traces,
//! refusals and their reasons included.

use std::ops::ControlFlow;

use crate::common::items_of;
use broadleaf_accel::run;
use broadleaf_metrics::CellResult;
use broadleaf_model::{MemoryLimits, Plan};
use broadleaf_oracle::Recording;
use broadleaf_oracle::random::{Rng, Script};

/// The results of these policies, each with the trace's stamp of its name taken off.
fn results(recording: &Recording, policies: &[String], within: bool) -> Vec<CellResult> {
    let mut items = items_of(recording);
    let parse = |name: &String| broadleaf_policy::parse(name).expect("a policy");
    let machine = broadleaf_machine::machine("skylake").expect("a machine");
    let plan = Plan::new(policies.iter().map(parse).collect(), vec![machine]).expect("a plan");
    let plan = if within {
        plan.limited_to(MemoryLimits::none()).expect("a memory")
    } else {
        plan
    };
    let outcome = run(&mut items, &plan, &mut |_| ControlFlow::Continue(())).expect("a replay");
    let named = outcome.results.into_iter();
    named
        .map(|mut result| {
            result.policy.clear();
            result
        })
        .collect()
}

/// Policies of the catalogue, and equivalent expressions. Numbers that random traces pass often are
/// among them.
fn pairs(rng: &mut Rng) -> Vec<(String, String)> {
    let (few, many, age) = (1 + rng.below(20), 2 + rng.below(510), 1 + rng.below(2000));
    let mut pairs = vec![
        ("pop-64".to_owned(), "promote if populated >= 64".to_owned()),
        (
            "pop-64".to_owned(),
            "promote if populated >= 12.5%".to_owned(),
        ),
        ("dirty-64".to_owned(), "promote if dirty >= 64".to_owned()),
        ("life-1e6".to_owned(), "promote if age >= 1e6".to_owned()),
        ("greedy".to_owned(), "promote if populated > 0".to_owned()),
    ];
    for (name, truth) in [
        (format!("pop-{many}"), format!("{many} <= populated")),
        (format!("dirty-{few}"), format!("dirty > {few} - 1")),
        (format!("life-{age}"), format!("age >= {age}")),
        (format!("life-{age}"), format!("age > {age} - 1")),
    ] {
        pairs.push((name, format!("promote if {truth}")));
    }
    pairs
}

#[test]
fn they_equal_the_policies_that_they_describe() {
    let mut promotions = 0;
    for seed in 0..20 {
        let seed = seed + 7_000_000;
        let recording = Script::from_seed(seed).recording();
        let (names, texts): (Vec<String>, Vec<String>) =
            pairs(&mut Rng::new(seed)).into_iter().unzip();
        for within in [false, true] {
            let theirs = results(&recording, &names, within);
            let ours = results(&recording, &texts, within);
            for ((theirs, ours), text) in theirs.iter().zip(&ours).zip(&texts) {
                assert_eq!(
                    theirs, ours,
                    "seed {seed}, {text}, down to the frame: {within}"
                );
                promotions += ours.promotions;
            }
        }
    }
    assert!(
        promotions > 130,
        "{promotions}: random traces promote little"
    );
}

/// FreeBSD's rule has a reason of its own where pages disagree.
#[test]
fn a_rule_that_demotes_equals_freebsd_but_for_one_reason() {
    let text =
        "promote if populated == pages and (dirty == 0 or dirty == pages); demote if writable";
    let mut demotions = 0;
    for seed in 0..60 {
        let seed = seed + 8_000_000;
        let recording = Script::from_seed(seed).recording();
        let theirs = results(&recording, &["freebsd".to_owned()], false).remove(0);
        let mut ours = results(&recording, &[text.to_owned()], false).remove(0);
        if let Some(count) = ours.refusals.remove("expression") {
            ours.refusals.insert("mixed_dirty".to_owned(), count);
        }
        assert_eq!(theirs, ours, "seed {seed}");
        demotions += ours.demotions;
    }
    assert!(demotions > 0, "random traces demote nothing");
}

/// Two counters at a time, held against the built-in policies that bound them: what asks for both
/// promotes no more than either, and what asks for one promotes no less.
#[test]
fn what_is_joined_lies_between() {
    for seed in 0..60 {
        let seed = seed + 9_000_000;
        let recording = Script::from_seed(seed).recording();
        let mut rng = Rng::new(seed);
        let (populated, dirty) = (2 + rng.below(40), 1 + rng.below(20));
        let names = [
            format!("promote if populated >= {populated} and dirty >= {dirty}"),
            format!("pop-{populated}"),
            format!("dirty-{dirty}"),
            format!("promote if populated >= {populated} or dirty >= {dirty}"),
        ];
        let pages: Vec<u64> = (results(&recording, &names, false).iter())
            .map(|result| result.peak_resident_pages)
            .collect();
        assert!(pages[0] <= pages[1].min(pages[2]), "seed {seed}: {pages:?}");
        assert!(pages[3] >= pages[1].max(pages[2]), "seed {seed}: {pages:?}");
    }
}

/// Each block has one of four places, so four policies for one place each share out what greedy
/// does. Half of the blocks are the places below 2. A block that moves to another place may be
/// promoted at both, so the sums of some traces are larger.
#[test]
fn places_divide_the_blocks() {
    let mut promotions = [0_u64; 4];
    let mut equal = 0;
    for seed in 0..60 {
        let recording = Script::from_seed(seed + 10_000_000).recording();
        let mut names: Vec<String> = (0..4)
            .map(|place| format!("promote if place == {place}"))
            .collect();
        names.extend(["promote if place < 2", "greedy"].map(str::to_owned));
        for within in [false, true] {
            let counts: Vec<u64> = (results(&recording, &names, within).iter())
                .map(|result| result.promotions)
                .collect();
            let at = format!("seed {seed}, down to the frame: {within}");
            let all = counts[..4].iter().sum::<u64>();
            let half = counts[0] + counts[1];
            assert!(all >= counts[5] && half >= counts[4], "{at}: {counts:?}");
            equal += u32::from(all == counts[5] && half == counts[4]);
            for (sum, count) in promotions.iter_mut().zip(&counts) {
                *sum += count;
            }
        }
    }
    assert!(equal > 80, "{equal} of 120 replays have equal sums");
    assert!(promotions.iter().all(|count| *count > 10), "{promotions:?}");
}
