//! Chunks: stretches of a trace whose lookups are made at the same time.
//!
//! Memory goes through the trace in order: only first references, first stores and events change
//! it, and they are few. Memory *writes down* the lookups and all changes of page sizes between
//! them as a [`Script`]. A chunk is a stretch of the script, with the superpages at its start. So
//! the state of memory at the start of a chunk is derived, and the state of the TLBs is known once
//! the chunk before is replayed.
//!
//! A thread that is free earlier *guesses* the TLBs: those of the last known moment. It replays the
//! chunk from there, and marks the contents of the TLBs after 0, 1, 2, 4, 8, ... batches. Once the
//! start is known, the guess is *checked*: if the TLBs at a mark have the contents of the guessed
//! ones, both replays are equal from there on, as a TLB with exact LRU replacement has no other
//! state. If they differ, the lookups up to the next mark are made again, which *repairs* the
//! counts. A guess that is wrong to the end of its chunk costs a replay of the chunk, and the next
//! chunks do not guess.

mod chain;
mod chunk;
mod script;
#[cfg(test)]
mod tests;

use crate::members::Superpages;
use crate::slot::TaskCell;
use crate::teams::Prepared;
use crate::translation::TeamTranslation;
use broadleaf_model::pool::Crew;
use broadleaf_model::{ChunkRules, Plan};
use chain::{Chain, ChunkWork};
use chunk::{Chunk, ChunkTurn};
pub(crate) use script::{Script, StaleEntries};
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk that a thread may claim. `None` once it was claimed.
type ChunkTask = TaskCell<Option<Chunk>>;

/// The chunks of a pass.
pub(crate) struct Chunks<'a> {
    chain: Arc<Chain<'a>>,
    rules: ChunkRules,
    /// The chunk that is being written down, and its lookups.
    open: Chunk,
    lookups: usize,
    /// The chunks that were handed out, without those at the front that have finished.
    tasks: VecDeque<Arc<ChunkTask>>,
    /// The maximum number of chunks whose end is not known.
    most: usize,
}

impl<'a> Chunks<'a> {
    /// The chunks of a team with these TLBs.
    pub(crate) fn new(tlbs: Vec<TeamTranslation<'a>>, plan: &Plan) -> Self {
        let rules = plan.chunk_rules();
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

    /// Batches of a finished chunk, emptied.
    pub(crate) fn spare(&self) -> Option<Prepared> {
        self.chain.spare()
    }

    /// Adds a turn. `superpages` are those after the turn.
    pub(crate) fn add<'scope>(
        &mut self,
        prepared: Arc<Prepared>,
        script: Script,
        superpages: &Superpages,
        crew: Crew<'_, 'scope>,
    ) where
        'a: 'scope,
    {
        self.lookups += prepared.lookups();
        self.open.turns.push(ChunkTurn { prepared, script });
        if self.lookups >= self.rules.lookups {
            self.close(superpages, crew);
        }
    }

    /// Hands the open chunk out, and begins the next. Works on chunks while too many are unfinished.
    fn close<'scope>(&mut self, superpages: &Superpages, crew: Crew<'_, 'scope>)
    where
        'a: 'scope,
    {
        let number = self.open.number + 1;
        let chunk = std::mem::replace(&mut self.open, empty(number, superpages));
        self.lookups = 0;
        let task = Arc::new(TaskCell::new(Some(chunk)));
        self.tasks.push_back(Arc::clone(&task));
        let chain = Arc::clone(&self.chain);
        crew.queue(move || {
            claim(&task, &chain);
        });
        while number - self.chain.known() > self.most && self.progress() {}
    }

    /// Replays a chunk that no thread has claimed. Returns false if there is none.
    pub(crate) fn work(&self) -> bool {
        self.tasks.iter().any(|task| claim(task, &self.chain))
    }

    /// Replays a chunk, or waits for one. Returns false if all were replayed.
    fn progress(&mut self) -> bool {
        if self.work() {
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

    /// Replays all chunks to their end. Returns the TLBs.
    pub(crate) fn end(mut self) -> (Vec<TeamTranslation<'a>>, ChunkWork) {
        let last = std::mem::replace(&mut self.open, empty(0, &Superpages::default()));
        let task = TaskCell::new(Some(last));
        self.tasks.push_back(Arc::new(task));
        while self.progress() {}
        self.chain.end()
    }
}

/// A chunk without turns.
fn empty(number: usize, superpages: &Superpages) -> Chunk {
    Chunk {
        number,
        superpages: superpages.clone(),
        turns: Vec::new(),
    }
}

/// Replays the chunk of a task that no thread has claimed. Returns false if one has.
fn claim(task: &ChunkTask, chain: &Chain<'_>) -> bool {
    task.work(|chunk| {
        if let Some(chunk) = chunk.take() {
            chain.replay(chunk);
        }
    })
}
