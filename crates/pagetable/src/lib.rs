//! Page tables: built from notices of a memory, and walked after a TLB miss.
//!
//! A page table holds the leaves that a memory maps. A walk finds the leaf of a page and reports
//! the addresses of the entries that the walk reads. A page table knows neither the memory nor the
//! TLBs. A page table is one file of this folder and one line of [`PAGE_TABLES`].
#![forbid(unsafe_code)]

use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, catalogue};

catalogue! {
    /// The catalogue of page tables.
    pub static PAGE_TABLES: PageTableKind = [
        radix::X86_64,
    ];
}

/// A page table of the catalogue.
pub struct PageTableKind {
    /// Its name and its texts.
    pub described: Described,
    /// Builds an empty table for base pages of this size.
    pub build: fn(PageSize) -> Box<dyn PageTable>,
    /// The address ranges that one entry of each level above the base pages covers, smallest first,
    /// for base pages of this size.
    pub spans: fn(PageSize) -> Vec<PageSize>,
    /// The cycles of a walk depend on the size of the page alone. Then a replay need not build the
    /// table to count walks.
    pub cost_by_size: bool,
}

/// The page tables of all address spaces of one memory.
pub trait PageTable: Send + std::fmt::Debug {
    /// Maps a page. No other leaf overlaps the page.
    fn map(&mut self, space: SpaceId, leaf: Leaf);

    /// Unmaps the page of this run, if it is mapped.
    fn unmap(&mut self, space: SpaceId, run: AlignedRun);

    /// Drops the table of a space that ended.
    fn end(&mut self, space: SpaceId);

    /// Walks the table for a page of 4 KiB. Returns the leaf, or `None` if the page is not mapped.
    /// `reads` receives the physical address, in bytes, of each entry that the walk reads.
    fn walk(&self, space: SpaceId, page: PageNumber, reads: &mut dyn FnMut(u64)) -> Option<Leaf>;

    /// The memory that the table takes in the modelled machine, in bytes.
    fn bytes(&self) -> u64;
}

impl PageTableKind {
    /// The page table of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = PAGE_TABLES.iter().copied();
        all.find(|table| table.described.name == name)
    }

    /// The radix tree of x86-64.
    pub const fn x86_64() -> &'static Self {
        &radix::X86_64
    }
}

impl PartialEq for PageTableKind {
    fn eq(&self, other: &Self) -> bool {
        self.described.name == other.described.name
    }
}

impl Eq for PageTableKind {}

impl std::fmt::Debug for PageTableKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described.name)
    }
}
