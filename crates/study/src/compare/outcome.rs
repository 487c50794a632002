//! The outcome of a comparison: replayed, or kept from an earlier comparison of the same request.

use std::path::Path;

use broadleaf_metrics::RanBefore;
use broadleaf_model::{Outcome, Plan};

use super::{refuse_empty, replay};
use crate::cache::{
    KnownResults, ResultRequest, TraceCache, TraceContent, content_now, keep, keep_foreseen,
};
use crate::failure::Failure;
use crate::source::{Trace, TraceReading};
use crate::watch::Watch;

/// An outcome, with the hashes of the traces.
pub(super) struct HashedOutcome {
    pub(super) outcome: Outcome,
    /// The hash of the trace's bytes; empty if it is not known.
    pub(super) hash: String,
    /// The bytes of the trace; `None` if it was not read whole.
    pub(super) content: Option<TraceContent>,
    /// The traces that ran before in the same memory.
    pub(super) after: Vec<RanBefore>,
}

/// The traces and the plan of a comparison.
pub(super) struct Replayable<'a> {
    /// The path of the trace.
    pub(super) path: &'a Path,
    pub(super) trace: &'a mut Trace,
    /// Traces that run before in the same memory.
    pub(super) earlier: &'a mut [Trace],
    /// The reading, as far as results depend on it.
    pub(super) reading: &'a TraceReading,
    pub(super) plan: &'a Plan,
    pub(super) cache: Option<&'a TraceCache>,
    /// Replay even if the results are known.
    pub(super) anew: bool,
    pub(super) watch: &'a dyn Watch,
}

impl Replayable<'_> {
    /// Returns the results that the cache holds for this request. Replays the trace for those that
    /// it lacks, and keeps what was learned.
    ///
    /// # Errors
    /// If a trace cannot be read or is damaged or empty, if it changes meanwhile, or if the replay
    /// refuses it.
    pub(super) fn outcome(self) -> Result<HashedOutcome, Failure> {
        let Self {
            path,
            trace,
            earlier,
            reading,
            plan,
            cache,
            anew,
            watch,
        } = self;
        // The state that earlier traces leave is in no entry.
        let results = cache.filter(|_| earlier.is_empty());
        let results = results.and_then(|cache| ResultRequest::new(cache, reading, plan));
        let known = results.as_ref().filter(|_| !anew);
        let known = known.and_then(|results| results.find(trace));
        let missing = known.as_ref().and_then(KnownResults::missing);
        let known = match (known, missing) {
            (Some(known), None) => {
                let content = known.content.clone();
                return Ok(HashedOutcome {
                    outcome: known.outcome(),
                    hash: content.hash.clone(),
                    content: Some(content),
                    after: Vec::new(),
                });
            }
            (known, missing) => known.zip(missing),
        };
        // Where the plan has no such part, all of it is replayed.
        let part = known.and_then(|(known, mut missing)| {
            if plan.keeps_reduced() && plan.limits().is_none() && trace.entry().is_none() {
                // The whole trace is read, and its reduced form is to serve all machines.
                missing.machines = (0..plan.machines().len()).collect();
            }
            let part = plan.part(&missing.policies, &missing.machines)?;
            Some((part, known, missing))
        });
        let replayed = part.as_ref().map_or(plan, |(part, ..)| part);
        let mut outcome = replay(earlier, trace, replayed, watch)?;
        trace.finish()?;
        refuse_empty(outcome.trace.accesses, trace, "compare")?;
        if let (Some(cache), Some(parts)) = (cache, outcome.reduced.take()) {
            keep(cache, path, trace, replayed.machines(), &outcome, &parts);
        }
        if let Some(cache) = cache {
            keep_foreseen(cache, trace, &outcome);
        }
        let mut content = trace.content();
        if let Some((_, known, missing)) = part {
            content = content.or_else(|| content_now(trace));
            if content.as_ref() != Some(&known.content) {
                return Err(Failure::Failed(format!(
                    "{} changed while it was read: compare it again",
                    trace.name()
                )));
            }
            outcome = known.with(&missing, outcome);
        }
        if let Some(results) = results {
            results.keep(path, trace, content.as_ref(), &outcome);
        }
        let mut after = Vec::new();
        for trace in earlier {
            trace.finish()?;
            after.push(RanBefore {
                path: trace.name().to_owned(),
                hash: trace.hash().unwrap_or_default(),
            });
        }
        Ok(HashedOutcome {
            outcome,
            hash: trace.hash().unwrap_or_default(),
            content,
            after,
        })
    }
}
