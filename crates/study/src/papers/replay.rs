//! Replays of a trace under several policies in limited memory, with their costs.

use std::ops::ControlFlow;

use broadleaf_metrics::CellResult;
use broadleaf_model::{MemoryLimits, Outcome, Plan, Source};

use super::PaperSetting;
use super::generated::GeneratedTrace;
use crate::compare::available_threads;
use crate::failure::Failure;
use crate::names;
use crate::watch::{Watch, Work};

/// The setting of a replay.
pub(crate) struct PaperReplay<'a> {
    /// Receives the progress.
    pub(crate) watch: &'a dyn Watch,
    /// The text of the progress bar.
    pub(crate) doing: &'a str,
    pub(crate) machine: &'a str,
    pub(crate) policies: &'a [&'a str],
    pub(crate) limits: MemoryLimits,
    /// The numbers of accesses with results besides those at the end.
    pub(crate) interim: Vec<u64>,
}

impl PaperReplay<'_> {
    /// Replays a generated trace.
    pub(crate) fn generated(self, mut trace: GeneratedTrace) -> Result<Outcome, Failure> {
        let accesses = trace.accesses();
        self.of(&mut trace, accesses)
    }

    /// Replays any trace of `accesses` accesses.
    pub(crate) fn of<S: Source>(self, trace: &mut S, accesses: u64) -> Result<Outcome, Failure>
    where
        S::Error: std::fmt::Display,
    {
        let policies: Result<Vec<_>, Failure> = self
            .policies
            .iter()
            .map(|name| names::policy(name))
            .collect();
        let plan = Plan::within(policies?, vec![names::machine(self.machine)?], self.limits)
            .map_err(Failure::failed)?
            .on_threads(available_threads())
            .with_interim_results(self.interim)
            .with_frames();
        let bar = self.watch.begin(self.doing, Work::Accesses(accesses));
        let mut show = |state: broadleaf_model::ReplayProgress| {
            bar.set(0, state.accesses);
            ControlFlow::Continue(())
        };
        let outcome = broadleaf_accel::run(trace, &plan, &mut show);
        let outcome =
            outcome.map_err(|error| Failure::failed(format!("{}: {error}", self.doing)))?;
        for result in &outcome.results {
            if let Some(memory) = &result.memory
                && memory.out_of_memory_after.is_some()
            {
                return Err(Failure::failed(format!(
                    "{}: {} ran out of memory",
                    self.doing, result.policy
                )));
            }
        }
        Ok(outcome)
    }
}

/// The estimated cost of a run, or of a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    pub(crate) misses: u64,
    /// All cycles.
    pub(crate) cycles: f64,
}

/// The cost of a run up to a result.
pub(crate) fn took(result: &CellResult, setting: &PaperSetting) -> Took {
    let faults = (result.memory.as_ref()).map_or(0, |memory| memory.fault_cycles);
    let accesses = result.accesses as f64 * setting.cycles_per_access;
    Took {
        misses: result.l2_misses,
        cycles: accesses + (result.walk_cycles + faults) as f64,
    }
}

impl Took {
    /// The cost after an earlier result.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            misses: self.misses.saturating_sub(earlier.misses),
            cycles: self.cycles - earlier.cycles,
        }
    }

    /// The speedup over another run.
    pub(crate) fn speedup_over(self, other: Self) -> f64 {
        other.cycles / self.cycles.max(1.0)
    }

    /// The share of another run's TLB misses that this run saves, in percent.
    pub(crate) fn spares_of(self, other: Self) -> f64 {
        if other.misses == 0 {
            return 0.0;
        }
        100.0 * (1.0 - self.misses as f64 / other.misses as f64)
    }
}
