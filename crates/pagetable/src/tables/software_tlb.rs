//! A software TLB in front of hashed tables.

use super::no_spans;
use crate::by_size::BySize;
use crate::front::Front;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static SOFTWARE_TLB: PageTableKind = PageTableKind {
    described: Described {
        name: "software-tlb",
        summary: "a cache of 4,096 mappings in memory, in front of hashed tables",
        explanation: "A bucket has four slots of sixteen bytes without pointers, and replaces them \
                      in turn. A walk reads the bucket first. If the mapping is not there, the \
                      walk goes on in the hashed tables and stores what it finds. A superpage has \
                      a slot for each base page that missed. The number of slots is chosen.",
        source: "Talluri 1995, section 7.3 (software TLB variant)",
    },
    build: |base| Box::new(Cached::new(base)),
    spans: no_spans,
    cost_by_size: false,
};

const BUCKETS: usize = 1024;
const WAYS: usize = 4;
/// A tag and a mapping.
const SLOT_BYTES: u32 = 16;

/// The cache and the tables of all address spaces.
#[derive(Clone, Debug)]
struct Cached {
    /// The pages of 4 KiB of a base page, as a power of two.
    base_shift: u32,
    front: Front<Leaf>,
    behind: BySize,
}

impl Cached {
    fn new(base: PageSize) -> Self {
        Self {
            base_shift: u32::from(base.shift() - PageSize::SIZE_4K.shift()),
            front: Front::new(BUCKETS, WAYS, SLOT_BYTES, 0),
            behind: BySize::default(),
        }
    }
}

impl PageTable for Cached {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.map(space, leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.behind.unmap(space, run);
        let (first, after) = run.bounds();
        for base in first >> self.base_shift..after >> self.base_shift {
            self.front.forget((space, base));
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.front.end(space);
        self.behind.end(space);
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let key = (space, page.0 >> self.base_shift);
        if let Some(leaf) = self.front.find(key, (0, 0), reads) {
            return Some(*leaf);
        }
        let leaf = self.behind.walk(space, page, reads)?;
        self.front.store(key, leaf);
        Some(leaf)
    }

    fn size(&self) -> TableSize {
        let mut size = self.behind.size();
        size.fixed += self.front.bytes();
        size
    }
}
