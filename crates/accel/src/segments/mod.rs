//! Segments: stretches of a trace whose lookups are made at the same time.
//!
//! Memory goes through the trace in order: only first references, first stores and events change
//! it, and they are few. Memory *writes down* the lookups and all changes of page sizes between
//! them as a [`Script`]. A segment is a stretch of the script, with the superpages at its start.
//! So the state of memory at the start of a segment is derived. The state of the TLBs is known once
//! the segment before is replayed.
//!
//! A thread that is free earlier *guesses* the TLBs: those of the last known moment. It replays the
//! segment from there, and marks the contents of the TLBs after 0, 1, 2, 4, 8, ... batches. Once
//! the start is known, the guess is *checked*: if the TLBs at a mark have the contents of the
//! guessed ones, both replays are equal from there on, as a TLB with exact LRU replacement has no
//! other state. If they differ, the lookups up to the next mark are made again, which *repairs* the
//! counts. A guess that is wrong to the end of its segment costs a replay of the segment, and the
//! next segments do not guess.
//!
//! The scheme is that of Heidelberger and Stone, "Parallel Trace-Driven Cache Simulation by Time
//! Partitioning" (Winter Simulation Conference 1990), with states compared instead of misses
//! counted again.

mod chain;
mod script;
mod segment;
#[cfg(test)]
mod tests;

use crate::members::Superpages;
use crate::slot::TaskCell;
use crate::teams::Prepared;
use crate::translation::TeamTranslation;
use broadleaf_model::pool::Crew;
use broadleaf_model::{Plan, SegmentRules};
use chain::{Chain, SegmentWork};
pub(crate) use script::{Script, StaleEntries};
use segment::{ReplaySegment, SegmentTurn};
use std::collections::VecDeque;
use std::sync::Arc;

/// A segment that a thread may claim. `None` once it was claimed.
type SegmentTask = TaskCell<Option<ReplaySegment>>;

/// The segments of a pass.
pub(crate) struct Segments<'a> {
    chain: Arc<Chain<'a>>,
    rules: SegmentRules,
    /// The segment that is being written down, and its lookups.
    open: ReplaySegment,
    lookups: usize,
    /// The segments that were handed out, without those at the front that have finished.
    tasks: VecDeque<Arc<SegmentTask>>,
    /// The maximum number of segments whose end is not known.
    most: usize,
}

impl<'a> Segments<'a> {
    /// The segments of a team with these TLBs.
    pub(crate) fn new(tlbs: Vec<TeamTranslation<'a>>, plan: &Plan) -> Self {
        let rules = plan.segment_rules();
        let chain = Chain::new(tlbs, rules.guesses);
        #[cfg(test)]
        let chain = match tests::BELIEVES.get() {
            true => chain.believing(),
            false => chain,
        };
        Self {
            chain: Arc::new(chain),
            rules,
            open: empty(0, &Superpages::default()),
            lookups: 0,
            tasks: VecDeque::new(),
            most: plan.threads() + 1,
        }
    }

    /// Batches of a finished segment, emptied.
    pub(crate) fn spare(&self) -> Option<Prepared> {
        self.chain.spare()
    }

    /// Adds a turn. `superpages` are those after the turn. Calls `meanwhile` instead of waiting for
    /// other threads as long as it returns true.
    pub(crate) fn add<'scope>(
        &mut self,
        prepared: Arc<Prepared>,
        script: Script,
        superpages: &Superpages,
        crew: Crew<'_, 'scope>,
        meanwhile: impl Fn() -> bool,
    ) where
        'a: 'scope,
    {
        self.lookups += prepared.lookups();
        self.open.turns.push(SegmentTurn { prepared, script });
        if self.lookups >= self.rules.lookups {
            self.close(superpages, crew);
            while self.open.number > self.chain.known() + self.most && self.progress(&meanwhile) {}
        }
    }

    /// Hands the open segment out, and begins the next.
    fn close<'scope>(&mut self, superpages: &Superpages, crew: Crew<'_, 'scope>)
    where
        'a: 'scope,
    {
        let number = self.open.number + 1;
        let segment = std::mem::replace(&mut self.open, empty(number, superpages));
        self.lookups = 0;
        let task = Arc::new(TaskCell::new(Some(segment)));
        self.tasks.push_back(Arc::clone(&task));
        let chain = Arc::clone(&self.chain);
        crew.queue(move || {
            claim(&task, &chain);
        });
    }

    /// Replays a segment that no thread has claimed. Returns false if there is none.
    pub(crate) fn work(&self) -> bool {
        self.tasks.iter().any(|task| claim(task, &self.chain))
    }

    /// Replays a segment, calls `meanwhile`, or waits for a segment. Returns false if all were
    /// replayed.
    fn progress(&mut self, meanwhile: &impl Fn() -> bool) -> bool {
        if self.work() || meanwhile() {
            return true;
        }
        while self.tasks.front().is_some_and(|task| task.take().is_some()) {
            self.tasks.pop_front();
        }
        if let Some(first) = self.tasks.front() {
            first.wait();
        }
        !self.tasks.is_empty()
    }

    /// Replays all segments to their end. Returns the TLBs.
    pub(crate) fn end(mut self) -> (Vec<TeamTranslation<'a>>, SegmentWork) {
        let last = std::mem::replace(&mut self.open, empty(0, &Superpages::default()));
        let task = TaskCell::new(Some(last));
        self.tasks.push_back(Arc::new(task));
        while self.progress(&|| false) {}
        self.chain.end()
    }
}

/// A segment without turns.
fn empty(number: usize, superpages: &Superpages) -> ReplaySegment {
    ReplaySegment {
        number,
        superpages: superpages.clone(),
        turns: Vec::new(),
    }
}

/// Replays the segment of a task that no thread has claimed. Returns false if one has.
fn claim(task: &SegmentTask, chain: &Chain<'_>) -> bool {
    task.work(|segment| {
        if let Some(segment) = segment.take() {
            chain.replay(segment);
        }
    })
}
