//! The clustered table whose compact nodes also hold partial-subblock mappings.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS, FEW_SUBBLOCKS};
use crate::parts::blocks::{Clustered, Compact};
use crate::parts::chains::ChainHead;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static CLUSTERED_PARTIAL: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered-partial",
        summary: "the clustered table with partial-subblock mappings",
        explanation: "As clustered, and a block whose mapped pages are all properly placed takes \
                      one mapping too: its vector of valid bits names them.",
        source: "Talluri 1995, section 7.4 (compact nodes)",
    },
    parameters: &[BUCKETS, FEW_SUBBLOCKS, ALIASES],
    build: |base, choice| {
        Box::new(Partial(Clustered::new(
            base,
            ChainHead::Node,
            Compact::PartialSubblocks,
            choice,
        )))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct Partial(Clustered);

impl PageTable for Partial {
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
