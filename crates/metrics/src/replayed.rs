//! What going through a governor's journal again came to.

use crate::Provenance;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the shape of [`Replayed`].
pub const REPLAY_SCHEMA: &str = "broadleaf.replay/1";

/// The whole answer of `replay`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replayed {
    /// [`REPLAY_SCHEMA`].
    pub schema: String,
    /// The journal's file.
    pub journal: String,
    /// The version that wrote it.
    pub version: String,
    /// The command line that was governed by.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Ticks of it.
    pub ticks: u64,
    /// From the first tick to the last, in seconds.
    pub elapsed_seconds: f64,
    /// Bytes at its end that were not written whole, and are left out.
    pub torn_bytes: u64,
    /// Whether each decision is the same again.
    pub reproduced: bool,
    /// The first tick in which it is not, in words.
    pub difference: Option<String>,
    /// What the recorded policy came to, and then what others would have, by estimates.
    pub policies: Vec<ReplayedPolicy>,
    /// Who made this.
    pub provenance: Provenance,
}

/// What a policy came to, or would have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayedPolicy {
    /// The policy, with its parameters.
    pub policy: String,
    /// How much superpages might add.
    pub max_added: String,
    /// Whether it is an estimate, and not what was recorded.
    pub estimated: bool,
    /// Blocks that became superpages.
    pub promotions: u64,
    /// Superpages that were broken to give memory back.
    pub demotions: u64,
    /// Superpages that programs broke.
    pub broken_by_programs: u64,
    /// Superpages that programs gave back whole.
    pub given_back: u64,
    /// Blocks that stayed as they were for a reason, for each reason once.
    pub refusals: BTreeMap<String, u64>,
    /// The most that superpages had added at a time, in bytes, by what blocks held when they were promoted.
    pub added_bytes_peak: u64,
    /// What they added at the end.
    pub added_bytes: u64,
    /// Bytes that demotions gave back.
    pub returned_bytes: u64,
    /// The most that stood in superpages at a time, in bytes, whoever made them.
    pub huge_bytes_peak: u64,
    /// What stood in superpages at the end.
    pub huge_bytes: u64,
}
