//! Hashed tables, one for each page size, searched smallest first.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS};
use crate::parts::by_size::{BySize, ORDER};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static HASHED: PageTableKind = PageTableKind {
    described: Described {
        name: "hashed",
        summary: "hashed tables with open chaining, one for each page size",
        explanation: "A node of 24 bytes holds a tag, a pointer and one mapping. The first node of \
                      each of 4,096 chains is in the bucket array. Each page size has a table of \
                      its own. A walk searches them in order, base pages first, so that a \
                      superpage costs a search of the smaller sizes too.",
        source: "Talluri 1995, sections 7.3, 7.5 and 7.9",
    },
    parameters: &[BUCKETS, ORDER, ALIASES],
    build: |base, choice| Box::new(ChainTables(BySize::new(base, choice))),
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct ChainTables(BySize);

impl PageTable for ChainTables {
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
