//! The workers of a plan.

use super::Plan;
use crate::pool::{AroundWorker, Pool};

/// How a replay of one policy is cut into chunks, whose lookups several threads make at the same
/// time. No result depends on the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRules {
    /// The least number of lookups of a chunk.
    pub lookups: usize,
    /// The chunks that begin with a guess.
    pub guesses: Guesses,
}

/// The chunks that begin with guessed TLBs, which are checked later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guesses {
    /// Those that a thread is free for before the chunk in front is replayed.
    WhenBehind,
    /// All but the first, for tests and measurements.
    Always,
}

impl Default for ChunkRules {
    fn default() -> Self {
        Self {
            lookups: 1 << 19,
            guesses: Guesses::WhenBehind,
        }
    }
}

impl Plan {
    /// Lets each worker live inside a function, which may prepare its thread. No result depends on
    /// it. A policy in another language may need such a thread.
    pub fn around_workers(mut self, around: Option<AroundWorker>) -> Self {
        self.around_workers = around;
        self
    }

    /// Sets the rules of chunks.
    pub const fn in_chunks(mut self, rules: ChunkRules) -> Self {
        self.chunks = rules;
        self
    }

    /// The rules of chunks.
    pub const fn chunk_rules(&self) -> ChunkRules {
        self.chunks
    }

    /// Makes the pool of the plan's threads.
    ///
    /// # Errors
    /// Returns the system's message if a thread cannot start.
    pub fn pool(&self) -> Result<Pool, String> {
        Pool::within(self.threads, self.around_workers.as_ref())
    }
}
