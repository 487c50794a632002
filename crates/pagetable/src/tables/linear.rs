//! The linear table: an array of entries in virtual memory, mapped by a tree of equal tables.

use super::no_spans;
use crate::parts::last_used::LastUsed;
use crate::parts::radix::{ENTRY_BYTES, Radix, SHARED};
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{
    AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId, StructureParameter,
};

pub(crate) static LINEAR: PageTableKind = PageTableKind {
    described: Described {
        name: "linear",
        summary: "an array of entries in virtual memory, mapped by six levels of tables",
        explanation: "A walk loads one entry from the array. The page of the array has a \
                      translation itself: the table keeps the eight that were used last, as TLB \
                      entries that the system reserves. If the translation is missing, the walk \
                      first loads the entry that maps this page, one level above, and so on. A \
                      table holds 512 entries, and the root 128. Superpages of 2 MiB and more are \
                      entries of the levels above; smaller ones are replicated.",
        source: "Talluri 1995, sections 7.1 and 7.9 (eight reserved TLB entries)",
    },
    parameters: &[SHARED, RESERVED],
    build: |base, choice| {
        let reserved = choice.number(RESERVED.name).unwrap_or(0);
        Box::new(Linear {
            tree: tree(base).with(choice),
            reserved: LastUsed::new(reserved as usize),
        })
    },
    spans: no_spans,
    cost_by_size: false,
};

/// The address bits of each level, the one of base pages first.
const WIDTHS: [u32; 6] = [9, 9, 9, 9, 9, 7];
/// The TLB entries that hold pages of the array.
const RESERVED: StructureParameter = StructureParameter::number(
    "reserved",
    (0, 1024),
    8,
    "the TLB entries that hold pages of the array",
);

/// An empty tree.
pub(super) fn tree(base: PageSize) -> Radix {
    Radix::new(base, &WIDTHS)
}

/// The arrays of all address spaces.
#[derive(Clone, Debug)]
struct Linear {
    tree: Radix,
    /// The nodes whose translations are at hand.
    reserved: LastUsed<u32>,
}

impl Linear {
    /// Drops the translations of nodes that went.
    fn forget(&mut self) {
        let tree = &self.tree;
        self.reserved.retain(|node| tree.has(*node));
    }
}

impl PageTable for Linear {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.tree.map(space, leaf);
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.tree.map(space, leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.tree.unmap(space, run);
        self.forget();
    }

    fn end(&mut self, space: SpaceId) {
        self.tree.end(space);
        self.forget();
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let (steps, leaf) = self.tree.steps(space, page);
        let taken = steps.iter().flatten().count();
        // The root is at a place that the system knows.
        let below = steps.iter().flatten().rev();
        let missing = below
            .take(taken.saturating_sub(1))
            .take_while(|step| !self.reserved.uses(step.node))
            .count();
        let first = taken.saturating_sub(missing + 1);
        for step in steps.iter().flatten().skip(first) {
            reads(TableRead::of_node(step.address, ENTRY_BYTES));
        }
        leaf
    }

    fn size(&self) -> TableSize {
        self.tree.size()
    }
}
