//! The hashed table with superpage-index hashing.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS};
use crate::parts::single_mappings::{Hashed, HashedShape};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static HASHED_SUPERPAGE: PageTableKind = PageTableKind {
    described: Described {
        name: "hashed-superpage",
        summary: "a hashed table that hashes blocks of 64 KiB, for base pages and superpages alike",
        explanation: "Base pages and superpages of a block share one chain, so a walk finds any \
                      size in one pass. Without superpages, up to sixteen nodes of a block lie in \
                      one chain. Pages larger than 64 KiB have a node for each block.",
        source: "Talluri 1995, section 7.5 (superpage-index hashing)",
    },
    parameters: &[BUCKETS, ALIASES],
    build: |base, choice| {
        let shape = HashedShape {
            block: block(base),
            ..HashedShape::of_base_pages(base)
        };
        Box::new(ByBlock(Hashed::new(&shape, choice)))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The blocks that are hashed: 64 KiB, or base pages that are larger.
fn block(base: PageSize) -> PageSize {
    PageSize::from_shift(BLOCK_SHIFT).map_or(base, |block| block.max(base))
}

const BLOCK_SHIFT: u8 = 16;

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct ByBlock(Hashed);

impl PageTable for ByBlock {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.0.map(space, leaf);
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.0.protect(space, leaf);
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

    fn size(&self) -> TableSize {
        self.0.size()
    }

    fn has_aliases(&self) -> bool {
        self.0.has_aliases()
    }
}
