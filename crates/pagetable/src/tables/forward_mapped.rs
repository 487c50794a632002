//! The forward-mapped table of the thesis: seven levels for addresses of 64 bits.

use crate::parts::radix::{Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static FORWARD_MAPPED: PageTableKind = PageTableKind {
    described: Described {
        name: "forward-mapped",
        summary: "a tree of seven levels, with superpages at intermediate nodes",
        explanation: "A lookup reads seven nodes. From the root on, the levels translate 8, 8, 8, \
                      8, 8, 6 and 6 bits: an entry of the sixth level is a page of 256 KiB. The \
                      widths are chosen; the thesis has them in a figure alone. Pages of other \
                      sizes are replicated at the next smaller level.",
        source: "Talluri 1995, section 7.2; the widths are those of decision 3",
    },
    parameters: &[SHARED],
    build: |base, choice| Box::new(ForwardMapped(tree(base).with(choice))),
    spans: |base| tree(base).spans(),
    cost_by_size: false,
};

/// The address bits of each level, the one of base pages first.
const WIDTHS: [u32; 7] = [6, 6, 8, 8, 8, 8, 8];

/// An empty tree.
fn tree(base: PageSize) -> Radix {
    Radix::new(base, &WIDTHS)
}

/// The trees of all address spaces.
#[derive(Clone, Debug)]
struct ForwardMapped(Radix);

impl PageTable for ForwardMapped {
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
}
