//! What a decision is, and what came of it.

use crate::seen::{BLOCK_BYTES, BlockSeen, PAGE_BYTES, ProcessId};
use broadleaf_policy::Refusal;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Blocks of one process that stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Whose.
    pub process: ProcessId,
    /// Their numbers.
    pub blocks: Range<u64>,
    /// How many pages each held when it was decided on. With fewer, it is left as it is.
    pub present: Vec<u16>,
}

/// What is to be done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Blocks that hold what is left of a superpage which the program broke, and then superpages to be broken, the one that added most first.
    pub demote: Vec<(ProcessId, u64)>,
    /// Blocks to become superpages.
    pub promote: Vec<Run>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.demote.is_empty() && self.promote.is_empty()
    }

    /// How many blocks are to be promoted.
    pub fn promotions(&self) -> u64 {
        self.promote
            .iter()
            .map(|run| run.present.len() as u64)
            .sum()
    }

    /// Bytes that are resident in the blocks to be promoted.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let each = self.promote.iter().flat_map(|run| &run.present);
        each.map(|present| u64::from(*present) * PAGE_BYTES).sum()
    }

    /// Bytes that the promotions would add.
    pub fn added_bytes(&self) -> u64 {
        self.promotions() * BLOCK_BYTES - self.resident_bytes()
    }
}

/// What came of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// It became a superpage; this is what it held before.
    Promoted(BlockSeen),
    /// It was a superpage already.
    WasHuge,
    /// It stays as it is.
    #[serde(with = "by_name")]
    Refused(Refusal),
    /// The superpage was broken; this is what it holds now.
    Demoted(BlockSeen),
    /// The superpage stands, though it was to be broken.
    Stands,
    /// Its process has ended.
    Gone,
}

/// What came of one block of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whose.
    pub process: ProcessId,
    /// Which.
    pub block: u64,
    /// What.
    pub came: Came,
}

/// Reasons are written by their names, which are stable.
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
