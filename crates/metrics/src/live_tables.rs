//! The page tables of a running process, built by every design.

use crate::Provenance;
use serde::Serialize;

/// The name and version of the schema of [`LiveTables`].
pub const TABLES_SCHEMA: &str = "broadleaf.tables/1";

/// The result of `tables`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveTables {
    /// [`TABLES_SCHEMA`].
    pub schema: String,
    /// The process.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// The base pages that its page table maps, without those in superpages.
    pub base_pages: u64,
    /// The superpages of 2 MiB that it maps.
    pub superpages: u64,
    /// The base pages among them that are swapped out.
    pub swapped_pages: u64,
    /// True if the kernel showed the frames: only then can pages be properly placed or contiguous.
    pub frames_known: bool,
    /// The bytes of a cache line.
    pub line_bytes: u64,
    /// The kernel's own table.
    pub kernel: KernelTable,
    /// The tables of the catalogue.
    pub tables: Vec<LiveTable>,
    /// The synonym tables of the catalogue; none if the kernel showed no frames.
    pub synonyms: Vec<LiveSynonyms>,
    /// The provenance of this result.
    pub provenance: Provenance,
}

/// The memory of the kernel's own table, and what explains it, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelTable {
    /// The tables below the root, as the kernel counts them (`VmPTE`).
    pub bytes: u64,
    /// The tables below the root that the mapped pages need: `x86-64` without its root.
    pub needed_bytes: u64,
    /// A table that the kernel keeps for each anonymous superpage, for the time when it breaks.
    pub kept_bytes: u64,
    /// The rest: tables that hold nothing any more. Negative if the process changed meanwhile.
    pub empty_bytes: i64,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveTable {
    /// The name.
    pub name: String,
    /// Its memory in bytes.
    pub bytes: u64,
    /// The memory of each level, the base pages' first.
    pub level_bytes: Vec<u64>,
    /// The nodes.
    pub nodes: u64,
    /// The mean nodes of a walk, over all mapped pages.
    pub nodes_per_walk: f64,
    /// The mean cache lines of a walk, over all mapped pages.
    pub lines_per_walk: f64,
}

/// One synonym table: from each frame to the entries that map the frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveSynonyms {
    /// The name.
    pub name: String,
    /// Its memory in bytes: the heads of lists in descriptors of frames, and the pointers.
    pub bytes: u64,
    /// The descriptors in use.
    pub descriptors: u64,
    /// The pointers in entries of page tables.
    pub pointers: u64,
    /// The superpages that are listed page by page.
    pub split: u64,
    /// The mean cache lines that mapping a page reads or writes.
    pub lines_per_map: f64,
    /// The mean cache lines that finding all entries of a frame reads, over all mapped frames.
    pub lines_per_search: f64,
    /// The most entries of one frame.
    pub most_entries: u64,
}
