//! A clustered software TLB in front of a clustered table.

use super::no_spans;
use crate::blocks::{Clustered, Compact, SUBBLOCKS};
use crate::chains::{ChainHead, MAPPING_BYTES};
use crate::front::Front;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static CLUSTERED_SOFTWARE_TLB: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered-software-tlb",
        summary: "a cache of 1,024 blocks in memory, in front of a clustered table",
        explanation: "Tags and mappings have arrays of their own. The four tags of a bucket share \
                      a line, and each has room for the sixteen mappings of a block (form 1). A \
                      walk reads the tags, and then one mapping. If the page is not there, the \
                      walk goes on in the clustered table and stores what it finds. The number of \
                      slots is chosen.",
        source: "Talluri 1995, section 7.7 (clustered software TLB)",
    },
    build: |base| Box::new(Cached::new(base)),
    spans: no_spans,
    cost_by_size: false,
};

const BUCKETS: usize = 256;
const WAYS: usize = 4;
const TAG_BYTES: u32 = 8;

/// The mappings of a block that were stored.
type CachedBlock = [Option<Leaf>; SUBBLOCKS];

/// The cache and the table of all address spaces.
#[derive(Clone, Debug)]
struct Cached {
    front: Front<CachedBlock>,
    behind: Clustered,
}

impl Cached {
    fn new(base: PageSize) -> Self {
        let data_bytes = SUBBLOCKS as u32 * MAPPING_BYTES;
        Self {
            front: Front::new(BUCKETS, WAYS, TAG_BYTES, data_bytes),
            behind: Clustered::new(base, ChainHead::Node, Compact::Superpages),
        }
    }
}

impl PageTable for Cached {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.map(space, leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.behind.unmap(space, run);
        let (first, after) = run.bounds();
        let blocks = self.behind.place(first).0..=self.behind.place(after - 1).0;
        blocks.for_each(|block| self.front.forget((space, block)));
    }

    fn end(&mut self, space: SpaceId) {
        self.front.end(space);
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
        let part = (place as u32 * MAPPING_BYTES, MAPPING_BYTES);
        let mut known = [None; SUBBLOCKS];
        if let Some(found) = self.front.find(key, part, reads) {
            if let Some(leaf) = found[place] {
                return Some(leaf);
            }
            known = *found;
        }
        let leaf = self.behind.walk(space, page, reads)?;
        known[place] = Some(leaf);
        self.front.store(key, known);
        Some(leaf)
    }

    fn size(&self) -> TableSize {
        let mut size = self.behind.size();
        size.fixed += self.front.bytes();
        size
    }
}
