//! The recommendation of a policy, with its reason in one sentence.

use broadleaf_metrics::{CellResult, MemoryAsked, MemoryResult};

use crate::disk::{is_lower_by_eviction, memory_is_too_small};
use crate::judging::{Judging, candidates};
use crate::number::{percent, ratio, short, size_signed};
use crate::processor_time::{processor_seconds, processor_time_saved, saved_time};
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
pub(crate) fn added_share(result: &CellResult, baseline: &CellResult) -> f64 {
    added_bytes(result, baseline) as f64 / peak_bytes(baseline) as f64
}

/// Returns true if a policy adds little enough memory to be chosen.
pub(crate) fn keeps_memory(result: &CellResult, baseline: &CellResult) -> bool {
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
    let judging = Judging::new(results, baseline, can_be_run);
    let possible = candidates(results, can_be_run);
    let fastest = judging.fastest(possible.clone())?;
    let is_gain = judging.gains(fastest);
    let chosen = cheapest(possible, baseline, &judging).unwrap_or(baseline);
    let staying = Staying {
        results,
        baseline,
        judging,
        can_be_run,
        memory,
    };
    let mut sentence = if !is_gain {
        staying.nothing_gained(fastest)
    } else if chosen.policy == baseline.policy {
        staying.too_much_memory()
    } else {
        choice(chosen, baseline, &judging)
    };
    if is_gain {
        sentence.push_str(&alternative(fastest, chosen, baseline, &judging));
    }
    let warning = memory.and_then(|asked| memory_is_too_small(baseline, asked));
    if let Some(warning) = warning.filter(|_| is_gain) {
        sentence = format!("{warning} {sentence}");
    }
    Some(Advice {
        policy: chosen.policy.clone(),
        sentence,
    })
}

/// Returns the sentence on a chosen policy that makes superpages.
fn choice(chosen: &CellResult, baseline: &CellResult, judging: &Judging<'_>) -> String {
    let (policy, memory) = (&chosen.policy, added(chosen, baseline));
    let saved = processor_time_saved(chosen, baseline).filter(|_| judging.is_by_time());
    if let Some([_, share, _]) = saved {
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
fn alternative(
    fastest: &CellResult,
    chosen: &CellResult,
    baseline: &CellResult,
    judging: &Judging<'_>,
) -> String {
    let (policy, memory) = (&fastest.policy, added(fastest, baseline));
    let is_faster = match judging.is_by_time() {
        true => judging.saves_enough(fastest, chosen),
        false => lost_cycles(fastest) < lost_cycles(chosen),
    };
    let saved = processor_time_saved(fastest, baseline).filter(|_| judging.is_by_time());
    match (is_faster, saved) {
        (false, _) => String::new(),
        (true, Some([_, share, _])) => format!(
            " {policy} would take {} than {BASELINE}, for {memory}.",
            saved_time(share)
        ),
        (true, None) => format!(
            " {policy} would need {}, for {memory}.",
            short(lost_cycles(fastest))
        ),
    }
}

/// Returns the result that adds the least memory, of those that keep memory and are about as fast
/// as the fastest. Returns `None` if none of them saves enough.
fn cheapest<'a>(
    results: impl Iterator<Item = &'a CellResult> + Clone,
    baseline: &CellResult,
    judging: &Judging<'_>,
) -> Option<&'a CellResult> {
    let gaining = results.filter(|result| keeps_memory(result, baseline) && judging.gains(result));
    let fastest = judging.fastest(gaining.clone())?;
    // A peak that is low because pages were written to the disk saves no memory.
    let peak = |result: &CellResult| {
        if is_lower_by_eviction(result, baseline) {
            baseline.peak_resident_pages
        } else {
            result.peak_resident_pages
        }
    };
    gaining
        .filter(|result| !judging.saves_enough(fastest, result))
        .min_by(|one, other| {
            let least = peak(one).cmp(&peak(other));
            least.then_with(|| judging.faster(one, other))
        })
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
