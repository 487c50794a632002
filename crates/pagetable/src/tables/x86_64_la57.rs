//! The radix tree of x86-64 with five levels, for addresses of 57 bits.

use crate::parts::radix::{Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static X86_64_LA57: PageTableKind = PageTableKind {
    described: Described {
        name: "x86-64-la57",
        summary: "the radix tree of x86-64 with five levels",
        explanation: "The tree of x86-64 with one more level at the root: a walk reads five \
                      entries for a base page, and four for a page of 2 MiB.",
        source: "Intel SDM volume 3, section 4.5 (LA57)",
    },
    parameters: &[SHARED],
    build: |base, choice| Box::new(FiveLevels(tree(base).with(choice))),
    spans: |base| tree(base).spans(),
    cost_by_size: false,
};

/// The bits of an address that the levels translate.
const ADDRESS_BITS: u32 = 57;

/// An empty tree.
fn tree(base: PageSize) -> Radix {
    Radix::of_pages(base, ADDRESS_BITS)
}

/// The trees of all address spaces.
#[derive(Clone, Debug)]
struct FiveLevels(Radix);

impl PageTable for FiveLevels {
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
}
