//! The use of a live process's memory in a span of time.

use serde::Serialize;

/// The memory of a process that was used in a span of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatReport {
    /// The source of the figures, by name.
    pub source: String,
    /// A sentence about the source.
    pub source_sentence: String,
    /// The span of time, in seconds.
    pub seconds: f64,
    /// The number of blocks that one measurement covers. The use of such a group is shared out
    /// evenly.
    pub blocks_together: u64,
    /// The number of blocks with at least one used page.
    pub used_blocks: u64,
    /// The used pages of all blocks, in bytes.
    pub used_bytes: u64,
    /// The blocks with pages, sorted by address. Empty if the source reports mappings alone.
    pub blocks: Vec<BlockUse>,
    /// The mappings, sorted by address. Empty if the source reports blocks alone.
    pub mappings: Vec<MappingUse>,
    /// The more exact sources that could not be used, with the reasons.
    pub not_used: Vec<String>,
}

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BlockUse {
    /// The address of the block.
    pub address: u64,
    /// The resident base pages.
    pub resident_pages: u32,
    /// The used base pages. All pages of a superpage count if any was used.
    pub used_pages: u32,
}

/// The use of a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappingUse {
    /// The first address.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The name of the mapping; empty for memory without a name.
    pub name: String,
    /// The resident memory, in bytes.
    pub resident_bytes: u64,
    /// The memory in pages that were used, in bytes.
    pub used_bytes: u64,
}
