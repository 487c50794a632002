//! The hashed table with replicated superpages.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS};
use crate::parts::single_mappings::{Hashed, HashedShape};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static HASHED_REPLICATED: PageTableKind = PageTableKind {
    described: Described {
        name: "hashed-replicated",
        summary: "a hashed table in which a superpage has a node for each of its base pages",
        explanation: "One chain holds everything, and a lookup ends at its first match. A \
                      superpage takes as much memory as its base pages would, and the walk costs \
                      the same.",
        source: "Talluri 1995, sections 7.3 and 7.5 (replication)",
    },
    parameters: &[BUCKETS, ALIASES],
    build: |base, choice| {
        let shape = HashedShape::of_base_pages(base);
        Box::new(Replicated(Hashed::new(&shape, choice)))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct Replicated(Hashed);

impl PageTable for Replicated {
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
