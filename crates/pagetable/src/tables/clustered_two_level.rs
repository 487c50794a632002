//! The two-level clustered table.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS, SUBBLOCKS};
use crate::parts::blocks::{Clustered, Compact};
use crate::parts::chains::ChainHead;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static CLUSTERED_TWO_LEVEL: PageTableKind = PageTableKind {
    described: Described {
        name: "clustered-two-level",
        summary: "the clustered table with pointers in its buckets",
        explanation: "Buckets of eight bytes lead to the nodes. Empty and compact buckets save \
                      memory, the node that was found last moves to the front, and a walk reads \
                      the pointer first.",
        source: "Talluri 1995, section 7.7 (two-level)",
    },
    parameters: &[BUCKETS, SUBBLOCKS, ALIASES],
    build: |base, choice| {
        Box::new(TwoLevel(Clustered::new(
            base,
            ChainHead::Pointer,
            Compact::Superpages,
            choice,
        )))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct TwoLevel(Clustered);

impl PageTable for TwoLevel {
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

    fn size(&self) -> TableSize {
        self.0.size()
    }

    fn has_aliases(&self) -> bool {
        self.0.has_aliases()
    }
}
