//! The sentences that recommend base pages.

use std::collections::BTreeMap;

use broadleaf_metrics::{CellResult, MemoryAsked, SOME_GAIN};

use crate::advice::{
    BASELINE, WORTH_WHILE, added, cycles_of, ended, lost_cycles, peak_bytes, saves_enough,
};
use crate::disk::{disk_outweighs, memory_is_too_small};
use crate::number::{counted, percent, ratio, short, size};
use crate::processor_time::{processor_seconds, processor_time_saved, saved_time};

/// A policy counts as much slower than the baseline if it loses this many times the baseline's
/// cycles.
const MUCH_SLOWER: f64 = 1.1;

/// A comparison that recommends the baseline.
pub(crate) struct Staying<'a> {
    /// The results on one machine.
    pub results: &'a [&'a CellResult],
    /// The result of [`BASELINE`].
    pub baseline: &'a CellResult,
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
            return self.hardly_matters(fastest);
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
        saves_enough(best, self.baseline, self.baseline).then(|| {
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
        let is_much_slower = saves_enough(self.baseline, slowest, self.baseline)
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

    /// Returns the sentence if memory would be spent in vain.
    fn hardly_matters(&self, fastest: &CellResult) -> String {
        let baseline = self.baseline;
        let none = self.no_policy();
        let most = if lost_cycles(fastest) < lost_cycles(baseline) {
            let saved = lost_cycles(baseline) - lost_cycles(fastest);
            let is_little = (saved as f64) < WORTH_WHILE * baseline.accesses as f64;
            let gain = fastest.run_time.map(|run_time| run_time.gain());
            let times = processor_time_saved(fastest, baseline);
            let is_unseen = baseline.memory.is_some()
                && (saved as f64) < WORTH_WHILE * lost_cycles(baseline) as f64;
            let threshold = match (times, gain) {
                (Some(times), _) => by_times(times),
                _ if is_little => "less than 0.01 cycles per access".to_owned(),
                _ if is_unseen => "less than a hundredth of them".to_owned(),
                (_, Some(gain)) if gain < 0.0 => {
                    format!("no gain: the run time is about {} longer", percent(-gain))
                }
                (_, Some(gain)) => {
                    format!("about {} of the run time, and less than 3%", percent(gain))
                }
                (_, None) => "not worth its memory".to_owned(),
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
        if processor_seconds(self.baseline).is_some() {
            "3% of the processor time"
        } else if self.baseline.memory.is_some() {
            "a hundredth of the cycles of walks and faults"
        } else {
            "0.01 walk cycles per access"
        }
    }
}

/// Says why a saved share of the processor time, as a range, is too little.
fn by_times([least, middle, most]: [f64; 3]) -> String {
    if middle < 0.0 {
        return format!("no gain: it takes about {}", saved_time(middle));
    }
    let saved = format!("about {}", saved_time(middle));
    match middle < SOME_GAIN {
        true => format!("{saved}, and less than 3%"),
        false => format!(
            "{saved}, and no difference that this machine can show ({} to {})",
            percent(least),
            percent(most)
        ),
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
mod tests {
    use super::*;
    use crate::advice::advise;
    use broadleaf_metrics::{MemoryResult, RunTime, RunTimeBasis};

    fn result(policy: &str, walk_cycles: u64, promotions: u64) -> CellResult {
        CellResult {
            policy: policy.to_owned(),
            accesses: 1_000_000,
            walk_cycles,
            promotions,
            peak_resident_pages: 1000,
            ..CellResult::default()
        }
    }

    fn sentence(results: &[CellResult], memory: Option<&MemoryAsked>) -> String {
        let baseline = result("4k", 500_000, 0);
        let baseline = (results.iter().find(|one| one.policy == "4k")).unwrap_or(&baseline);
        let all: Vec<&CellResult> = results.iter().collect();
        let advice = advise(&all, baseline, &|policy| policy != "foresight", memory).unwrap();
        assert_eq!(advice.policy, "4k");
        advice.sentence
    }

    #[test]
    fn a_gain_of_foresight_is_named() {
        let base = result("4k", 500_000, 0);
        let all = [result("foresight", 15_000, 2), base];
        assert_eq!(
            sentence(&all, None),
            "Stay with 4k: no policy that can be run, of those compared here, saves 0.01 walk \
             cycles per access. \
             foresight would need 15.0k walk cycles instead of 500k (x0.03), for no more memory, \
             but it looks into the future."
        );
    }

    #[test]
    fn without_superpages_there_is_no_statement_on_the_program() {
        let base = result("4k", 500_000, 0);
        assert_eq!(
            sentence(std::slice::from_ref(&base), None),
            "No policy that makes superpages was compared, so there is nothing to choose from. Add \
             policies with --policy."
        );
        assert_eq!(
            sentence(&[base.clone(), result("thp-always", 500_000, 0)], None),
            "The compared policies made no superpages of this program's memory. Stay with 4k."
        );
        let refusing = |policy, reasons: &[(&str, u64)]| CellResult {
            refusals: reasons
                .iter()
                .map(|(reason, count)| ((*reason).to_owned(), *count))
                .collect(),
            ..result(policy, 500_000, 0)
        };
        let reasons = [("not_covered", 900), ("too_few_resident", 700)];
        let all = [
            base,
            refusing("thp-always", &reasons),
            refusing("pop-64", &[("too_few_resident", 534)]),
        ];
        assert_eq!(
            sentence(&all, None),
            "The compared policies made no superpages of this program's memory. The most frequent \
             reason is too_few_resident, at 1,234 decisions: broadleaf explain too_few_resident. \
             Stay with 4k."
        );
    }

    /// Fewer walks can come with a longer run, by a measurement.
    #[test]
    fn a_loss_of_time_is_no_gain_with_a_sign() {
        let with = |gain| CellResult {
            run_time: Some(RunTime::of_gains([gain; 3], RunTimeBasis::Measured)),
            ..result("greedy", 10_000, 2)
        };
        let said = |gain| sentence(&[with(gain), result("4k", 500_000, 0)], None);
        assert_eq!(
            said(-0.881),
            "Page sizes hardly matter to this program: the most that a policy compared here \
             saves, 490k of 500k walk cycles (greedy), is no gain: the run time is about 88.1% \
             longer. Stay with 4k."
        );
        assert!(said(0.02).contains("is about 2.0% of the run time, and less than 3%"));
    }

    #[test]
    fn a_baseline_without_a_row_comes_with_its_figures() {
        assert_eq!(
            sentence(&[result("navarro", 500_000, 1)], None),
            "Page sizes hardly matter to this program: no policy compared here saves walk cycles. \
             Stay with 4k (500k walk cycles, 3.91 MiB at its peak)."
        );
    }

    #[test]
    fn a_policy_that_is_much_slower_is_named() {
        let with = |policy, promotions, swapped_in_pages| CellResult {
            memory: Some(MemoryResult {
                base_page_bytes: 4096,
                swapped_in_pages,
                fault_cycles: swapped_in_pages * 300_000,
                ..MemoryResult::default()
            }),
            ..result(policy, 10_000, promotions)
        };
        let asked = MemoryAsked {
            bytes: Some(2 << 20),
            footprint_bytes: Some(4 << 20),
            costs: BTreeMap::from([("disk".to_owned(), 300_000)])
                .into_iter()
                .collect(),
            ..MemoryAsked::default()
        };
        let text = sentence(&[with("4k", 0, 10), with("greedy", 2, 38)], Some(&asked));
        assert!(
            text.ends_with(
                "No policy compared here saves much of that, and greedy needs 11.4M cycles of \
                 walks and faults instead of 3.01M (x3.79). Stay with 4k."
            ),
            "{text}"
        );
        let text = sentence(&[with("4k", 0, 10), with("greedy", 2, 10)], Some(&asked));
        assert!(
            text.ends_with("No policy compared here changes much of that. Stay with 4k."),
            "{text}"
        );
        let slow = [result("4k", 500_000, 0), result("greedy", 600_000, 1)];
        let text = sentence(&slow, None);
        assert!(
            !text.contains("hardly matter") && text.contains("greedy needs 600k"),
            "{text}"
        );
    }
}
