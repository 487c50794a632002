//! The inverted table: buckets of pointers, and nodes that move to the front.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS};
use crate::parts::chains::ChainHead;
use crate::parts::single_mappings::{Hashed, HashedShape};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static INVERTED: PageTableKind = PageTableKind {
    described: Described {
        name: "inverted",
        summary: "a hashed table with pointers in its buckets, whose chains move what was found to \
                  the front",
        explanation: "A bucket holds a pointer, which is one more access. A node is often the \
                      descriptor of a frame. Superpages have a node for each base page.",
        source: "Talluri 1995, section 7.3 (inverted variant)",
    },
    parameters: &[BUCKETS, ALIASES],
    build: |base, choice| {
        let shape = HashedShape {
            heads: ChainHead::Pointer,
            ..HashedShape::of_base_pages(base)
        };
        Box::new(Inverted(Hashed::new(&shape, choice)))
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The chains of all address spaces.
#[derive(Clone, Debug)]
struct Inverted(Hashed);

impl PageTable for Inverted {
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
