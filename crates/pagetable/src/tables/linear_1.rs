//! The linear table whose upper levels take no memory: the array alone.

use super::linear::tree;
use super::no_spans;
use crate::parts::radix::{ENTRY_BYTES, Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};

pub(crate) static LINEAR_1: PageTableKind = PageTableKind {
    described: Described {
        name: "linear-1",
        summary: "an array of entries in virtual memory, whose own mapping costs nothing",
        explanation: "A bound for linear tables: each walk loads one entry, and the array's pages \
                      are all the memory. Something else maps the array.",
        source: "Talluri 1995, section 7.1 (\"1-level\")",
    },
    parameters: &[SHARED],
    build: |base, choice| Box::new(Array(tree(base).with(choice))),
    spans: no_spans,
    cost_by_size: false,
};

/// The arrays of all address spaces.
#[derive(Clone, Debug)]
struct Array(Radix);

impl PageTable for Array {
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
        let (steps, leaf) = self.0.steps(space, page);
        if let Some(last) = steps.iter().flatten().last() {
            reads(TableRead::of_node(last.address, ENTRY_BYTES));
        }
        leaf
    }

    fn walks_alike(&self) -> bool {
        true
    }

    fn size(&self) -> TableSize {
        let mut size = self.0.size();
        size.levels.truncate(1);
        size
    }
}
