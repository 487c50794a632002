//! The history of a block: a policy's decisions about it, with their times.

use crate::HeardDecision;
use broadleaf_memory::system::Decided;
use broadleaf_units::PageSize;
use std::collections::BTreeMap;

/// The most decisions that a history lists. Further ones are counted.
pub const MOST_DECISIONS: usize = 64;

/// Equal decisions about a block that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDecision {
    /// The time of the first one, in accesses.
    pub time: u64,
    /// The time of the last one.
    pub until: u64,
    /// The decision.
    pub decided: Decided,
    /// The size of the piece that the decision is about. Pieces of one size count alike.
    pub size: PageSize,
    /// The number of decisions.
    pub count: u64,
    /// The populated base pages of the piece at the first decision.
    pub populated: u32,
    /// The populated base pages of the piece at the last decision.
    pub populated_last: u32,
}

/// The decisions about the pieces of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockHistory {
    /// The decisions in order, at most [`MOST_DECISIONS`].
    pub decisions: Vec<BlockDecision>,
    /// The number of decisions that are not listed.
    pub left_out: u64,
    /// The number of decisions of each kind.
    pub counts: BTreeMap<Decided, u64>,
}

impl BlockHistory {
    /// Adds a decision at a time of the trace.
    pub(crate) fn add(&mut self, decision: &HeardDecision, time: u64) {
        *self.counts.entry(decision.decided).or_default() += 1;
        if let Some(last) = self.decisions.last_mut()
            && self.left_out == 0
            && (last.decided, last.size) == (decision.decided, decision.size)
        {
            last.until = time;
            last.count += 1;
            last.populated_last = decision.populated;
        } else if self.decisions.len() < MOST_DECISIONS {
            self.decisions.push(BlockDecision {
                time,
                until: time,
                decided: decision.decided,
                size: decision.size,
                count: 1,
                populated: decision.populated,
                populated_last: decision.populated,
            });
        } else {
            self.left_out += 1;
        }
    }
}
