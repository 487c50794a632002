//! The chosen policy and its sentence.

use super::*;
use broadleaf_metrics::{MemoryResult, RunTime, RunTimeBasis, SecondsRange};

fn result(policy: &str, walk_cycles: u64, peak_resident_pages: u64) -> CellResult {
    CellResult {
        policy: policy.to_owned(),
        accesses: 1_000_000,
        promotions: u64::from(policy != BASELINE),
        walk_cycles,
        peak_resident_pages,
        ..CellResult::default()
    }
}

fn choose(results: &[CellResult]) -> Advice {
    let all: Vec<&CellResult> = results.iter().collect();
    advise(&all, &results[0], &|policy| policy != "foresight", None).unwrap()
}

#[test]
fn the_fewest_walk_cycles_within_a_tenth_of_added_memory() {
    let advice = choose(&[
        result("4k", 500_000, 1000),
        result("foresight", 0, 1000),
        result("just-too-much", 10_000, 1101),
        result("just-right", 20_000, 1100),
        result("frugal", 30_000, 1000),
    ]);
    assert_eq!(advice.policy, "just-right");
    assert_eq!(
        advice.sentence,
        "Choose just-right: it needs 20.0k walk cycles instead of 500k (x0.04), for 400 KiB \
         (10.0%) more memory. \
         just-too-much would need 10.0k, for 404 KiB (10.1%) more memory."
    );
}

#[test]
fn among_equals_the_one_that_adds_least() {
    let advice = choose(&[
        result("4k", 500_000, 1000),
        result("a", 10, 1050),
        result("b", 10, 1020),
    ]);
    assert_eq!(advice.policy, "b");
}

#[test]
fn where_nothing_is_saved_nothing_is_changed() {
    let advice = choose(&[
        result("4k", 50, 1000),
        result("greedy", 50, 1000),
        result("bad", 60, 1000),
    ]);
    assert_eq!(advice.policy, "4k");
    assert_eq!(
        advice.sentence,
        "Page sizes hardly matter to this program: no policy compared here saves walk cycles. Stay \
         with 4k."
    );
}

#[test]
fn memory_is_not_spent_on_a_difference_below_the_threshold() {
    let pages = |policy, walks, peak| result(policy, walks, peak);
    let results = [
        pages("4k", 500_000, 1000),
        pages("pop-64", 42_000, 1069),
        pages("pop-128", 51_200, 1000),
        pages("pop-256", 52_001, 990),
    ];
    let advice = choose(&results);
    assert_eq!(advice.policy, "pop-128");
    assert!(
        advice
            .sentence
            .ends_with(" pop-64 would need 42.0k, for 276 KiB (6.9%) more memory."),
        "{}",
        advice.sentence
    );
    // A policy that saves next to nothing against 4k is not chosen because it is close to the best
    // one.
    let advice = choose(&[
        pages("4k", 500_000, 1000),
        pages("good", 489_000, 1050),
        pages("idle", 498_000, 1000),
    ]);
    assert_eq!(advice.policy, "good");
}

#[test]
fn where_every_policy_adds_too_much_the_baseline_is_left() {
    let baseline = result("4k", 500_000, 1000);
    let advise = |results: &[&CellResult]| advise(results, &baseline, &|_| true, None).unwrap();
    // The results do not include 4k.
    let advice = advise(&[&result("greedy", 10_000, 2000)]);
    assert_eq!(advice.policy, "4k");
    assert_eq!(
        advice.sentence,
        "Stay with 4k (500k walk cycles, 3.91 MiB at its peak): no policy compared here saves 0.01 \
         walk cycles per access within 10% of added memory. \
         greedy would need 10.0k, for 3.91 MiB (100.0%) more memory."
    );
    // A policy that is slower than 4k is no alternative, whatever it adds.
    for (slower, slowest) in [(1000, 1000), (2000, 1000), (2000, 3000)] {
        let advice = advise(&[
            &result("slower", 600_000, slower),
            &result("slowest", 700_000, slowest),
        ]);
        assert_eq!(advice.policy, "4k");
        assert!(
            !advice.sentence.contains("would need"),
            "{}",
            advice.sentence
        );
    }
}

#[test]
fn memory_is_not_spent_on_a_gain_below_the_threshold() {
    let small = choose(&[
        result("4k", 80_600, 1000),
        result("pop-128", 73_800, 1098),
        result("greedy", 72_000, 2000),
    ]);
    assert_eq!(small.policy, "4k");
    assert_eq!(
        small.sentence,
        "Page sizes hardly matter to this program: the most that a policy compared here saves, \
         8.60k of 80.6k walk cycles (greedy), is less than 0.01 cycles per access. Stay with 4k."
    );
    // If only a policy that takes too much memory gains enough, it is named.
    let dear = choose(&[
        result("4k", 80_600, 1000),
        result("pop-128", 73_800, 1098),
        result("greedy", 10_000, 2000),
    ]);
    assert_eq!(dear.policy, "4k");
    assert!(
        dear.sentence.starts_with("Stay with 4k: ") && dear.sentence.contains("greedy would need"),
        "{}",
        dear.sentence
    );
    // A hundredth of a cycle per access is enough.
    let enough = choose(&[result("4k", 80_600, 1000), result("greedy", 70_600, 1000)]);
    assert_eq!(enough.policy, "greedy");
}

#[test]
fn what_used_memory_up_is_not_chosen_and_faults_count() {
    let limited = |policy: &str, walks, faults, out_of_memory_after| CellResult {
        memory: Some(MemoryResult {
            base_page_bytes: 4096,
            fault_cycles: faults,
            out_of_memory_after,
            ..MemoryResult::default()
        }),
        ..result(policy, walks, 1000)
    };
    let results = [
        limited("4k", 500_000, 1_000_000, None),
        limited("ended", 0, 0, Some(17)),
        limited("few-walks", 0, 3_000_000, None),
        limited("few-faults", 400_000, 500_000, None),
    ];
    let advice = choose(&results);
    assert_eq!(
        advice.sentence,
        "Choose few-faults: it needs 900k cycles of walks and faults instead of 1.50M (x0.60), for \
         no more memory."
    );
    // Fault costs are round figures, so a small saving of them does not count.
    let hardly = choose(&[
        results[0].clone(),
        limited("greedy", 490_000, 1_000_000, None),
    ]);
    assert_eq!(
        hardly.sentence,
        "Page sizes hardly matter to this program: the most that a policy compared here saves, \
         10.0k of 1.50M cycles of walks and faults (greedy), is less than a hundredth of them. \
         Stay with 4k."
    );
    let ended = limited("4k", 1, 1, Some(5));
    assert_eq!(advise(&[&results[3]], &ended, &|_| true, None), None);
    let only = choose(&results[..3]);
    assert!(
        only.sentence
            .contains("saves cycles of walks and faults, and few-walks needs 3.00M"),
        "{}",
        only.sentence
    );
}

#[test]
fn nothing_to_choose_from() {
    let baseline = result("4k", 1, 1);
    let foresight = result("foresight", 1, 1);
    assert_eq!(
        advise(
            &[&foresight],
            &baseline,
            &|policy| policy != "foresight",
            None
        ),
        None
    );
}

/// A result with these seconds of user time, and of system time if it is known. The user time
/// differs by `spread` from run to run.
fn timed(mut of: CellResult, user: f64, spread: f64, system: Option<f64>) -> CellResult {
    let range = |middle: f64, spread: f64| SecondsRange {
        low: middle - spread,
        middle,
        high: middle + spread,
    };
    let gain = 1.0 - user / 2.0;
    of.run_time = Some(RunTime {
        user_seconds: Some(range(user, spread)),
        system_seconds: system.map(|system| range(system, 0.0)),
        ..RunTime::of_gains([gain; 3], RunTimeBasis::Measured)
    });
    of
}

#[test]
fn where_user_and_system_time_are_known_they_decide() {
    let base = timed(result("4k", 500_000, 1000), 2.0, 0.0, Some(0.5));
    let greedy = |system| timed(result("greedy", 0, 1000), 1.6, 0.05, system);
    let pop = timed(result("pop-256", 90_000, 1000), 1.7, 0.05, Some(0.45));
    // The system time of huge pages takes most of the gain in user time.
    let found = choose(&[base.clone(), greedy(Some(0.8)), pop.clone()]);
    assert_eq!(
        found.sentence,
        "Choose pop-256: it takes about 2.15 s of processor time instead of 2.50 s (14.0% less), \
         for no more memory."
    );
    let cheap = choose(&[base.clone(), greedy(Some(0.5)), pop.clone()]);
    assert_eq!(cheap.policy, "greedy");
    let too_dear = choose(&[base.clone(), greedy(Some(1.0))]);
    assert_eq!(
        too_dear.sentence,
        "The fastest policy compared here, greedy, takes about 4.0% more processor time than 4k: \
         more system time than the user time that it saves. Stay with 4k."
    );
    let little = |user| {
        choose(&[
            base.clone(),
            timed(result("greedy", 0, 1000), user, 0.0, Some(0.5)),
        ])
    };
    assert!(
        little(1.95)
            .sentence
            .contains("2.0% less processor time than 4k, and less than 3%")
    );
    assert!(
        little(2.0)
            .sentence
            .contains("no policy compared here changes its processor time")
    );
    // Where one policy has no system time, walk cycles and user time decide about all.
    let unknown = choose(&[base.clone(), greedy(None), pop.clone()]);
    assert!(
        (unknown.sentence).starts_with("Choose greedy: it needs 0 walk cycles"),
        "{}",
        unknown.sentence
    );
    // A policy that cannot be run is not asked for its time.
    let foresight = timed(result("foresight", 0, 1000), 1.0, 0.0, None);
    let found = choose(&[base, foresight, pop]);
    assert!(
        (found.sentence).starts_with("Choose pop-256: it takes about 2.15 s"),
        "{}",
        found.sentence
    );
}

#[test]
fn equal_memory_is_decided_by_time() {
    let found = choose(&[
        timed(result("4k", 500_000, 1000), 2.0, 0.0, Some(0.5)),
        timed(result("greedy", 0, 1000), 1.6, 0.0, Some(0.42)),
        timed(result("pop-256", 90_000, 1000), 1.6, 0.0, Some(0.4)),
    ]);
    assert_eq!(found.policy, "pop-256", "{}", found.sentence);
}

#[test]
fn a_measured_user_time_whose_range_holds_a_loss_is_no_gain() {
    let with = |gains| CellResult {
        run_time: Some(RunTime::of_gains(gains, RunTimeBasis::Measured)),
        ..result("greedy", 0, 1000)
    };
    let said = |gains| choose(&[result("4k", 500_000, 1000), with(gains)]).sentence;
    assert!(said([0.01, 0.05, 0.1]).starts_with("Choose greedy"));
    let unsure = said([-0.01, 0.05, 0.1]);
    assert!(
        unsure.contains("(greedy), is no difference that this machine can show. Stay with 4k."),
        "{unsure}"
    );
}

#[test]
fn fewer_page_faults_alone_are_a_gain() {
    let found = choose(&[
        timed(result("4k", 500, 1000), 2.0, 0.0, Some(0.5)),
        timed(result("greedy", 500, 1000), 2.0, 0.01, Some(0.3)),
    ]);
    assert_eq!(found.policy, "greedy", "{}", found.sentence);
}

#[test]
fn a_range_with_a_loss_shows_no_gain() {
    let with = |spread| {
        choose(&[
            timed(result("4k", 500_000, 1000), 2.0, 0.0, Some(0.0)),
            timed(result("greedy", 0, 1000), 1.9, spread, Some(0.0)),
        ])
    };
    assert_eq!(with(0.05).policy, "greedy");
    let unsure = with(0.2);
    assert_eq!(unsure.policy, "4k");
    assert!(
        unsure.sentence.ends_with(
            "takes about 5.0% less processor time than 4k, which is no difference that this \
             machine can show (5.0% more to 15.0% less). Stay with 4k."
        ),
        "{}",
        unsure.sentence
    );
}

#[test]
fn a_faster_policy_that_takes_more_memory_is_named_with_its_time() {
    let found = choose(&[
        timed(result("4k", 500_000, 1000), 2.0, 0.0, Some(0.0)),
        timed(result("greedy", 0, 2000), 1.0, 0.0, Some(0.0)),
        timed(result("pop-256", 100_000, 1050), 1.2, 0.0, Some(0.0)),
    ]);
    assert_eq!(found.policy, "pop-256");
    assert!(
        found.sentence.ends_with(
            " greedy would take 50.0% less processor time than 4k, for 3.91 MiB (100.0%) more memory."
        ),
        "{}",
        found.sentence
    );
}
