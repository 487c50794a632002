//! Chunks of a table of pages that were looked up lately.

use broadleaf_units::SpaceId;

/// The number of chunks.
const CHUNKS: usize = 1024;

/// A chunk and its index.
#[derive(Clone, Copy, Debug)]
struct RecentChunk {
    space: SpaceId,
    number: u64,
    chunk: u32,
}

const NOTHING: RecentChunk = RecentChunk {
    space: SpaceId(u32::MAX),
    number: u64::MAX,
    chunk: 0,
};

/// The indices of chunks that were looked up lately: one for each remainder of the chunk's number.
/// A table of pages by chunk asks here before it searches.
#[derive(Clone, Debug)]
pub struct RecentChunks(Vec<RecentChunk>);

impl Default for RecentChunks {
    fn default() -> Self {
        Self::new()
    }
}

impl RecentChunks {
    /// No chunk was looked up.
    pub fn new() -> Self {
        Self(vec![NOTHING; CHUNKS])
    }

    /// The index of a chunk by its number in an address space. `None` if the chunk was not looked
    /// up lately.
    #[inline]
    pub fn find(&self, space: SpaceId, number: u64) -> Option<usize> {
        let recent = &self.0[number as usize % CHUNKS];
        (recent.number == number && recent.space == space).then_some(recent.chunk as usize)
    }

    /// Notes the index of a chunk that was looked up. The number is below `u64::MAX`.
    #[inline]
    pub fn keep(&mut self, space: SpaceId, number: u64, chunk: usize) {
        self.0[number as usize % CHUNKS] = RecentChunk {
            space,
            number,
            chunk: chunk as u32,
        };
    }

    /// Forgets all chunks: some are gone.
    pub fn forget(&mut self) {
        self.0.fill(NOTHING);
    }
}
