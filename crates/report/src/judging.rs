//! What counts in a choice among policies: processor time where it is known, and otherwise cycles.

use std::cmp::Ordering;

use broadleaf_metrics::{CellResult, RunTime, RunTimeBasis, SOME_GAIN};

use crate::advice::{WORTH_WHILE, added_share, ended, keeps_memory, lost_cycles};
use crate::processor_time::{by_time, is_timed, processor_time_saved};

/// The least difference of two policies that is worth memory, as a share of the run time with base
/// pages. A gain over base pages themselves must reach [`SOME_GAIN`].
const WORTH_TIME: f64 = 0.01;

/// The comparison of results on one machine with each other.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    baseline: &'a CellResult,
    by_time: bool,
}

impl<'a> Judging<'a> {
    /// Judges results on the machine of `baseline`. Processor time counts if it is known of all
    /// that can be chosen, by [`candidates`].
    pub fn new(
        results: &[&CellResult],
        baseline: &'a CellResult,
        can_be_run: &dyn Fn(&str) -> bool,
    ) -> Self {
        let is_known = candidates(results, can_be_run).all(is_timed);
        Self {
            baseline,
            by_time: is_timed(baseline) && is_known,
        }
    }

    /// Returns true if processor time counts, and not cycles.
    pub fn is_by_time(&self) -> bool {
        self.by_time
    }

    /// Returns true if a result adds little enough memory to be chosen.
    pub fn keeps_memory(&self, result: &CellResult) -> bool {
        keeps_memory(result, self.baseline)
    }

    /// Returns the memory that a result adds, as a share of that with base pages.
    pub fn added_share(&self, result: &CellResult) -> f64 {
        added_share(result, self.baseline)
    }

    /// Returns true if a result saves enough over base pages.
    pub fn gains(&self, result: &CellResult) -> bool {
        self.saves_enough(result, self.baseline)
    }

    /// Returns true if `result` saves enough over `other` to be worth memory.
    ///
    /// If processor time does not count, the result must lose fewer cycles. Fault costs are round
    /// figures, so with them a difference below a hundredth of the baseline's cycles does not
    /// count. If the run times are known, the difference must matter to them as well. A measured
    /// range that holds a loss shows no gain over base pages.
    pub fn saves_enough(&self, result: &CellResult, other: &CellResult) -> bool {
        let baseline = self.baseline;
        let is_over_base = other.policy == baseline.policy;
        let least_share = if is_over_base { SOME_GAIN } else { WORTH_TIME };
        if let Some([with, without]) = self.times_saved([result, other]) {
            let is_shown = !is_over_base || with[0] > 0.0;
            return is_shown && with[1] - without[1] >= least_share;
        }
        let saved = lost_cycles(other).saturating_sub(lost_cycles(result)) as f64;
        let is_seen =
            baseline.memory.is_none() || saved >= WORTH_WHILE * lost_cycles(baseline) as f64;
        let is_worth_time =
            user_time_saved(result, other, baseline).is_none_or(|share| share >= least_share);
        let is_shown = !is_over_base || result.run_time.is_none_or(|known| is_gain(&known));
        let is_less = saved >= WORTH_WHILE * baseline.accesses as f64 && saved > 0.0;
        is_less && is_seen && is_worth_time && is_shown
    }

    /// Returns the saved shares of processor time of two results, if it counts and is known.
    fn times_saved(&self, results: [&CellResult; 2]) -> Option<[[f64; 3]; 2]> {
        let [one, other] = results.map(|of| processor_time_saved(of, self.baseline));
        let both = [one?, other?];
        self.by_time.then_some(both)
    }

    /// Orders results from the fastest on.
    pub(crate) fn faster(&self, one: &CellResult, other: &CellResult) -> Ordering {
        let time = match self.by_time {
            true => by_time(one, other),
            false => Ordering::Equal,
        };
        let rest = |of: &CellResult| (lost_cycles(of), of.peak_resident_pages, of.promotions);
        time.then_with(|| rest(one).cmp(&rest(other)))
    }

    /// Returns the fastest result. One that saves enough comes before others, and base pages come
    /// last. Returns `None` without a result.
    pub(crate) fn fastest<'r>(
        &self,
        results: impl Iterator<Item = &'r CellResult> + Clone,
    ) -> Option<&'r CellResult> {
        let faster = |one: &&CellResult, other: &&CellResult| self.faster(one, other);
        let gaining = || results.clone().filter(|result| self.gains(result));
        let others = || (results.clone()).filter(|result| result.policy != self.baseline.policy);
        (gaining().min_by(faster))
            .or_else(|| others().min_by(faster))
            .or_else(|| results.clone().min_by(faster))
    }
}

/// Returns the results that can be chosen: of policies that can be run, and of whole traces.
pub(crate) fn candidates<'a>(
    results: &[&'a CellResult],
    can_be_run: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = &'a CellResult> + Clone {
    let lasts = |result: &&CellResult| can_be_run(&result.policy) && ended(result).is_none();
    let all: Vec<&CellResult> = results.iter().copied().filter(lasts).collect();
    all.into_iter()
}

/// Returns the user time that `result` saves over `other`, as a share of the time with base pages.
/// Returns `None` if a run time is not known.
fn user_time_saved(result: &CellResult, other: &CellResult, baseline: &CellResult) -> Option<f64> {
    let gain = |of: &CellResult| match of.policy == baseline.policy {
        true => Some(0.0),
        false => Some(of.run_time?.gain()),
    };
    Some(gain(result)? - gain(other)?)
}

/// Returns true unless a measured range holds a loss. The range of a table is wide on purpose.
fn is_gain(known: &RunTime) -> bool {
    known.basis == RunTimeBasis::Table || known.ratio_low > 1.0
}
