//! Page tables: built from notices of a memory, and walked after a TLB miss.
//!
//! A page table holds the leaves that a memory maps. A walk finds the leaf of a page and reports
//! what it reads. A page table knows neither the memory nor the TLBs. A page table is one file of
//! the folder `tables` and one line of [`PAGE_TABLES`]. The folder `parts` holds what several
//! share.
#![forbid(unsafe_code)]

mod meter;
mod parts;
mod reads;
mod seen;
mod synonyms;
mod tables;
mod walk_caches;

pub use meter::{WalkCounts, WalkMeter};
pub use reads::{LevelSize, TableRead, TableSize};
pub use synonyms::{SYNONYM_TABLES, SynonymKind, SynonymSize, SynonymTable};
pub use tables::PAGE_TABLES;
pub use walk_caches::{WalkCacheCounts, WalkCacheShape, WalkCaches};

use broadleaf_units::{
    AlignedRun, CatalogueChoice, Described, Leaf, PageNumber, PageSize, Parametric, SpaceId,
    StructureParameter,
};

/// A page table of the catalogue.
pub struct PageTableKind {
    /// Its name and its texts.
    pub described: Described,
    /// Its parameters.
    pub parameters: &'static [StructureParameter],
    /// Builds an empty table for base pages of this size.
    pub build: fn(PageSize, &PageTableChoice) -> Box<dyn PageTable>,
    /// The address ranges that one entry of each level above the base pages covers, smallest first,
    /// for base pages of this size. Empty for tables without levels.
    pub spans: fn(PageSize) -> Vec<PageSize>,
    /// The cycles of a walk depend on the size of the page alone. Then a replay need not build the
    /// table to count walks.
    pub cost_by_size: bool,
}

/// A page table with the values of its parameters.
pub type PageTableChoice = CatalogueChoice<PageTableKind>;

/// The page tables of all address spaces of one memory.
pub trait PageTable: Send + std::fmt::Debug {
    /// Maps a page. No other leaf overlaps the page.
    fn map(&mut self, space: SpaceId, leaf: Leaf);

    /// Gives a mapped page other rights. A table that finds its entry changes it in place; the
    /// default unmaps and maps the page.
    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.unmap(space, leaf.run);
        self.map(space, leaf);
    }

    /// Unmaps the page of this run, if it is mapped.
    fn unmap(&mut self, space: SpaceId, run: AlignedRun);

    /// Drops the table of a space that ended.
    fn end(&mut self, space: SpaceId);

    /// Walks the table for a page of 4 KiB. Returns the leaf, or `None` if the page is not mapped.
    /// `reads` receives what the walk reads, in order. A walk may change the order of chains and
    /// the contents of caches of the table, never what is mapped.
    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf>;

    /// Walks the table for each page of an aligned run, as a miss handler that preloads a block
    /// (Talluri 1995, section 4.3). Bytes that the walks of several pages read are read once.
    fn walk_run(&mut self, space: SpaceId, run: AlignedRun, reads: &mut dyn FnMut(TableRead)) {
        let (first, after) = run.bounds();
        let mut seen = Vec::new();
        for page in first..after {
            self.walk(space, PageNumber(page), &mut |read| {
                if !seen.contains(&read) {
                    seen.push(read);
                    reads(read);
                }
            });
        }
    }

    /// Returns true if a walk changes nothing of the table: walks of a page then read the same
    /// until something is mapped, unmapped or protected.
    fn walks_alike(&self) -> bool {
        false
    }

    /// The memory that the table takes in the modelled machine, by level. It takes the same time
    /// whatever the table holds.
    fn size(&self) -> TableSize;

    /// Returns true if entries have room for the pointers of a synonym table.
    fn has_aliases(&self) -> bool {
        false
    }
}

impl PageTableKind {
    /// The page table of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut all = PAGE_TABLES.iter().copied();
        all.find(|table| table.described.name == name)
    }

    /// An empty table with these parameters, for base pages of this size.
    pub fn table(choice: &PageTableChoice, base: PageSize) -> Box<dyn PageTable> {
        (choice.entry().build)(base, choice)
    }

    /// The radix tree of x86-64.
    pub const fn x86_64() -> &'static Self {
        tables::x86_64()
    }
}

impl Parametric for PageTableKind {
    const KIND: &'static str = "page table";

    fn name(&self) -> &'static str {
        self.described.name
    }

    fn parameters(&self) -> &'static [StructureParameter] {
        self.parameters
    }

    fn catalogue() -> &'static [&'static Self] {
        PAGE_TABLES
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
