//! TLBs of any organisation, written from Talluri 1995, chapters 1, 3 and 4, and appendices B to H.
//!
//! A structure is a list of entries. An entry has slots, and a slot holds the translation of one
//! page. A superpage TLB has entries of one slot; a subblock TLB has entries of several. Every
//! question goes through all entries and all pages. What an operation evicts is the difference
//! between the translations before and after.

mod compatible;
mod entries;
mod levels;
mod load;
mod scattered;
mod text;
mod walks;

pub use levels::{ListedTlb, SlowNames};
pub use scattered::{SlowConfiguration, SlowScattered};
pub use text::index_text;

use crate::RuleSpec;

/// A page of the page table: pages of 4 KiB and their frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowPage {
    /// The number of the address space.
    pub space: u32,
    /// The first page of 4 KiB.
    pub first: u64,
    /// The number of pages of 4 KiB.
    pub pages: u64,
    /// The first frame. `None` for the page of zeroes.
    pub frame: Option<u64>,
    /// The access rights: pages with equal numbers have equal rights.
    pub rights: u8,
    /// The modified bit.
    pub modified: bool,
}

impl SlowPage {
    /// The space, the first page and the number of pages.
    pub const fn name(&self) -> (u32, u64, u64) {
        (self.space, self.first, self.pages)
    }

    /// Returns true if the translation covers a page of 4 KiB.
    pub fn covers(&self, space: u32, page: u64) -> bool {
        self.space == space && (self.first..self.first + self.pages).contains(&page)
    }
}

/// A kind of reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowReference {
    /// An instruction fetch.
    Fetch,
    /// A load.
    Load,
    /// A store.
    Store,
}

/// A structure of a TLB.
#[derive(Clone, Debug)]
pub struct SlowStructure {
    /// The level, from 1.
    pub level: usize,
    /// The number of sets.
    pub sets: usize,
    /// The number of ways of a set.
    pub ways: usize,
    /// Page sizes, smallest first: pages of 4 KiB, and the number of pages with one index.
    pub sizes: Vec<(u64, u64)>,
    /// The organisation.
    pub form: SlowForm,
    /// The replacement rule.
    pub rule: RuleSpec,
    /// The references that look the structure up.
    pub serves: Vec<SlowReference>,
    /// What brings translations into the structure.
    pub fills: SlowFills,
    /// True if translations that leave the structure leave the levels above.
    pub inclusive: bool,
    /// The order of the probes for several page sizes.
    pub probes: SlowProbes,
    /// The ways of each set, lowest first, that hold pages of the system and never make room.
    pub wired: usize,
    /// The entries of the page table above the leaves that the structure also holds: the pages of 4
    /// KiB that one covers, and the number of pages with one index.
    pub walk_entries: Vec<(u64, u64)>,
}

/// An organisation.
#[derive(Clone, Copy, Debug)]
pub enum SlowForm {
    /// Entries of one page.
    Pages {
        /// True if a store to a clean page is a counted fault.
        faults: bool,
    },
    /// Entries of a block of pages.
    Blocks(SlowBlocks),
}

/// A subblock organisation.
#[derive(Clone, Copy, Debug)]
pub struct SlowBlocks {
    /// The number of subblocks of an entry.
    pub subblocks: u64,
    /// True if each page size has blocks of its own (appendix F).
    pub own: bool,
    /// True if a miss loads the other pages of the block.
    pub preload: bool,
    /// True if a miss in a block that has an entry loads the page alone, else the block anew
    /// (section 4.4).
    pub page_alone: bool,
    /// The entries that a page can join (appendix G).
    pub check: SlowCheck,
    /// The modified bits (section 3.4).
    pub modified: SlowModified,
    /// The valid bits (section 3.4).
    pub valid: SlowValid,
    /// The frames (section 3.4).
    pub frames: SlowFrames,
    /// True if the pages of an entry have equal rights.
    pub shares_rights: bool,
}

/// The entries of its block that a page can join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowCheck {
    /// All.
    Full,
    /// The first.
    FirstTag,
    /// None.
    Never,
}

/// The treatments of the modified bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowModified {
    /// A bit for the entry. The first store marks all pages.
    Block,
    /// An attribute: clean and modified pages have separate entries.
    Attribute,
    /// A bit for each page.
    Page,
}

/// The sets of valid pages that an entry can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowValid {
    /// Any.
    Vector,
    /// Pages without a gap.
    Run,
    /// All pages, or one.
    Whole,
}

/// The frames that the pages of an entry can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowFrames {
    /// Any.
    Any,
    /// Those of one block of frames, each at its page's place.
    Placed,
    /// Those of one block of frames.
    HighBits,
}

/// What brings translations into a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowFills {
    /// Walks, and hits of lower levels.
    Walks,
    /// What the level above loses.
    Victims,
    /// The pages after missing ones.
    Prefetches,
}

/// The order of the probes of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowProbes {
    /// All sizes at once.
    Parallel,
    /// The largest size first.
    LargestFirst,
    /// The smallest size first.
    SmallestFirst,
}

/// The counts beside hits and misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowCounts {
    /// Walks for a page whose block has an entry.
    pub subblock_misses: u64,
    /// Entries of the page table that were read beside the missing page's.
    pub table_reads: u64,
    /// Stores to clean translations.
    pub modified_faults: u64,
    /// Pages that a store to another page marked.
    pub marked_pages: u64,
    /// Probes after the first one of a structure.
    pub extra_probes: u64,
    /// Hits of structures that victims fill.
    pub victim_hits: u64,
    /// Hits of structures that prefetches fill.
    pub prefetch_hits: u64,
    /// Walks that begin below the root.
    pub walk_entry_hits: u64,
    /// Entries of the page table on the ways of walks.
    pub walk_reads: u64,
}
