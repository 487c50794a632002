//! Maps of memory over time: what each block of each mapping holds, where walks are, and what a
//! policy decided.
//!
//! A [`MapRecorder`] is a listener ([`crate::StepListener`]). It counts walks by page, looks at
//! memory at the end of each bin of time, and hears all decisions. It changes no count.

mod history;
mod recorder;

pub use history::{BlockDecision, BlockHistory, MOST_DECISIONS};
pub use recorder::{MapRecorder, RecordedMaps};

use broadleaf_memory::Backing;
use broadleaf_units::{FileId, SpaceId};

/// The pages of 4 KiB of a block of 2 MiB.
pub const BLOCK_PAGES: u64 = 512;

/// The kind of memory of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapKind {
    /// The trace lists no mapping.
    Unlisted,
    /// Private memory that begins as zeroes.
    Anonymous,
    /// The heap.
    Heap,
    /// A stack.
    Stack,
    /// Memory that processes share, by its number.
    Shared(u32),
    /// A file.
    File(FileId),
    /// Memory that the kernel provides.
    Kernel,
}

impl MapKind {
    pub(crate) const fn of(backing: Backing) -> Self {
        match backing {
            Backing::Anonymous => Self::Anonymous,
            Backing::Heap => Self::Heap,
            Backing::Stack => Self::Stack,
            Backing::SharedMemory { memory, .. } => Self::Shared(memory.0),
            Backing::File { file, .. } => Self::File(file),
            Backing::Kernel => Self::Kernel,
        }
    }
}

/// The map of a policy on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedMap {
    /// The accesses of a bin of time.
    pub bin_accesses: u64,
    /// The number of bins.
    pub bins: u32,
    /// The mappings, by address space and address.
    pub mappings: Vec<RecordedMapping>,
    /// The histories of blocks, by address space and number.
    pub histories: Vec<((SpaceId, u64), BlockHistory)>,
}

/// Memory of one kind in adjacent blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedMapping {
    /// The address space.
    pub space: SpaceId,
    /// The kind of memory.
    pub kind: MapKind,
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The blocks with a reference or a resident page, in order.
    pub blocks: Vec<RecordedBlock>,
}

/// The memory of one kind in a block of 2 MiB. Pages have 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedBlock {
    /// The number of the block: its address divided by 2 MiB.
    pub number: u64,
    /// The time of the first reference; `None` if there is none.
    pub first_reference: Option<u64>,
    /// The pages that the program referenced.
    pub touched_pages: u32,
    /// The number of walks.
    pub walks: u64,
    /// The cycles of walks in each bin that has any, by the number of the bin.
    pub walk_cycles: Vec<(u32, u64)>,
    /// The cycles of walks of each page that has any, by the page's number in the block.
    pub of_pages: Vec<(u32, u64)>,
    /// The states of the block, from the end of a bin on. Equal states are one.
    pub states: Vec<BlockState>,
}

impl RecordedBlock {
    /// The cycles of all walks.
    pub fn all_walk_cycles(&self) -> u64 {
        self.walk_cycles.iter().map(|(_, cycles)| cycles).sum()
    }
}

/// The resident pages of a block. Pages have 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockState {
    /// The number of the bin at whose end the state began.
    pub bin: u32,
    /// Resident pages.
    pub populated: u32,
    /// Of these, pages in superpages.
    pub promoted: u32,
    /// Resident pages that the program has not referenced since they became resident.
    pub wasted: u32,
}
