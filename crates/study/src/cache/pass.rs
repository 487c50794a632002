//! A pass over a trace that reads the cache, and adds to the cache, as a comparison does.

use std::ops::ControlFlow;
use std::path::Path;

use broadleaf_accel::covers;
use broadleaf_machine::Machine;
use broadleaf_model::{Outcome, Plan};

use super::TraceCache;
use crate::compare::{failure, within_machine};
use crate::failure::Failure;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// A replay of base pages that may use the cache.
pub(crate) struct CachedPass<'a> {
    /// The path of the trace.
    pub(crate) path: &'a Path,
    pub(crate) reading: TraceReading,
    /// The machine whose first level the reduced form must suit.
    pub(crate) machine: Machine,
    /// The number of threads.
    pub(crate) threads: usize,
    pub(crate) cache: Option<&'a TraceCache>,
    /// The text of the progress.
    pub(crate) doing: &'a str,
    /// Receives the progress.
    pub(crate) watch: &'a dyn Watch,
}

impl CachedPass<'_> {
    /// Replays base pages. Reads the reduced form of the trace if there is one, and adds the form
    /// to the cache if not. Returns the trace after its end, and the outcome with the reduced form.
    ///
    /// # Errors
    /// If the trace cannot be read or is damaged, or if the replay refuses the trace.
    pub(crate) fn run(self) -> Result<(Trace, Outcome), Failure> {
        let plan = Plan::new(vec![broadleaf_policy::base_pages()], vec![self.machine]);
        let plan = plan.map_err(Failure::failed)?;
        // Fetches of instructions are visits that no reduced form holds.
        let cache = self.cache.filter(|_| !self.reading.fetches);
        let plan = within_machine(plan.on_threads(self.threads));
        let plan = match cache {
            Some(_) if covers(&plan).is_ok() => plan.keeping_reduced(),
            _ => plan,
        };
        let mut trace = if self.reading.fetches || covers(&plan).is_err() {
            Trace::open(self.path, self.reading, Whole::Memory)?
        } else {
            Trace::open_for(self.path, self.reading, plan.machines(), cache)?
        };
        let task = self.watch.begin(self.doing, trace.work());
        let meter = trace.meter();
        let outcome = broadleaf_accel::run(&mut trace, &plan, &mut |state| {
            task.set(meter.bytes(), state.accesses);
            ControlFlow::Continue(())
        });
        let outcome = outcome.map_err(|error| failure(error, trace.name()))?;
        trace.finish()?;
        if let (Some(cache), Some(parts)) = (cache, &outcome.reduced) {
            let accesses = outcome.trace.accesses;
            super::keep(cache, self.path, &trace, plan.machines(), accesses, parts);
        }
        Ok((trace, outcome))
    }
}
