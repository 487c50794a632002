//! What a ward came to.

use broadleaf_policy::Refusals;

/// What a ward came to so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Blocks that became superpages.
    pub promotions: u64,
    /// Superpages that were broken to give memory back.
    pub demotions: u64,
    /// Superpages of the ward that programs broke, by giving back or protecting parts of them.
    pub broken_by_programs: u64,
    /// Superpages of the ward that programs gave back whole.
    pub given_back: u64,
    /// Blocks that were refused, for each reason once.
    pub refusals: Refusals,
    /// The most that superpages which stood at a time had added, in bytes.
    pub added_bytes_peak: u64,
    /// Bytes that demotions gave back, by what was seen after them.
    pub returned_bytes: u64,
    /// The most that stood in superpages at a time, whoever made them, in bytes.
    pub huge_bytes_peak: u64,
    /// Page faults of the processes that have ended.
    pub page_faults: u64,
}
