//! A description of everything that the results of a plan depend on.

use super::Plan;
use std::fmt::Write;

impl Plan {
    /// Describes everything that the results of a replay depend on, beside the trace: two plans
    /// with equal descriptions have equal results on a trace. The number of threads and the limits
    /// of room are no part of it.
    ///
    /// Returns `None` if the plan asks for more than results: interim results, frames, ranges,
    /// listeners, or choices of a policy with foresight. Returns `None` if a policy is given as a
    /// value, which its name does not describe.
    pub fn identity(&self) -> Option<String> {
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
        let mut text = String::new();
        for policy in policies {
            writeln!(text, "policy {}", policy.name()).ok()?;
        }
        for machine in machines {
            writeln!(text, "machine {machine:?}").ok()?;
        }
        writeln!(
            text,
            "memory {limits:?}, one for all machines: {one_memory}"
        )
        .ok()?;
        writeln!(
            text,
            "curves {curves}, tables {tables}, restarts {restarts}"
        )
        .ok()?;
        Some(text)
    }
}
