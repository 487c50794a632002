//! The bounds of a plan: what a replay keeps at most.

use super::Plan;

/// The default limit of blocks that a replay keeps, those of each policy counted separately. They
/// take 192 MiB, and up to 1.6 GiB of data that is kept once per block. This is enough for nineteen
/// policies on a program that uses 800 GiB. The limit keeps a trace of far-apart pages from using
/// up a machine's memory.
pub(super) const MOST_BLOCKS: usize = 1 << 23;

/// The default limit of a trace's reduced form between two passes, in bytes: enough for about 10^10
/// accesses of most programs.
pub(super) const MOST_KEPT: usize = 1 << 28;

/// The limit of a course that is kept for OFFLINE on each machine, in bytes.
pub(super) const MOST_COURSE: usize = 1 << 31;

impl Plan {
    /// Sets the limit of blocks that a replay keeps, those of each policy counted separately. A
    /// replay that needs more returns an error.
    pub fn keeping(mut self, blocks: usize) -> Self {
        self.most_blocks = blocks;
        self
    }

    /// Sets the limit of decoded data that a replay of two passes keeps, in bytes. A replay that
    /// needs more decodes the trace twice.
    pub fn keeping_decoded(mut self, bytes: usize) -> Self {
        self.most_kept = bytes;
        self
    }

    /// Sets the number of lookups whose next uses are kept, for all machines of the plan together,
    /// for replacement rules that know the future. A replay that needs more returns an error.
    pub const fn keeping_next_uses(mut self, most: usize) -> Self {
        self.most_next_uses = most;
        self
    }

    pub(crate) const fn most_next_uses(&self) -> usize {
        self.most_next_uses
    }

    /// The limit of a course that is kept for OFFLINE, in bytes.
    pub(crate) fn most_course(&self) -> usize {
        // The rest is for choosing among the kept data, and for memory itself.
        let part = self.most_bytes.map_or(u64::MAX, |bytes| bytes / 4);
        let pairs = (self.policies.len() * self.machines.len()) as u64;
        let part = usize::try_from(part / pairs).unwrap_or(usize::MAX);
        self.most_course.min(part)
    }

    /// The most bytes of decoded visits that are kept between two passes.
    pub const fn most_kept(&self) -> usize {
        self.most_kept
    }

    /// Sets the approximate limit of the model's memory, in bytes. A replay that needs more returns
    /// an error. Without this call there is no limit.
    pub const fn within_bytes(mut self, bytes: u64) -> Self {
        self.most_bytes = Some(bytes);
        self
    }

    /// The most bytes of memory that the replay may use. `None` if there is no limit.
    pub const fn most_bytes(&self) -> Option<u64> {
        self.most_bytes
    }

    /// The most blocks that a replay keeps, those of each policy counted separately.
    pub const fn most_blocks(&self) -> usize {
        self.most_blocks
    }
}
