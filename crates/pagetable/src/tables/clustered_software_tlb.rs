//! A clustered software TLB in front of a clustered table.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS, SUBBLOCKS};
use crate::parts::blocks::{Clustered, Compact};
use crate::parts::chains::{ChainHead, MAPPING_BYTES};
use crate::parts::front::{Front, SETS, WAYS};
use crate::parts::nodes::Nodes;
use crate::{LevelSize, PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{
    AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, StructureParameter,
};

pub(crate) static CLUSTERED_SOFTWARE_TLB: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered-software-tlb",
        summary: "a cache of blocks in memory, in front of a clustered table",
        explanation: "Tags and mappings have arrays of their own: 256 buckets of four tags, which \
                      share a line. In form 1, each tag has room for the mappings of its block. In \
                      form 2, a tag has eight bytes more. They hold the mapping itself if one \
                      superpage covers the block, and otherwise a pointer to the mappings, whose \
                      room is taken when it is needed. A walk reads the tags, and then one mapping \
                      unless a tag holds it. If the page is not there, the walk goes on in the \
                      clustered table and stores what it finds. The numbers are chosen.",
        source: "Talluri 1995, section 7.7 (clustered software TLB, forms 1 and 2)",
    },
    parameters: &[FORM, BLOCK_SETS, WAYS, BUCKETS, SUBBLOCKS, ALIASES],
    build: |base, choice| Box::new(Cached::new(base, choice)),
    spans: no_spans,
    cost_by_size: false,
};

/// The places of the mappings.
const FORM: StructureParameter = StructureParameter::number(
    "form",
    (1, 2),
    1,
    "1: each tag has room for its mappings; 2: a tag holds one mapping, or a pointer to several",
);

/// The number of buckets of the cache.
const BLOCK_SETS: StructureParameter = StructureParameter {
    default: broadleaf_units::StructureValue::Number(256),
    ..SETS
};

const TAG_BYTES: u32 = 8;
/// The region of the mappings of form 2.
const REGION: u64 = (1 << 12) + 1;

/// The mappings of a block that were stored.
#[derive(Clone, Debug)]
struct CachedBlock {
    leaves: Vec<Option<Leaf>>,
    /// The room for its mappings, in form 2.
    room: Option<u32>,
}

/// The cache and the table of all address spaces.
#[derive(Clone, Debug)]
struct Cached {
    front: Front<CachedBlock>,
    behind: Clustered,
    /// The room for the mappings of blocks, in form 2.
    rooms: Option<Nodes<()>>,
}

impl Cached {
    fn new(base: PageSize, choice: &PageTableChoice) -> Self {
        let behind = Clustered::new(base, ChainHead::Node, Compact::Superpages, choice);
        let number = |name| choice.number(name).unwrap_or(1) as usize;
        let (sets, ways) = (number(SETS.name), number(WAYS.name));
        let data_bytes = behind.subblocks() as u32 * MAPPING_BYTES;
        let has_rooms = choice.number(FORM.name) == Some(2);
        let front = match has_rooms {
            true => Front::new(sets, ways, TAG_BYTES + MAPPING_BYTES, 0),
            false => Front::new(sets, ways, TAG_BYTES, data_bytes),
        };
        Self {
            front,
            rooms: has_rooms.then(|| Nodes::new(REGION, data_bytes.ilog2())),
            behind,
        }
    }

    /// Frees the room of blocks that left the cache.
    fn free(&mut self, blocks: impl IntoIterator<Item = CachedBlock>) {
        if let Some(rooms) = &mut self.rooms {
            let numbers = blocks.into_iter().filter_map(|block| block.room);
            numbers.for_each(|number| {
                rooms.remove(number);
            });
        }
    }

    /// Drops the cached blocks of a page.
    fn forget(&mut self, space: SpaceId, run: AlignedRun) {
        let (first, after) = run.bounds();
        for block in self.behind.place(first).0..=self.behind.place(after - 1).0 {
            let left = self.front.forget((space, block));
            self.free(left);
        }
    }

    /// Returns true if a tag holds all of a block: one superpage covers the block.
    fn fits_tag(&self, leaf: &Leaf) -> bool {
        let (first, after) = leaf.run.bounds();
        self.behind.place(first).0 != self.behind.place(after).0
            && self.behind.place(first).1 == 0
            && self.behind.place(after).1 == 0
    }
}

impl PageTable for Cached {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.map(space, leaf);
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.map(space, leaf);
        self.forget(space, leaf.run);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.behind.unmap(space, run);
        self.forget(space, run);
    }

    fn end(&mut self, space: SpaceId) {
        let left = self.front.end(space);
        self.free(left);
        self.behind.end(space);
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let (block, place) = self.behind.place(page.0);
        let key = (space, block);
        let offset = place as u32 * MAPPING_BYTES;
        let part = match self.rooms {
            Some(_) => (0, 0),
            None => (offset, MAPPING_BYTES),
        };
        let mut known = None;
        if let Some(found) = self.front.find(key, part, reads) {
            if let Some(room) = found.room
                && let Some(rooms) = &self.rooms
            {
                let address = rooms.address(room) + u64::from(offset);
                reads(TableRead::further(address, MAPPING_BYTES));
            }
            if let Some(leaf) = found.leaves[place] {
                return Some(leaf);
            }
            known = Some(found.clone());
        }
        let leaf = self.behind.walk(space, page, reads)?;
        let mut known = known.unwrap_or_else(|| CachedBlock {
            leaves: vec![None; self.behind.subblocks()],
            room: None,
        });
        known.leaves[place] = Some(leaf);
        if self.rooms.is_some() && self.fits_tag(&leaf) {
            known.leaves.fill(Some(leaf));
        } else if known.room.is_none() {
            known.room = self.rooms.as_mut().map(|rooms| rooms.add(()));
        }
        let room = known.room;
        let left = self.front.store(key, known);
        // The block itself keeps its room.
        self.free(left.filter(|left| left.room != room));
        Some(leaf)
    }

    fn size(&self) -> TableSize {
        let mut size = self.behind.size();
        size.fixed += self.front.bytes();
        if let Some(rooms) = &self.rooms {
            let nodes = rooms.len();
            let bytes = nodes * self.behind.subblocks() as u64 * u64::from(MAPPING_BYTES);
            size.levels.push(LevelSize { nodes, bytes });
        }
        size
    }

    fn has_aliases(&self) -> bool {
        self.behind.has_aliases()
    }
}
