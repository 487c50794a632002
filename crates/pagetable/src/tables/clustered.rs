//! The clustered table: a node for each block of sixteen pages.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS, SUBBLOCKS};
use crate::parts::blocks::{Clustered, Compact};
use crate::parts::chains::ChainHead;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static CLUSTERED: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered",
        summary: "a hashed table of blocks: one node for sixteen neighbouring pages",
        explanation: "A node holds a tag, a pointer and sixteen mappings: 144 bytes, as much as \
                      six nodes of a hashed table. If one superpage covers the block, the node \
                      holds one mapping and takes 24 bytes. Smaller superpages are inside the \
                      array. Larger ones have a node for each block.",
        source: "Talluri 1995, section 7.4",
    },
    parameters: &[BUCKETS, SUBBLOCKS, ALIASES],
    build: |base, choice| {
        Box::new(Blocks(Clustered::new(
            base,
            ChainHead::Node,
            Compact::Superpages,
            choice,
        )))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct Blocks(Clustered);

impl PageTable for Blocks {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.0.map(space, leaf);
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.0.map(space, leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.0.unmap(space, run);
    }

    fn end(&mut self, space: SpaceId) {
        self.0.end(space);
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        self.0.walk(space, page, reads)
    }

    fn walks_alike(&self) -> bool {
        true
    }

    fn size(&self) -> TableSize {
        self.0.size()
    }

    fn has_aliases(&self) -> bool {
        self.0.has_aliases()
    }
}
