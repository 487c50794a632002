//! What to choose, and why, in one sentence.

use broadleaf_metrics::{CellResult, MemoryAsked, MemoryResult};

use crate::disk::{is_lower_by_eviction, memory_is_too_small};
use crate::number::{percent, ratio, short, size_signed};
use crate::stay::Staying;

/// The policy that every other is measured against: no superpages.
pub const BASELINE: &str = "4k";
/// The policy of a kernel that promotes conservatively, the second measure.
pub const REFERENCE: &str = "freebsd";
/// Bytes of a base page in the figures of a result whose memory was not modelled down to the frame.
const PAGE: u64 = 4096;
/// How much memory a policy may add to be chosen, as a share of what the program holds without superpages.
const MOST_ADDED: f64 = 0.10;
/// Walk cycles saved for each access from which on a policy is worth its memory. Below, page sizes hardly matter.
const WORTH_WHILE: f64 = 0.01;

/// The rule by which [`advise`] chooses, for a reader who would choose by another.
pub const RULE: &str = "Rule: of the policies that can be run and raise the peak of memory by at most 10% over 4k, \
    the one with the fewest walk cycles; of those within 0.01 cycles per access of the fewest, the one that adds least. It keeps 4k if no policy saves 0.01 cycles per access.";

/// The same where memory was modelled down to the frame, and faults have a cost.
pub const RULE_OF_MEMORY: &str = "Rule: of the policies that can be run, do not use memory up and raise the peak of memory by at most 10% \
    over 4k, the one that loses the fewest cycles to walks, faults and bookkeeping together; of those within a hundredth of 4k's cycles, or 0.01 cycles per \
    access, of the fewest, the one that adds least. It keeps 4k if no policy saves a hundredth of these cycles and 0.01 cycles per access.";

/// Which policy to choose, and the sentence that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The chosen policy's name.
    pub policy: String,
    /// Why, in one or two sentences.
    pub sentence: String,
}

/// Memory that a policy adds: its peak of resident memory less that of `baseline`, in bytes.
pub fn added_bytes(result: &CellResult, baseline: &CellResult) -> i64 {
    peak_bytes(result) - peak_bytes(baseline)
}

/// How large a base page is in the figures of a result.
pub(crate) fn page_bytes(result: &CellResult) -> u64 {
    (result.memory.as_ref()).map_or(PAGE, |memory| memory.base_page_bytes)
}

pub(crate) fn peak_bytes(result: &CellResult) -> i64 {
    (result.peak_resident_pages * page_bytes(result)).cast_signed()
}

/// Where memory was used up: such a result is of a part of the trace, and is compared with none.
pub(crate) fn ended(result: &CellResult) -> Option<u64> {
    result.memory.as_ref()?.out_of_memory_after
}

/// What page sizes are chosen to save: cycles of walks and, where faults have a cost, of faults; and what a policy takes to charge misses.
pub(crate) fn lost_cycles(result: &CellResult) -> u64 {
    let lost = |memory: &MemoryResult| {
        memory
            .fault_cycles
            .saturating_add(memory.bookkeeping_cycles)
    };
    let beside = result.memory.as_ref().map_or(0, lost);
    result.walk_cycles.saturating_add(beside)
}

/// What these cycles are called.
pub(crate) fn cycles_of(result: &CellResult) -> &'static str {
    if result.memory.is_some() {
        "cycles of walks and faults"
    } else {
        "walk cycles"
    }
}

/// The same as a share of the baseline's peak.
pub fn added_share(result: &CellResult, baseline: &CellResult) -> f64 {
    added_bytes(result, baseline) as f64 / peak_bytes(baseline) as f64
}

/// Chooses among the results of one trace on one machine by [`RULE`], or [`RULE_OF_MEMORY`]. `can_be_run` says whether a policy could decide
/// for a live program, which one that looks into the future could not. Where none of them keeps to the rule, the baseline
/// does, asked for or not. `memory` is what was asked for of memory, where it was. `None` where there is nothing to choose from, or the baseline used memory up.
pub fn advise(
    results: &[&CellResult],
    baseline: &CellResult,
    can_be_run: &dyn Fn(&str) -> bool,
    memory: Option<&MemoryAsked>,
) -> Option<Advice> {
    if ended(baseline).is_some() {
        return None;
    }
    let least_lost = |result: &&&CellResult| {
        (
            lost_cycles(result),
            result.peak_resident_pages,
            result.promotions,
        )
    };
    let lasts = |result: &&&CellResult| can_be_run(&result.policy) && ended(result).is_none();
    let possible = || results.iter().filter(lasts);
    let worth_while = |result: &CellResult| saves_enough(result, baseline, baseline);
    let fastest = *possible().min_by_key(least_lost)?;
    let chosen = cheapest(results.iter().copied(), baseline, &|result| {
        lasts(&result) && added_share(result, baseline) <= MOST_ADDED
    })
    .unwrap_or(baseline);
    let staying = Staying {
        results,
        baseline,
        can_be_run,
        memory,
    };
    let mut sentence = if !worth_while(fastest) {
        staying.nothing_gained(fastest)
    } else if chosen.policy == baseline.policy {
        staying.too_much_memory()
    } else {
        format!(
            "Choose {}: it needs {} {} instead of {} ({}), for {}.",
            chosen.policy,
            short(lost_cycles(chosen)),
            cycles_of(chosen),
            short(lost_cycles(baseline)),
            ratio(lost_cycles(chosen), lost_cycles(baseline)),
            added(chosen, baseline),
        )
    };
    if worth_while(fastest) && lost_cycles(fastest) < lost_cycles(chosen) {
        sentence.push_str(&format!(
            " {} would need {}, for {}.",
            fastest.policy,
            short(lost_cycles(fastest)),
            added(fastest, baseline),
        ));
    }
    let warning = memory.and_then(|asked| memory_is_too_small(baseline, asked));
    if let Some(warning) = warning.filter(|_| worth_while(fastest)) {
        sentence = format!("{warning} {sentence}");
    }
    Some(Advice {
        policy: chosen.policy.clone(),
        sentence,
    })
}

/// Returns true if `result` loses fewer cycles than `other`, and the difference is large enough to spend
/// memory on. Fault costs are round figures, so with them a difference below a hundredth of the baseline's
/// cycles does not count.
pub(crate) fn saves_enough(result: &CellResult, other: &CellResult, baseline: &CellResult) -> bool {
    let saved = lost_cycles(other).saturating_sub(lost_cycles(result)) as f64;
    let is_seen = baseline.memory.is_none() || saved >= WORTH_WHILE * lost_cycles(baseline) as f64;
    saved >= WORTH_WHILE * baseline.accesses as f64 && saved > 0.0 && is_seen
}

/// The result that adds the least memory, of those `allowed` results that are about as fast as the fastest.
/// `None` if none of them saves enough.
fn cheapest<'a>(
    results: impl Iterator<Item = &'a CellResult> + Clone,
    baseline: &CellResult,
    allowed: &dyn Fn(&&CellResult) -> bool,
) -> Option<&'a CellResult> {
    let gaining =
        results.filter(|result| allowed(result) && saves_enough(result, baseline, baseline));
    let fastest = gaining.clone().min_by_key(|result| lost_cycles(result))?;
    // A peak that is low because pages went to the disk saves no memory.
    let peak = |result: &CellResult| {
        if is_lower_by_eviction(result, baseline) {
            baseline.peak_resident_pages
        } else {
            result.peak_resident_pages
        }
    };
    gaining
        .filter(|result| !saves_enough(fastest, result, baseline))
        .min_by_key(|result| (peak(result), lost_cycles(result), result.promotions))
}

pub(crate) fn added(result: &CellResult, baseline: &CellResult) -> String {
    match added_bytes(result, baseline) {
        0 => "no more memory".to_owned(),
        less if less < 0 => format!("{} less memory", size_signed(-less)),
        more => format!(
            "{} ({}) more memory",
            size_signed(more),
            percent(added_share(result, baseline))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::MemoryResult;

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
            "Choose just-right: it needs 20.0k walk cycles instead of 500k (x0.04), for 400 KiB (10.0%) more memory. \
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
            "Page sizes hardly matter to this program: no policy compared here saves walk cycles. Stay with 4k."
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
        // A policy that saves next to nothing against 4k is not chosen for being near the best one.
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
        // Nobody asked for 4k.
        let advice = advise(&[&result("greedy", 10_000, 2000)]);
        assert_eq!(advice.policy, "4k");
        assert_eq!(
            advice.sentence,
            "Stay with 4k (500k walk cycles, 3.91 MiB at its peak): no policy compared here saves 0.01 walk cycles per access within 10% of added memory. \
             greedy would need 10.0k, for 3.91 MiB (100.0%) more memory."
        );
        // What is slower than 4k is no alternative, whatever it adds.
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
    fn memory_is_not_spent_on_a_gain_that_nobody_notices() {
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
        // Where only a policy that takes too much memory gains something, it is named.
        let dear = choose(&[
            result("4k", 80_600, 1000),
            result("pop-128", 73_800, 1098),
            result("greedy", 10_000, 2000),
        ]);
        assert_eq!(dear.policy, "4k");
        assert!(
            dear.sentence.starts_with("Stay with 4k: ")
                && dear.sentence.contains("greedy would need"),
            "{}",
            dear.sentence
        );
        // A hundredth of a cycle an access is enough.
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
            "Choose few-faults: it needs 900k cycles of walks and faults instead of 1.50M (x0.60), for no more memory."
        );
        // What faults cost is a round figure: what is saved of it has to be seen.
        let hardly = choose(&[
            results[0].clone(),
            limited("greedy", 490_000, 1_000_000, None),
        ]);
        assert_eq!(
            hardly.sentence,
            "Page sizes hardly matter to this program: the most that a policy compared here saves, \
             10.0k of 1.50M cycles of walks and faults (greedy), is less than a hundredth of them, or 0.01 cycles per access. Stay with 4k."
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
}
