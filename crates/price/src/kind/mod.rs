//! Kinds of TLB entries: what one entry maps, and the bits that this takes.
//!
//! A kind is one file of this folder and one line of [`ENTRY_KINDS`].

use crate::{EntryBits, FieldWidths};
use broadleaf_units::{Described, catalogue};

catalogue! {
    /// The catalogue of kinds.
    pub static ENTRY_KINDS: EntryKind = [
        single_page_size::SINGLE_PAGE_SIZE,
        superpage::SUPERPAGE,
        complete_subblock::COMPLETE_SUBBLOCK,
        partial_subblock::PARTIAL_SUBBLOCK,
    ];
}

/// The pages that an entry can map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryReach {
    /// The base-2 logarithm of the number of base pages: 4 for sixteen pages.
    pub order: u32,
    /// The number of page sizes that the TLB supports. Subblock TLBs have one.
    pub sizes: u32,
}

impl EntryReach {
    /// One base page.
    pub const PAGE: Self = Self { order: 0, sizes: 1 };

    /// A block of `2^order` base pages, each a subblock.
    pub const fn block(order: u32) -> Self {
        Self { order, sizes: 1 }
    }

    /// A base page, or a superpage of `2^order` base pages.
    pub const fn superpage(order: u32) -> Self {
        Self { order, sizes: 2 }
    }
}

/// A kind of entry.
pub struct EntryKind {
    /// Its name and its texts.
    pub described: Described,
    /// The bits of an entry of this reach. An order of a subblock entry is at most 16.
    pub bits: fn(&FieldWidths, EntryReach) -> EntryBits,
}

impl EntryKind {
    /// Entries for pages of one size.
    pub const fn single_page_size() -> &'static Self {
        &single_page_size::SINGLE_PAGE_SIZE
    }

    /// Entries for pages of several sizes.
    pub const fn superpage() -> &'static Self {
        &superpage::SUPERPAGE
    }

    /// Entries for blocks of pages, with a mapping for each page.
    pub const fn complete_subblock() -> &'static Self {
        &complete_subblock::COMPLETE_SUBBLOCK
    }

    /// Entries for blocks of pages, with one mapping and a valid bit for each page.
    pub const fn partial_subblock() -> &'static Self {
        &partial_subblock::PARTIAL_SUBBLOCK
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = ENTRY_KINDS.iter().copied();
        all.find(|kind| kind.described.name == name)
    }

    /// The bits of an entry with Talluri's widths.
    pub fn talluri(&self, reach: EntryReach) -> EntryBits {
        (self.bits)(&FieldWidths::TALLURI, reach)
    }
}

impl PartialEq for EntryKind {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for EntryKind {}

impl std::fmt::Debug for EntryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}

/// The used bit of the replacement rule.
const USED_BIT: u32 = 1;
