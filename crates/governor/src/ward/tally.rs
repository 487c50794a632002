//! The totals of a ward.

use broadleaf_policy::Refusals;

/// The totals of a ward so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Blocks that were promoted.
    pub promotions: u64,
    /// Superpages that were demoted to free memory.
    pub demotions: u64,
    /// The ward's superpages that programs broke by returning or protecting parts of them.
    pub broken_by_programs: u64,
    /// The ward's superpages that programs returned whole.
    pub given_back: u64,
    /// Refused blocks. Each block counts once for each reason.
    pub refusals: Refusals,
    /// The peak of the bytes that existing superpages had added.
    pub added_bytes_peak: u64,
    /// The bytes that demotions freed, by the observation after them.
    pub returned_bytes: u64,
    /// The peak of the bytes in superpages of any origin.
    pub huge_bytes_peak: u64,
    /// The page faults of the processes that have ended.
    pub page_faults: u64,
}
