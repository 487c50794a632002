//! Parameters of tables of chains, and the room in their nodes for a synonym table's pointers.

use crate::PageTableChoice;
use broadleaf_units::StructureParameter;

/// The buckets of the thesis's tables (Talluri 1995, section 7.9).
const USUAL_BUCKETS: u64 = 4096;
/// The most buckets: an array of 2 GiB in the modelled machine.
const MOST_BUCKETS: u64 = 1 << 24;

/// The number of chains.
pub(crate) const BUCKETS: StructureParameter = StructureParameter::number(
    "buckets",
    (1, MOST_BUCKETS),
    USUAL_BUCKETS,
    "the number of chains",
);

/// The base pages of a block.
pub(crate) const SUBBLOCKS: StructureParameter = StructureParameter::word(
    "subblocks",
    &["16", "2", "4", "8", "32", "64"],
    "the base pages of a block",
);

/// The base pages of a block whose vector of valid bits fits an entry.
pub(crate) const FEW_SUBBLOCKS: StructureParameter = StructureParameter::word(
    "subblocks",
    &["16", "2", "4", "8"],
    "the base pages of a block",
);

/// The pointers of a synonym table in each node.
pub(crate) const ALIASES: StructureParameter = StructureParameter::word(
    "aliases",
    &["none", "pages", "entries"],
    "the pointers of a synonym table in a node: none, one for each base page, or for each entry",
);

/// The bytes of a synonym table's pointer.
const POINTER_BYTES: u64 = 8;

/// The number of chains that a choice has.
pub(crate) fn buckets(choice: &PageTableChoice) -> usize {
    choice.number(BUCKETS.name).unwrap_or(USUAL_BUCKETS) as usize
}

/// The base pages of a block, as a power of two.
pub(crate) fn subblock_shift(choice: &PageTableChoice) -> u32 {
    let subblocks: u32 = choice.word(SUBBLOCKS.name).parse().unwrap_or(16);
    subblocks.ilog2()
}

/// The room in nodes for the pointers of a synonym table (Talluri 1995, section 7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AliasRoom {
    /// None.
    None,
    /// A pointer for each base page.
    Pages,
    /// A pointer for each entry.
    Entries,
}

impl AliasRoom {
    pub(crate) fn of(choice: &PageTableChoice) -> Self {
        match choice.word(ALIASES.name) {
            "pages" => Self::Pages,
            "entries" => Self::Entries,
            _ => Self::None,
        }
    }

    /// The bytes in a node with these entries for these base pages.
    pub(crate) const fn bytes(self, entries: u64, base_pages: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Pages => base_pages * POINTER_BYTES,
            Self::Entries => entries * POINTER_BYTES,
        }
    }
}
