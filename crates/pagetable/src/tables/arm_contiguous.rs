//! The radix tree of Arm's 64-bit processors, whose contiguous bit joins sixteen entries.

use crate::parts::radix::{Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static ARM_CONTIGUOUS: PageTableKind = PageTableKind {
    described: Described {
        name: "arm-contiguous",
        summary: "Arm's radix tree, with 64 KiB pages as sixteen entries that have the contiguous \
                  bit",
        explanation: "A page of 64 KiB is sixteen equal entries in a row that say so by a bit, and \
                      a page of 32 MiB is sixteen entries of 2 MiB each. A walk reads one of them, \
                      and the TLB may hold the whole page. The bit saves no memory: every entry is \
                      there. With base pages of 16 KiB, 128 entries of the last level are one page \
                      of 2 MiB.",
        source: "Arm Architecture Reference Manual for A-profile, section D8.7.1 (contiguous bit)",
    },
    parameters: &[SHARED],
    build: |base, choice| Box::new(Contiguous(tree(base).with(choice))),
    spans: |base| tree(base).spans(),
    cost_by_size: false,
};

/// The bits of an address that the levels translate.
const ADDRESS_BITS: u32 = 48;

/// An empty tree.
fn tree(base: PageSize) -> Radix {
    Radix::of_pages(base, ADDRESS_BITS)
}

/// The trees of all address spaces.
#[derive(Clone, Debug)]
struct Contiguous(Radix);

impl PageTable for Contiguous {
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
