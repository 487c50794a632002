//! A pass over a trace that reads the cache, and adds to the cache, as a comparison does.

use std::path::Path;

use broadleaf_machine::Machine;
use broadleaf_model::{Outcome, Plan, Source};

use super::TraceCache;
use crate::compare::{failure, going_on, within_machine};
use crate::failure::Failure;
use crate::source::events::{EventListener, HeardTrace};
use crate::source::measured::Meter;
use crate::source::shared::SharedReader;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::{Task, Watch};

/// A replay of base pages that may use the cache.
pub(crate) struct CachedPass<'a> {
    /// The path of the trace.
    pub(crate) path: &'a Path,
    pub(crate) reading: TraceReading,
    /// The machine whose first level the reduced form must suit. The accelerators cover the machine
    /// ([`broadleaf_accel::covers_all`]).
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
    /// to the cache if not. Reads what other replays decode from `shared`, if it is given.
    ///
    /// # Errors
    /// If the trace cannot be read or is damaged, or if the replay refuses the trace.
    pub(crate) fn run(&self, shared: Option<SharedReader>) -> Result<Outcome, Failure> {
        let plan = self.plan()?;
        let mut trace = if self.reading.fetches {
            Trace::open(self.path, self.reading, Whole::Memory)?
        } else {
            Trace::open_for(self.path, self.reading, plan.machines(), self.used_cache())?
        };
        trace.share(shared);
        let task = self.watch.begin(self.doing, trace.work());
        let meter = trace.meter();
        let outcome = self.replay(&mut trace, &plan, task.as_ref(), &meter);
        let outcome = outcome.map_err(|error| failure(error, trace.name()))?;
        self.end(&mut trace, &plan, &outcome)?;
        Ok(outcome)
    }

    /// Replays base pages on the trace itself, passes the trace's events on, and adds the reduced
    /// form to the cache. Returns the trace after its end.
    ///
    /// # Errors
    /// Those of [`CachedPass::run`].
    pub(crate) fn run_heard(&self, listener: &mut dyn EventListener) -> Result<Trace, Failure> {
        let plan = self.plan()?;
        let mut trace = Trace::open(self.path, self.reading, Whole::Work)?;
        let task = self.watch.begin(self.doing, trace.work());
        let meter = trace.meter();
        let mut heard = HeardTrace::new(&mut trace, listener);
        let outcome = self.replay(&mut heard, &plan, task.as_ref(), &meter);
        let outcome = outcome.map_err(|error| failure(error, trace.name()))?;
        self.end(&mut trace, &plan, &outcome)?;
        Ok(trace)
    }

    /// The cache. Fetches of instructions are visits that no reduced form holds.
    fn used_cache(&self) -> Option<&TraceCache> {
        self.cache.filter(|_| !self.reading.fetches)
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let machines = vec![self.machine.clone()];
        let plan = Plan::new(vec![broadleaf_policy::base_pages()], machines);
        let plan = within_machine(plan.map_err(Failure::failed)?.on_threads(self.threads));
        Ok(match self.used_cache() {
            Some(_) => plan.keeping_reduced(),
            None => plan,
        })
    }

    /// Ends the pass, and adds the reduced form to the cache.
    fn end(&self, trace: &mut Trace, plan: &Plan, outcome: &Outcome) -> Result<(), Failure> {
        trace.finish()?;
        if let (Some(cache), Some(parts)) = (self.used_cache(), &outcome.reduced) {
            super::keep(cache, self.path, trace, plan.machines(), outcome, parts);
        }
        Ok(())
    }

    fn replay<S: Source>(
        &self,
        source: &mut S,
        plan: &Plan,
        task: &dyn Task,
        meter: &Meter,
    ) -> Result<Outcome, broadleaf_model::Error<S::Error>> {
        broadleaf_accel::run(source, plan, &mut |state| {
            task.set(meter.bytes(), state.accesses);
            going_on(self.watch)
        })
    }
}
