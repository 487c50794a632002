//! Chunks of page-table entries that were looked up lately.

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
#[derive(Clone, Debug)]
pub(super) struct RecentChunks(Vec<RecentChunk>);

impl RecentChunks {
    pub(super) fn new() -> Self {
        Self(vec![NOTHING; CHUNKS])
    }

    #[inline]
    pub(super) fn find(&self, space: SpaceId, number: u64) -> Option<usize> {
        let recent = &self.0[number as usize % CHUNKS];
        (recent.number == number && recent.space == space).then_some(recent.chunk as usize)
    }

    #[inline]
    pub(super) fn keep(&mut self, space: SpaceId, number: u64, chunk: usize) {
        self.0[number as usize % CHUNKS] = RecentChunk {
            space,
            number,
            chunk: chunk as u32,
        };
    }

    /// Forgets all chunks: some are gone.
    pub(super) fn forget(&mut self) {
        self.0.fill(NOTHING);
    }
}
