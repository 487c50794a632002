//! A stretch of a trail, prepared for replays.

use broadleaf_memory::BlockId;
use broadleaf_units::PageNumber;

/// A stretch of a trail, with the block of each page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followed {
    pub(crate) pages: Vec<(PageNumber, BlockId)>,
    /// The time of each page, and then the time of the first page of the next stretch: `u64::MAX`
    /// if there is none. Empty unless times are followed.
    pub(crate) times: Vec<u64>,
    /// For each visit of the batch, the number of pages before it.
    pub(crate) before: Vec<u32>,
}

impl Followed {
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.times.clear();
        self.before.clear();
    }
}
