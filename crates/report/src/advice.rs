//! The recommendation of a policy, with its reason in one sentence.

use std::cmp::Ordering;

use broadleaf_metrics::{CellResult, MemoryAsked, MemoryResult, SOME_GAIN};

use crate::disk::{is_lower_by_eviction, memory_is_too_small};
use crate::number::{percent, ratio, short, size_signed};
use crate::processor_time::{
    are_timed, by_time, processor_seconds, processor_time_saved, saved_time,
};
use crate::stay::Staying;

/// The policy that all others are compared with: no superpages.
pub const BASELINE: &str = "4k";
/// The second reference: the policy of a kernel that promotes conservatively.
pub const REFERENCE: &str = "freebsd";
/// The size of a base page, in bytes, in results without the frame-level model.
const PAGE: u64 = 4096;
/// The maximum memory that a chosen policy may add, as a share of the memory without superpages.
const MOST_ADDED: f64 = 0.10;
/// The least saving that is worth memory, in walk cycles per access. Below, page sizes hardly
/// matter.
pub(crate) const WORTH_WHILE: f64 = 0.01;
/// The least difference of two policies that is worth memory, as a share of the run time with base
/// pages. A gain over base pages themselves must reach [`SOME_GAIN`].
const WORTH_TIME: f64 = 0.01;

/// The recommended policy, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The chosen policy's name.
    pub policy: String,
    /// The reason, in one or two sentences.
    pub sentence: String,
}

/// Returns the memory that a policy adds, in bytes: its peak of resident memory less that of
/// `baseline`.
pub fn added_bytes(result: &CellResult, baseline: &CellResult) -> i64 {
    peak_bytes(result) - peak_bytes(baseline)
}

/// Returns the size of a base page in a result.
pub(crate) fn page_bytes(result: &CellResult) -> u64 {
    (result.memory.as_ref()).map_or(PAGE, |memory| memory.base_page_bytes)
}

pub(crate) fn peak_bytes(result: &CellResult) -> i64 {
    (result.peak_resident_pages * page_bytes(result)).cast_signed()
}

/// Returns the number of accesses after which memory was used up. Such a result covers a part of
/// the trace, and is compared with no other.
pub(crate) fn ended(result: &CellResult) -> Option<u64> {
    result.memory.as_ref()?.out_of_memory_after
}

/// Returns the cycles that page sizes should save: cycles of walks, and cycles of faults and
/// bookkeeping if they have a cost.
pub(crate) fn lost_cycles(result: &CellResult) -> u64 {
    let lost = |memory: &MemoryResult| {
        memory
            .fault_cycles
            .saturating_add(memory.bookkeeping_cycles)
    };
    let beside = result.memory.as_ref().map_or(0, lost);
    result.walk_cycles.saturating_add(beside)
}

/// Returns the name of these cycles.
pub(crate) fn cycles_of(result: &CellResult) -> &'static str {
    if result.memory.is_some() {
        "cycles of walks and faults"
    } else {
        "walk cycles"
    }
}

/// Returns the added memory as a share of the baseline's peak.
pub fn added_share(result: &CellResult, baseline: &CellResult) -> f64 {
    added_bytes(result, baseline) as f64 / peak_bytes(baseline) as f64
}

/// Returns true if a policy adds little enough memory to be chosen.
pub fn keeps_memory(result: &CellResult, baseline: &CellResult) -> bool {
    added_share(result, baseline) <= MOST_ADDED
}

/// Chooses among the results of one trace on one machine by [the rule](crate::RULE_IN_FULL).
///
/// `can_be_run` returns true if `run` or the kernel can run a policy. A policy that looks into the
/// future cannot be run. If no result keeps the rule, the baseline is chosen, even if it is not
/// among the results. `memory` is the modelled memory, if there is any. Returns `None` if there is
/// no result to choose from, or if the baseline used memory up.
pub fn advise(
    results: &[&CellResult],
    baseline: &CellResult,
    can_be_run: &dyn Fn(&str) -> bool,
    memory: Option<&MemoryAsked>,
) -> Option<Advice> {
    if ended(baseline).is_some() {
        return None;
    }
    let lasts = |result: &&CellResult| can_be_run(&result.policy) && ended(result).is_none();
    let possible = || results.iter().copied().filter(lasts);
    let worth_while = |result: &CellResult| saves_enough(result, baseline, baseline);
    let fastest = fastest_of(possible(), baseline)?;
    let chosen = cheapest(possible(), baseline).unwrap_or(baseline);
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
        choice(chosen, baseline)
    };
    if worth_while(fastest) {
        sentence.push_str(&alternative(fastest, chosen, baseline));
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

/// Returns the sentence on a chosen policy that makes superpages.
fn choice(chosen: &CellResult, baseline: &CellResult) -> String {
    let (policy, memory) = (&chosen.policy, added(chosen, baseline));
    if let Some([_, share, _]) = processor_time_saved(chosen, baseline) {
        let seconds = [chosen, baseline].map(|of| processor_seconds(of).unwrap_or_default());
        return format!(
            "Choose {policy}: it takes about {:.2} s of processor time instead of {:.2} s ({} \
             less), for {memory}.",
            seconds[0],
            seconds[1],
            percent(share),
        );
    }
    format!(
        "Choose {policy}: it needs {} {} instead of {} ({}), for {memory}.",
        short(lost_cycles(chosen)),
        cycles_of(chosen),
        short(lost_cycles(baseline)),
        ratio(lost_cycles(chosen), lost_cycles(baseline)),
    )
}

/// Returns a sentence on the `fastest` policy, if it is faster than the chosen one.
fn alternative(fastest: &CellResult, chosen: &CellResult, baseline: &CellResult) -> String {
    let (policy, memory) = (&fastest.policy, added(fastest, baseline));
    if are_timed([fastest, chosen], baseline) {
        let share = processor_time_saved(fastest, baseline).map_or(0.0, |[_, share, _]| share);
        return match saves_enough(fastest, chosen, baseline) {
            true => format!(" {policy} would take {}, for {memory}.", saved_time(share)),
            false => String::new(),
        };
    }
    match lost_cycles(fastest) < lost_cycles(chosen) {
        true => format!(
            " {policy} would need {}, for {memory}.",
            short(lost_cycles(fastest))
        ),
        false => String::new(),
    }
}

/// Returns the fastest result: by processor time if all have it, and otherwise by lost cycles. A
/// result that saves enough comes before others. Returns `None` without a result.
pub(crate) fn fastest_of<'a>(
    results: impl Iterator<Item = &'a CellResult> + Clone,
    baseline: &CellResult,
) -> Option<&'a CellResult> {
    let timed = are_timed(results.clone(), baseline);
    let saves = |result: &&CellResult| saves_enough(result, baseline, baseline);
    let faster = |one: &&CellResult, other: &&CellResult| {
        let time = match timed {
            true => by_time(one, other),
            false => Ordering::Equal,
        };
        let rest = |of: &CellResult| (lost_cycles(of), of.peak_resident_pages, of.promotions);
        time.then_with(|| rest(one).cmp(&rest(other)))
    };
    let best = results.clone().filter(saves).min_by(faster);
    let others = || (results.clone()).filter(|result| result.policy != baseline.policy);
    best.or_else(|| others().min_by(faster))
        .or_else(|| results.clone().min_by(faster))
}

/// Returns true if `result` saves enough over `other` to be worth memory.
///
/// If the processor time under all of these policies is known, it alone decides. Otherwise, the
/// result must lose fewer cycles. Fault costs are round figures, so with them a difference below a
/// hundredth of the baseline's cycles does not count. If the run times are known, the difference
/// must matter to them as well.
pub fn saves_enough(result: &CellResult, other: &CellResult, baseline: &CellResult) -> bool {
    let least_share = match other.policy == baseline.policy {
        true => SOME_GAIN,
        false => WORTH_TIME,
    };
    let [with, without] = [result, other].map(|of| processor_time_saved(of, baseline));
    if let Some((with, without)) = with.zip(without) {
        // A range with a loss in it shows no gain over base pages.
        let is_shown = other.policy != baseline.policy || with[0] > 0.0;
        return is_shown && with[1] - without[1] >= least_share;
    }
    let saved = lost_cycles(other).saturating_sub(lost_cycles(result)) as f64;
    let is_seen = baseline.memory.is_none() || saved >= WORTH_WHILE * lost_cycles(baseline) as f64;
    let is_worth_time =
        time_saved(result, other, baseline).is_none_or(|share| share >= least_share);
    saved >= WORTH_WHILE * baseline.accesses as f64 && saved > 0.0 && is_seen && is_worth_time
}

/// Returns the time that `result` saves over `other`, as a share of the run time with base pages.
/// Returns `None` if a run time is not known.
fn time_saved(result: &CellResult, other: &CellResult, baseline: &CellResult) -> Option<f64> {
    let gain = |of: &CellResult| match of.policy == baseline.policy {
        true => Some(0.0),
        false => Some(of.run_time?.gain()),
    };
    Some(gain(result)? - gain(other)?)
}

/// Returns the result that adds the least memory, of those that keep memory and are about as fast
/// as the fastest. Returns `None` if none of them saves enough.
fn cheapest<'a>(
    results: impl Iterator<Item = &'a CellResult> + Clone,
    baseline: &CellResult,
) -> Option<&'a CellResult> {
    let gaining = results.filter(|result| {
        keeps_memory(result, baseline) && saves_enough(result, baseline, baseline)
    });
    let fastest = fastest_of(gaining.clone(), baseline)?;
    // A peak that is low because pages were written to the disk saves no memory.
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
mod tests;
