//! The radix tree of x86-64: nodes of one base page, superpage leaves nearer to the root.

use crate::parts::radix::{Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static X86_64: PageTableKind = PageTableKind {
    described: Described {
        name: "x86-64",
        summary: "the radix tree of x86-64, whose leaves are 4 KiB and 2 MiB pages",
        explanation: "A superpage is a leaf one level nearer to the root. What a walk costs comes \
                      from the machine's table of cycles for each page size; the tree's own memory \
                      references and the caches of its upper levels are in that mean and are not \
                      modelled one by one. With --memory, leaves are of whichever sizes a machine \
                      has.",
        source: "Intel SDM volume 3, section 4.5; Zhu 2018, chapter 6",
    },
    parameters: &[SHARED],
    build: |base, choice| Box::new(FourLevels(tree(base).with(choice))),
    spans: |base| tree(base).spans(),
    cost_by_size: true,
};

/// The bits of an address that the levels translate. Higher bits choose the root.
const ADDRESS_BITS: u32 = 48;

/// An empty tree.
fn tree(base: PageSize) -> Radix {
    Radix::of_pages(base, ADDRESS_BITS)
}

/// The trees of all address spaces.
#[derive(Clone, Debug)]
struct FourLevels(Radix);

impl PageTable for FourLevels {
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
