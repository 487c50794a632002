//! The recommendations of a comparison: one for each machine with a choice.

use broadleaf_metrics::{CellResult, Comparison, MemoryAsked, Recommendation, TraceSummary};

use crate::advice::{Advice, BASELINE, advise};
use crate::judging::{Judging, candidates};
use crate::run_time::{deciding_faults, page_faults_sentence, run_time_sentence};

/// The data for the table apart from the comparison itself.
pub struct Context<'a> {
    /// The results of [`BASELINE`] and [`REFERENCE`] on each machine, even if they are not in the
    /// comparison.
    pub references: &'a [CellResult],
    /// Returns true if `run` or the kernel can run the policy.
    pub can_be_run: &'a dyn Fn(&str) -> bool,
    /// Machines that are judged by walk cycles alone. Their memory is modelled down to the frame
    /// only because another machine of the comparison needs it.
    pub by_walks: &'a [String],
}

/// Returns the recommendations of the tables, for programs: one for each machine with a choice.
pub fn recommendations(comparison: &Comparison, context: &Context<'_>) -> Vec<Recommendation> {
    let on = |machine: &&str| {
        let results = of_machine(comparison, machine);
        let baseline = context.reference(BASELINE, machine)?;
        let advice = context.advise(machine, &results, baseline, comparison.memory.as_ref())?;
        let told = told_of(&advice, &results, baseline, context);
        Some(Recommendation {
            machine: (*machine).to_owned(),
            run_time: told.and_then(|told| context.run_time(told, baseline, &comparison.trace)),
            page_faults: told.and_then(page_faults_sentence),
            policy: advice.policy,
            sentence: advice.sentence,
            commands: Vec::new(),
        })
    };
    machines(comparison).iter().filter_map(on).collect()
}

/// Returns the result whose run time is printed: the chosen one, or the fastest if base pages were
/// chosen.
fn told_of<'a>(
    advice: &Advice,
    results: &[&'a CellResult],
    baseline: &CellResult,
    context: &Context<'_>,
) -> Option<&'a CellResult> {
    let judging = Judging::new(results, baseline, context.can_be_run);
    let others = || (results.iter().copied()).filter(|result| result.policy != BASELINE);
    let chosen = others().find(|result| result.policy == advice.policy);
    let possible = candidates(results, context.can_be_run);
    let possible = possible.filter(|result| result.policy != BASELINE);
    // Another machine of the comparison may be the only reason for costs of faults.
    let is_by_walks = context.is_by_walks(&baseline.machine) && !judging.is_by_time();
    chosen.or_else(|| match is_by_walks {
        true => possible.min_by_key(|result| result.walk_cycles),
        false => judging.fastest(possible),
    })
}

impl Context<'_> {
    /// Returns the sentences on the run time under the policy of `result`. They add the cycles of
    /// faults where these alone decide against the policy.
    fn run_time(
        &self,
        result: &CellResult,
        baseline: &CellResult,
        trace: &TraceSummary,
    ) -> Option<String> {
        let sentence = run_time_sentence(result, baseline, trace)?;
        let costs = match self.is_by_walks(&result.machine) {
            true => None,
            false => deciding_faults(result, baseline),
        };
        Some(match costs {
            Some(costs) => format!("{sentence} {costs}"),
            None => sentence,
        })
    }

    /// Returns the advice for a machine. Other machines of the comparison do not change it.
    pub(crate) fn advise(
        &self,
        machine: &str,
        results: &[&CellResult],
        baseline: &CellResult,
        memory: Option<&MemoryAsked>,
    ) -> Option<Advice> {
        if !self.is_by_walks(machine) {
            return advise(results, baseline, self.can_be_run, memory);
        }
        let without_memory = |result: &CellResult| CellResult {
            memory: None,
            ..result.clone()
        };
        let results: Vec<CellResult> = results.iter().copied().map(without_memory).collect();
        let results: Vec<&CellResult> = results.iter().collect();
        advise(&results, &without_memory(baseline), self.can_be_run, None)
    }

    /// Returns true if processor time counts on a machine.
    pub(crate) fn is_by_time(&self, machine: &str, results: &[&CellResult]) -> bool {
        let baseline = self.reference(BASELINE, machine);
        baseline
            .is_some_and(|baseline| Judging::new(results, baseline, self.can_be_run).is_by_time())
    }

    pub(crate) fn is_by_walks(&self, machine: &str) -> bool {
        self.by_walks.iter().any(|name| name == machine)
    }

    pub(crate) fn reference(&self, policy: &str, machine: &str) -> Option<&CellResult> {
        self.references
            .iter()
            .find(|other| other.policy == policy && other.machine == machine)
    }
}

/// Returns the machines of a comparison, in its order.
pub(crate) fn machines(comparison: &Comparison) -> Vec<&str> {
    let mut machines: Vec<&str> = Vec::new();
    for result in &comparison.results {
        if !machines.contains(&result.machine.as_str()) {
            machines.push(&result.machine);
        }
    }
    machines
}

pub(crate) fn of_machine<'a>(comparison: &'a Comparison, machine: &str) -> Vec<&'a CellResult> {
    comparison
        .results
        .iter()
        .filter(|result| result.machine == machine)
        .collect()
}
