//! The result of replaying a governor's journal.

use crate::Provenance;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the schema of [`Replayed`].
pub const REPLAY_SCHEMA: &str = "broadleaf.replay/1";

/// The result of `replay`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replayed {
    /// [`REPLAY_SCHEMA`].
    pub schema: String,
    /// The file of the journal.
    pub journal: String,
    /// The version of Broadleaf that wrote the journal.
    pub version: String,
    /// The recorded command line.
    pub command: Vec<String>,
    /// The start of the recorded run, in seconds since 1970.
    pub started: u64,
    /// True if the run changed nothing.
    pub dry_run: bool,
    /// The number of ticks.
    pub ticks: u64,
    /// The time from the first tick to the last, in seconds.
    pub elapsed_seconds: f64,
    /// The number of incomplete bytes at the journal's end, which the replay ignores.
    pub torn_bytes: u64,
    /// True if the replay made the recorded decisions.
    pub reproduced: bool,
    /// The first tick with other decisions, in words.
    pub difference: Option<String>,
    /// The recorded policy's result, then the estimated results of others.
    pub policies: Vec<ReplayedPolicy>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// The result of one policy, recorded or estimated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayedPolicy {
    /// The policy, with its parameters.
    pub policy: String,
    /// The budget of added memory.
    pub max_added: String,
    /// True if the result is an estimate.
    pub estimated: bool,
    /// The number of blocks that became superpages.
    pub promotions: u64,
    /// The number of superpages broken to give memory back.
    pub demotions: u64,
    /// The number of superpages that programs broke.
    pub broken_by_programs: u64,
    /// The number of superpages that programs gave back whole.
    pub given_back: u64,
    /// Refusals by reason: the number of refused blocks. A block counts once for each reason.
    pub refusals: BTreeMap<String, u64>,
    /// The peak of the memory that superpages added, in bytes, by the content of blocks at
    /// promotion.
    pub added_bytes_peak: u64,
    /// The memory that superpages added, at the end, in bytes.
    pub added_bytes: u64,
    /// The memory that demotions gave back, in bytes.
    pub returned_bytes: u64,
    /// The peak of the memory in superpages of any maker, in bytes.
    pub huge_bytes_peak: u64,
    /// The memory in superpages at the end, in bytes.
    pub huge_bytes: u64,
}
