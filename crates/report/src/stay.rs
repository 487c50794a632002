//! The sentences that recommend base pages.

use std::collections::BTreeMap;

use broadleaf_metrics::{CellResult, MemoryAsked, RunTimeBasis, SOME_GAIN};

use crate::advice::{BASELINE, WORTH_WHILE, added, cycles_of, ended, lost_cycles, peak_bytes};
use crate::baseline::less_or_more;
use crate::disk::{disk_outweighs, memory_is_too_small};
use crate::judging::Judging;
use crate::number::{counted, percent, ratio, short, size};
use crate::processor_time::{processor_time_saved, saved_time};

/// A policy counts as much slower than the baseline if it loses this many times the baseline's
/// cycles.
const MUCH_SLOWER: f64 = 1.1;

/// Changes of the processor time that are written as 0.0%.
const UNSEEN: f64 = 0.0005;

/// A comparison that recommends the baseline.
pub(crate) struct Staying<'a> {
    /// The results on one machine.
    pub results: &'a [&'a CellResult],
    /// The result of [`BASELINE`].
    pub baseline: &'a CellResult,
    /// What counts.
    pub judging: Judging<'a>,
    /// Returns true if a kernel could run the policy.
    pub can_be_run: &'a dyn Fn(&str) -> bool,
    /// The memory that was asked for, if it was modelled.
    pub memory: Option<&'a MemoryAsked>,
}

impl Staying<'_> {
    /// Returns the sentence for a policy that saves enough, but adds too much memory.
    pub(crate) fn too_much_memory(&self) -> String {
        format!(
            "{}: {} saves {} within 10% of added memory.",
            self.stay(),
            self.no_policy(),
            self.threshold()
        )
    }

    /// Returns the sentence if even the `fastest` policy that can be run saves too little.
    pub(crate) fn nothing_gained(&self, fastest: &CellResult) -> String {
        let too_small = (self.memory).and_then(|asked| memory_is_too_small(self.baseline, asked));
        let is_too_small = too_small.is_some();
        let disk = || disk_outweighs(self.baseline, self.memory?);
        let wait = too_small.or_else(disk);
        if let Some(what) = self.without_gain() {
            return match wait {
                Some(wait) => format!("{wait} {what}"),
                None => what,
            };
        }
        let Some(wait) = wait else {
            let by_time = self.too_little_time(fastest);
            return by_time.unwrap_or_else(|| self.hardly_matters(fastest));
        };
        let none = capital(self.no_policy());
        let rest = match self.slower() {
            Some(slower) => format!(" {none} saves much of that, and {slower}."),
            None if is_too_small => format!(" {none} changes much of that."),
            None => String::new(),
        };
        format!("{wait}{rest} {}.", self.stay())
    }

    /// Returns the sentence if no superpages were made, or if only policies that cannot be run save
    /// enough.
    fn without_gain(&self) -> Option<String> {
        let lasted = || (self.results.iter()).filter(|result| ended(result).is_none());
        if lasted().all(|result| !self.made_superpages(result)) {
            return Some(if lasted().all(|result| result.policy == BASELINE) {
                "No policy that makes superpages was compared, so there is nothing to choose from. \
                Add policies with --policy."
                    .to_owned()
            } else {
                self.none_made()
            });
        }
        let foresees = |result: &&&CellResult| !(self.can_be_run)(&result.policy);
        let best = lasted()
            .filter(foresees)
            .min_by_key(|result| lost_cycles(result))?;
        self.judging.gains(best).then(|| {
            format!(
                "{}: {} saves {}. {} would need {} {} instead of {} ({}), for {}, \
                but it looks into the future.",
                self.stay(),
                self.no_policy(),
                self.threshold(),
                best.policy,
                short(lost_cycles(best)),
                cycles_of(best),
                short(lost_cycles(self.baseline)),
                ratio(lost_cycles(best), lost_cycles(self.baseline)),
                added(best, self.baseline),
            )
        })
    }

    /// Returns the sentence if policies that make superpages were compared, and none made any.
    /// Names the most frequent reason.
    fn none_made(&self) -> String {
        let mut decisions: BTreeMap<&str, u64> = BTreeMap::new();
        let others = self
            .results
            .iter()
            .filter(|result| result.policy != BASELINE);
        for result in others {
            for (reason, count) in &result.refusals {
                *decisions.entry(reason).or_default() += count;
            }
        }
        // The first by name of several that are equally frequent.
        let most = decisions.iter().rev().max_by_key(|(_, count)| **count);
        let why = match most.filter(|(_, count)| **count > 0) {
            Some((reason, count)) => format!(
                " The most frequent reason is {reason}, at {}: broadleaf explain {reason}.",
                counted(*count, "decision")
            ),
            None => String::new(),
        };
        format!(
            "The compared policies made no superpages of this program's memory.{why} {}.",
            self.stay()
        )
    }

    /// Returns true if a result differs from that of base pages by its page sizes.
    fn made_superpages(&self, result: &CellResult) -> bool {
        let differs = result.walk_cycles != self.baseline.walk_cycles
            || result.peak_resident_pages != self.baseline.peak_resident_pages;
        // Under short memory, counts differ by evictions as well.
        result.promotions > 0 || (result.memory.is_none() && differs)
    }

    /// Returns the slowest policy and its cycles, if they are many more than the baseline's.
    fn slower(&self) -> Option<String> {
        let slowest = (self.results.iter().copied())
            .filter(|result| ended(result).is_none())
            .max_by_key(|result| lost_cycles(result))?;
        let much = lost_cycles(self.baseline) as f64 * MUCH_SLOWER;
        let is_much_slower = self.judging.saves_enough(self.baseline, slowest)
            && lost_cycles(slowest) as f64 >= much;
        is_much_slower.then(|| {
            format!(
                "{} needs {} {} instead of {} ({})",
                slowest.policy,
                short(lost_cycles(slowest)),
                cycles_of(slowest),
                short(lost_cycles(self.baseline)),
                ratio(lost_cycles(slowest), lost_cycles(self.baseline)),
            )
        })
    }

    /// Returns true if a measured gain is large enough and its range holds a loss.
    fn is_unsure(&self, result: &CellResult) -> bool {
        result.run_time.is_some_and(|run_time| {
            run_time.gain() >= SOME_GAIN
                && run_time.basis == RunTimeBasis::Measured
                && run_time.ratio_low <= 1.0
        })
    }

    /// Returns the sentence if processor time counts, and even the `fastest` policy saves too
    /// little of it.
    fn too_little_time(&self, fastest: &CellResult) -> Option<String> {
        let saved = processor_time_saved(fastest, self.baseline);
        let [least, middle, most] = saved.filter(|_| self.judging.is_by_time())?;
        if middle.abs() < UNSEEN {
            return Some(format!(
                "Page sizes hardly matter to this program: no policy compared here changes its \
                 processor time. {}.",
                self.stay()
            ));
        }
        let takes = format!(
            "The fastest policy compared here, {}, takes about {} than {BASELINE}",
            fastest.policy,
            saved_time(middle)
        );
        let user = fastest.run_time.map_or(0.0, |run_time| run_time.gain());
        let why = if middle < 0.0 && user > 0.0 {
            ": more system time than the user time that it saves".to_owned()
        } else if middle < 0.0 {
            String::new()
        } else if middle < SOME_GAIN {
            ", and less than 3% does not count".to_owned()
        } else {
            format!(
                ", which is no difference that this machine can show ({} to {})",
                less_or_more(least),
                less_or_more(most)
            )
        };
        Some(format!("{takes}{why}. {}.", self.stay()))
    }

    /// Returns the sentence if memory would be spent in vain.
    fn hardly_matters(&self, fastest: &CellResult) -> String {
        let baseline = self.baseline;
        let none = self.no_policy();
        let most = if lost_cycles(fastest) < lost_cycles(baseline) {
            let saved = lost_cycles(baseline) - lost_cycles(fastest);
            let is_little = (saved as f64) < WORTH_WHILE * baseline.accesses as f64;
            let gain = fastest.run_time.map(|run_time| run_time.gain());
            let is_unseen = baseline.memory.is_some()
                && (saved as f64) < WORTH_WHILE * lost_cycles(baseline) as f64;
            let threshold = match gain {
                _ if is_little => "less than 0.01 cycles per access".to_owned(),
                _ if is_unseen => "less than a hundredth of them".to_owned(),
                Some(gain) if gain < 0.0 => {
                    format!("no gain: the run time is about {} longer", percent(-gain))
                }
                Some(_) if self.is_unsure(fastest) => {
                    "no difference that this machine can show".to_owned()
                }
                Some(gain) => {
                    format!("about {} of the run time, and less than 3%", percent(gain))
                }
                None => "not worth its memory".to_owned(),
            };
            format!(
                "the most that a policy compared here saves, {} of {} {} ({}), is {threshold}",
                short(saved),
                short(lost_cycles(baseline)),
                cycles_of(baseline),
                fastest.policy,
            )
        } else {
            format!("{none} saves {}", cycles_of(baseline))
        };
        let stay = self.stay();
        match self.slower() {
            Some(slower) => format!("{}, and {slower}. {stay}.", capital(&most)),
            None => format!("Page sizes hardly matter to this program: {most}. {stay}."),
        }
    }

    /// Returns the baseline, with its figures if no row of the table has them.
    fn stay(&self) -> String {
        let has_row = (self.results.iter()).any(|result| result.policy == BASELINE);
        if has_row {
            return format!("Stay with {BASELINE}");
        }
        format!(
            "Stay with {BASELINE} ({} {}, {} at its peak)",
            short(lost_cycles(self.baseline)),
            cycles_of(self.baseline),
            size(peak_bytes(self.baseline).cast_unsigned()),
        )
    }

    /// Returns the subject of a sentence about the policies that could have been chosen.
    fn no_policy(&self) -> &'static str {
        let all_can = (self.results.iter()).all(|result| (self.can_be_run)(&result.policy));
        if all_can {
            "no policy compared here"
        } else {
            "no policy that can be run, of those compared here,"
        }
    }

    /// Returns the least saving of a policy, in words.
    fn threshold(&self) -> &'static str {
        if self.judging.is_by_time() {
            "3% of the processor time"
        } else if self.baseline.memory.is_some() {
            "a hundredth of the cycles of walks and faults"
        } else {
            "0.01 walk cycles per access"
        }
    }
}

/// Returns the text with its first letter as a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    (letters.next()).map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests;
