//! The workers of a plan.

use super::Plan;
use crate::pool::{AroundWorker, Pool};

/// How a replay of one policy is cut into segments, whose lookups several threads make at the same
/// time. No result depends on the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRules {
    /// The least number of lookups of a segment.
    pub lookups: usize,
    /// The segments that begin with a guess.
    pub guesses: Guesses,
    /// The threads from which on a replay has segments.
    pub least_threads: usize,
}

/// The segments that begin with guessed TLBs, which are checked later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guesses {
    /// Those that a thread is free for before the segment in front is replayed. The guess is the
    /// last known state.
    WhenBehind,
    /// All but the first, from empty TLBs, for tests and measurements.
    FromEmpty,
}

impl Default for SegmentRules {
    fn default() -> Self {
        Self {
            lookups: 1 << 19,
            guesses: Guesses::WhenBehind,
            // With two, one prepares and the other makes the lookups: a guess only costs work.
            least_threads: 3,
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

    /// Sets the rules of segments.
    pub const fn in_segments(mut self, rules: SegmentRules) -> Self {
        self.segments = rules;
        self
    }

    /// The rules of segments.
    pub const fn segment_rules(&self) -> SegmentRules {
        self.segments
    }

    /// Makes the pool of the plan's threads.
    ///
    /// # Errors
    /// Returns the system's message if a thread cannot start.
    pub fn pool(&self) -> Result<Pool, String> {
        Pool::within(self.threads, self.around_workers.as_ref())
    }
}
