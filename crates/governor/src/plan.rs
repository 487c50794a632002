//! A governor's plan, and the outcomes of the plan.

use crate::PAGES;
use crate::seen::{BLOCK_BYTES, BlockSeen, PAGE_BYTES, ProcessId};
use broadleaf_policy::Refusal;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Consecutive blocks of one process that are to be promoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromotionRun {
    /// The process.
    pub process: ProcessId,
    /// The block numbers.
    pub blocks: Range<u64>,
    /// The resident pages of each block at the time of the decision. A block with fewer pages now
    /// is left as it is.
    pub present: Vec<u16>,
}

/// The decision of a tick, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickPlan {
    /// Blocks to demote. First come the blocks with the rest of a superpage that the program broke.
    /// Then come superpages, the one that added most first.
    pub demote: Vec<(ProcessId, u64)>,
    /// Blocks to promote.
    pub promote: Vec<PromotionRun>,
}

impl TickPlan {
    /// Returns true if the plan has no action.
    pub fn is_empty(&self) -> bool {
        self.demote.is_empty() && self.promote.is_empty()
    }

    /// Returns the number of blocks to promote.
    pub fn promotions(&self) -> u64 {
        self.promote
            .iter()
            .map(|run| run.present.len() as u64)
            .sum()
    }

    /// Returns the resident bytes of the blocks to promote. A block holds at most [`PAGES`] pages,
    /// also in a plan that no governor made.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let each = self.promote.iter().flat_map(|run| &run.present);
        each.map(|present| u64::from(*present).min(u64::from(PAGES)) * PAGE_BYTES)
            .sum()
    }

    /// Returns the bytes that the promotions would add.
    pub fn added_bytes(&self) -> u64 {
        self.promotions() * BLOCK_BYTES - self.resident_bytes()
    }
}

/// The outcome of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// The block became a superpage. The value is the block before the promotion.
    Promoted(BlockSeen),
    /// The block was a superpage already.
    WasHuge,
    /// The block stays as it is.
    #[serde(with = "by_name")]
    Refused(Refusal),
    /// The superpage was split. The value is the block after the split.
    Demoted(BlockSeen),
    /// The superpage was to be split and is still a superpage.
    #[serde(rename = "stands")]
    StillHuge,
    /// The process has ended.
    Gone,
}

/// The outcome of one block of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The process.
    pub process: ProcessId,
    /// The number of the block.
    pub block: u64,
    /// The outcome.
    pub came: Came,
}

/// Serializes reasons by their names, which are stable.
mod by_name {
    use broadleaf_policy::Refusal;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(reason: &Refusal, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(reason.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Refusal, D::Error> {
        let name = String::deserialize(from)?;
        let mut all = Refusal::ALL.iter().copied();
        all.find(|reason| reason.name() == name)
            .ok_or_else(|| D::Error::custom(format!("no reason is called \"{name}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan is public, so its counts may be wrong.
    #[test]
    fn a_block_with_too_many_pages_adds_nothing() {
        let plan = TickPlan {
            demote: Vec::new(),
            promote: vec![PromotionRun {
                process: ProcessId { pid: 1, started: 1 },
                blocks: 7..10,
                present: vec![513, u16::MAX, 500],
            }],
        };
        assert_eq!(plan.added_bytes(), 12 * PAGE_BYTES);
    }
}
