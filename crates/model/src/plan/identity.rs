//! A description of everything that the results of a plan depend on.

use super::Plan;
use crate::replay::cores::follows_core;
use std::fmt;

/// Everything that the results of a plan depend on, beside the trace: two plans with equal
/// identities have equal results on a trace. The number of threads and the limits of room are no
/// part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanIdentity {
    /// The policies, by name, in order.
    pub policies: Vec<String>,
    /// The machines in full, in order.
    pub machines: Vec<String>,
    /// The plan asks for curves. They are added to results, and change no other figure.
    pub curves: bool,
    /// All else: memory, page tables, and instructions that begin again.
    pub conditions: String,
    /// Each result depends on its own policy and machine alone, whatever they are compared with. A
    /// note is about such results, unless it says that it is [about the
    /// plan](crate::NoteAbout::Plan).
    pub is_by_cell: bool,
}

impl fmt::Display for PlanIdentity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for policy in &self.policies {
            writeln!(out, "policy {policy}")?;
        }
        for machine in &self.machines {
            writeln!(out, "machine {machine}")?;
        }
        writeln!(out, "curves {}, {}", self.curves, self.conditions)
    }
}

impl Plan {
    /// Describes everything that the results of a replay depend on, beside the trace.
    ///
    /// Returns `None` if the plan asks for more than results: interim results, frames, ranges,
    /// listeners, or choices of a policy with foresight. Returns `None` if a policy is given as a
    /// value, which its name does not describe.
    pub fn identity(&self) -> Option<PlanIdentity> {
        // A field that is added has to be named here.
        let Self {
            policies,
            foreseen,
            baseline: _,
            machines,
            most_blocks: _,
            most_kept: _,
            most_next_uses: _,
            keeps_reduced: _,
            expected: _,
            most_course: _,
            threads: _,
            segments: _,
            around_workers: _,
            curves,
            ranges,
            limits,
            layouts: _,
            most_bytes: _,
            interim,
            frames,
            tables,
            all_visits: _,
            restarts,
            listening,
            one_memory,
        } = self;
        let asks_for_more = *ranges || *frames || !interim.is_empty() || listening.is_some();
        let chooses = policies.iter().any(|policy| {
            let foresight = policy.needs().foresight;
            foresight.policy().is_none() && foresight != broadleaf_policy::Foresight::None
        });
        let is_value = policies.iter().any(|policy| !policy.is_known_by_name());
        if asks_for_more || chooses || is_value {
            return None;
        }
        // The foreseen policies follow from the policies.
        let _ = foreseen;
        Some(PlanIdentity {
            policies: policies.iter().map(|policy| policy.name()).collect(),
            machines: machines
                .iter()
                .map(|machine| format!("{machine:?}"))
                .collect(),
            curves: *curves,
            conditions: format!(
                "memory {limits:?}, one for all machines: {one_memory}, tables {tables}, \
                 restarts {restarts}"
            ),
            // Machines that observe one memory decide together about its page sizes. Where a
            // policy follows the core, batches end with each change of it, and memory is sampled
            // then.
            is_by_cell: !one_memory && !policies.iter().any(|policy| follows_core(policy.as_ref())),
        })
    }
}
