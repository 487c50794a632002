//! Synonym tables: for each frame, the entries of page tables that map the frame (Talluri 1995,
//! section 7.8).
//!
//! A list hangs off the descriptor of a frame, and its pointers lie in the entries of the page
//! table. A synonym table is one file of the folder `synonyms` and one line of
//! [`SYNONYM_TABLES`].

mod members;

use crate::TableRead;
use broadleaf_units::{Described, Leaf, PageSize, SpaceId, catalogue};

catalogue! {
    /// The catalogue of synonym tables.
    pub static SYNONYM_TABLES: SynonymKind = [
        pages::PAGES,
        same_size::SAME_SIZE,
        first::FIRST,
        sorted::SORTED,
    ];
}

/// A synonym table of the catalogue.
pub struct SynonymKind {
    /// Its name and its texts.
    pub described: Described,
    /// Builds an empty table for base pages of this size.
    pub build: fn(PageSize) -> Box<dyn SynonymTable>,
}

/// The lists of all frames of one memory.
pub trait SynonymTable: Send + std::fmt::Debug {
    /// Adds the entry of a mapped page. `reads` receives what is read or written.
    fn map(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead));

    /// Removes the entry of a page, if it was added.
    fn unmap(&mut self, space: SpaceId, leaf: Leaf, reads: &mut dyn FnMut(TableRead));

    /// The entries that map a frame of 4 KiB, in the order of the lists.
    fn aliases(&self, frame: u64, reads: &mut dyn FnMut(TableRead)) -> Vec<(SpaceId, Leaf)>;

    /// What the table holds.
    fn size(&self) -> SynonymSize;
}

/// The contents of a synonym table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynonymSize {
    /// The descriptors in use: those with a list, or with a flag.
    pub descriptors: u64,
    /// The pointers in entries of page tables.
    pub pointers: u64,
    /// The pages whose entry lists each base page on its own, since the table allows one size for
    /// each frame alone.
    pub split: u64,
}

/// The bytes of a descriptor's list head, and of a pointer.
const POINTER_BYTES: u64 = 8;

impl SynonymSize {
    /// The bytes of the list heads.
    pub const fn head_bytes(&self) -> u64 {
        self.descriptors * POINTER_BYTES
    }

    /// The bytes of the pointers in entries.
    pub const fn pointer_bytes(&self) -> u64 {
        self.pointers * POINTER_BYTES
    }
}

impl SynonymKind {
    /// The synonym table of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = SYNONYM_TABLES.iter().copied();
        all.find(|kind| kind.described.name == name)
    }
}

impl PartialEq for SynonymKind {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for SynonymKind {}

impl std::fmt::Debug for SynonymKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}
