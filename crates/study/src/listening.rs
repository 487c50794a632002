//! Replays whose slow lookups are heard one by one.

use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_model::{MemoryLimits, Plan, StepListener, StepsWanted};
use broadleaf_policy::{Foresight, GivenPolicy, Policy};

use crate::cache::TraceContent;
use crate::compare::{replay, within_machine};
use crate::failure::Failure;
use crate::names;
use crate::source::origin::{PassCount, can_be_opened_again};
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// Replays of a trace under several policies, with a listener for each policy on each machine.
pub(crate) struct Listening<'a> {
    /// The trace.
    pub(crate) path: &'a Path,
    /// The options of reading it.
    pub(crate) reading: TraceReading,
    /// The machines.
    pub(crate) machines: &'a [Machine],
    /// The policies that were given as values.
    pub(crate) given: &'a [GivenPolicy],
    /// The number of threads.
    pub(crate) threads: usize,
    /// Receives the progress.
    pub(crate) watch: &'a dyn Watch,
    /// The steps that the listeners need.
    pub(crate) steps: StepsWanted,
}

impl Listening<'_> {
    /// Replays the trace under these policies and under `also`. Leaves out policies that look into
    /// the future. Replays nothing if the trace cannot be read again. Returns the bytes of the
    /// trace in each replay, as [`Trace::content`] does.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn replay<'p>(
        &self,
        policies: impl IntoIterator<Item = &'p str>,
        also: &[&str],
        listener: &(
             impl Fn(&str, &str) -> Option<Box<dyn StepListener>> + Clone + Send + Sync + 'static
         ),
    ) -> Result<Vec<Option<TraceContent>>, Failure> {
        let mut contents = Vec::new();
        if !can_be_opened_again(self.path) {
            return Ok(contents);
        }
        // An expression of the user has no name that can be parsed if it was read from a file.
        let policies = policies
            .into_iter()
            .filter_map(|name| names::again(name, self.given).ok())
            .filter(|policy| policy.needs().foresight == Foresight::None);
        // Policies that need frames slow the others down, and have a replay of their own.
        let (with_frames, without): (Vec<_>, Vec<_>) =
            policies.partition(|policy| policy.needs().needs_frames());
        for (policies, limits) in [(without, None), (with_frames, Some(MemoryLimits::none()))] {
            if !policies.is_empty() {
                contents.push(self.replay_all(policies, limits, also, listener.clone())?);
            }
        }
        Ok(contents)
    }

    fn replay_all(
        &self,
        mut policies: Vec<Box<dyn Policy>>,
        limits: Option<MemoryLimits>,
        also: &[&str],
        listener: impl Fn(&str, &str) -> Option<Box<dyn StepListener>> + Send + Sync + 'static,
    ) -> Result<Option<TraceContent>, Failure> {
        for name in also {
            if policies.iter().all(|policy| policy.name() != *name) {
                policies.push(broadleaf_policy::parse(name).map_err(Failure::failed)?);
            }
        }
        let machines = self.machines.to_vec();
        let plan = match limits {
            None => Plan::new(policies, machines),
            Some(limits) => Plan::within(policies, machines, limits),
        };
        let plan = plan.map_err(Failure::wrong)?;
        let plan = plan.with_listeners(self.steps, listener);
        let plan = within_machine(plan.on_threads(self.threads));
        let reading = TraceReading {
            passes: PassCount::Several,
            ..self.reading
        };
        let mut trace = Trace::open(self.path, reading, Whole::Work)?;
        replay(&mut [], &mut trace, &plan, self.watch)?;
        trace.finish()?;
        Ok(trace.content())
    }
}
