//! Linux with the settings of this machine, among the default policies.

use broadleaf_metrics::CellResult;

use super::{AskedPolicies, Request, compare};
use crate::explained::{PlannedReplay, ShowPlan, heading_of};
use crate::failure::Failure;
use crate::names;
use crate::watch::SubjectWatch;

/// The results of Linux with the settings of this machine.
pub(super) struct KernelResults {
    pub(super) policy: String,
    /// One result for each machine.
    pub(super) results: Vec<CellResult>,
    /// Notes on the policy.
    pub(super) notes: Vec<String>,
}

/// Replays the trace of `request` once more, under Linux's own policy.
///
/// The policy needs frames of memory. In the plan of the other policies, it would make the model of
/// frames replay them all. Memory never runs short, so the results are compared by walks, as those
/// of the others are.
///
/// # Errors
/// Those of [`compare`].
pub(super) fn kernel_results(
    policy: String,
    request: Request<'_>,
) -> Result<KernelResults, Failure> {
    let policies = AskedPolicies {
        policies: vec![names::policy(&policy)?],
        spellings: vec![policy.clone()],
        ..AskedPolicies::default()
    };
    let part = SubjectWatch {
        subject: &policy,
        watch: request.watch,
    };
    let heading = heading_of(&policy);
    let shown = request.explain_plan;
    let show = |planned: &PlannedReplay| {
        if let Some(show) = shown {
            show(&PlannedReplay {
                heading: Some(heading.clone()),
                ..planned.clone()
            });
        }
    };
    let request = Request {
        policies,
        watch: &part,
        explain_plan: shown.map(|_| &show as ShowPlan<'_>),
        ..request
    };
    let answer = compare(request, &[])?.comparison;
    let mut results = answer.results;
    for result in &mut results {
        result.memory = None;
    }
    let mut notes = answer.notes;
    let of_policy = format!("policy {policy}: ");
    notes.retain(|note| note.starts_with(&of_policy));
    Ok(KernelResults {
        policy,
        results,
        notes,
    })
}
