//! Maps of memory over time: a row for each mapping, histories of blocks, and walks by site.

use crate::BackingName;
use serde::Serialize;
use std::collections::BTreeMap;

/// The address-space map of a policy on a machine. All pages have 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AddressMap {
    /// The policy, with its parameters.
    pub policy: String,
    /// The machine's name.
    pub machine: String,
    /// The accesses of the trace.
    pub accesses: u64,
    /// The accesses of a bin of time.
    pub bin_accesses: u64,
    /// The number of bins.
    pub bins: u32,
    /// The size of a block, in bytes.
    pub block_bytes: u64,
    /// The mappings, by address space and address.
    pub mappings: Vec<MapMapping>,
    /// The blocks with most walk cycles and decisions, by address space and address.
    pub blocks: Vec<MapBlock>,
    /// The walk cycles by mapping, range and allocation site.
    pub walk_tree: WalkNode,
    /// Sentences on the sums of the map.
    pub folded: Vec<String>,
}

/// Memory of one kind in adjacent blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MapMapping {
    /// The trace's number of the address space.
    pub space: u32,
    /// The program in the address space; empty if the trace does not name it.
    pub program: String,
    /// The kind of memory; `None` if the trace lists no mapping.
    pub backing: Option<BackingName>,
    /// The path of the file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The number of mappings that this one adds up; absent if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mappings: Option<u64>,
    /// Blocks with a reference or a resident page.
    pub blocks: u64,
    /// Pages that the program referenced.
    pub touched_pages: u64,
    /// Resident pages at the end.
    pub populated_pages: u64,
    /// Of these, pages in superpages.
    pub promoted_pages: u64,
    /// Resident pages that the program has not referenced since they became resident.
    pub wasted_pages: u64,
    /// Page walks.
    pub walks: u64,
    /// The cycles of walks.
    pub walk_cycles: u64,
    /// Rows of the map, by address: each is one block, or several.
    pub rows: Vec<MapRow>,
}

/// A row of the map: aligned blocks of a mapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MapRow {
    /// The address of the first byte.
    pub start: u64,
    /// The blocks with a reference or a resident page.
    pub blocks: u64,
    /// Pages that the program referenced.
    pub touched_pages: u64,
    /// The cycles of walks in each bin, without the zeroes at the end.
    pub walk_cycles: Vec<u64>,
    /// Changes: the bin at whose end it happened, then resident pages, those of them in superpages,
    /// and those that the program has not referenced.
    pub states: Vec<[u64; 4]>,
}

/// The history of a block. Times are accesses.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MapBlock {
    /// The trace's number of the address space.
    pub space: u32,
    /// The address of the first byte.
    pub start: u64,
    /// The number of the mapping in [`AddressMap::mappings`] with most walk cycles in the block.
    pub mapping: u64,
    /// The time of the first reference; `None` if there is none.
    pub first_reference: Option<u64>,
    /// Pages that the program referenced.
    pub touched_pages: u64,
    /// Page walks.
    pub walks: u64,
    /// The cycles of walks.
    pub walk_cycles: u64,
    /// The cycles of walks in each bin, without the zeroes at the end.
    pub walk_cycles_over_time: Vec<u64>,
    /// Changes, as in [`MapRow::states`].
    pub states: Vec<[u64; 4]>,
    /// The policy's decisions, in order.
    pub history: Vec<MapDecision>,
    /// Decisions that are not listed.
    pub history_left_out: u64,
    /// The number of decisions of each kind: `promoted`, `demoted`, and the names of refusals.
    pub decisions: BTreeMap<String, u64>,
}

/// Equal decisions about a block that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MapDecision {
    /// The time of the first one.
    pub time: u64,
    /// The time of the last one.
    pub until: u64,
    /// `promoted`, `demoted`, or the name of a refusal.
    pub decision: String,
    /// The size of the pieces, in bytes.
    pub piece_bytes: u64,
    /// The number of decisions.
    pub count: u64,
    /// Populated base pages of the piece, at the first decision and at the last.
    pub populated: [u32; 2],
}

/// The walk cycles of a part of memory, divided among smaller parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalkNode {
    /// The name of the part.
    pub name: String,
    /// The kind of the part: `program`, `mapping`, `range`, `site` or `rest`.
    pub kind: String,
    /// The cycles of walks: the sum of those of the parts, if there are parts.
    pub walk_cycles: u64,
    /// The smaller parts, those with most cycles first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<WalkNode>,
}
