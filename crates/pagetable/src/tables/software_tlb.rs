//! A software TLB in front of hashed tables.

use super::no_spans;
use crate::parts::aliases::{ALIASES, BUCKETS};
use crate::parts::by_size::{BySize, ORDER};
use crate::parts::front::{Front, SETS, WAYS};
use crate::{PageTable, PageTableChoice, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, PageSize, SpaceId};

pub(crate) static SOFTWARE_TLB: PageTableKind = PageTableKind {
    described: Described {
        name: "software-tlb",
        summary: "a cache of mappings in memory, in front of hashed tables",
        explanation: "There are 1,024 buckets of four slots. A slot has sixteen bytes without a \
                      pointer, and a bucket replaces its slots in turn. A walk reads the bucket first. If the mapping is not there, the \
                      walk goes on in the hashed tables and stores what it finds. A superpage has \
                      a slot for each base page that missed. The number of slots is chosen.",
        source: "Talluri 1995, section 7.3 (software TLB variant)",
    },
    parameters: &[SETS, WAYS, BUCKETS, ORDER, ALIASES],
    build: |base, choice| Box::new(Cached::new(base, choice)),
    spans: no_spans,
    cost_by_size: false,
};

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
    fn new(base: PageSize, choice: &PageTableChoice) -> Self {
        let number = |name| choice.number(name).unwrap_or(1) as usize;
        let (sets, ways) = (number(SETS.name), number(WAYS.name));
        Self {
            base_shift: u32::from(base.shift() - PageSize::SIZE_4K.shift()),
            front: Front::new(sets, ways, SLOT_BYTES, 0),
            behind: BySize::new(base, choice),
        }
    }
}

impl Cached {
    /// Drops the cached mappings of a page.
    fn forget(&mut self, space: SpaceId, run: AlignedRun) {
        let (first, after) = run.bounds();
        for base in first >> self.base_shift..after >> self.base_shift {
            self.front.forget((space, base));
        }
    }
}

impl PageTable for Cached {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.map(space, leaf);
    }

    fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        self.behind.protect(space, leaf);
        self.forget(space, leaf.run);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        self.behind.unmap(space, run);
        self.forget(space, run);
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

    fn has_aliases(&self) -> bool {
        self.behind.has_aliases()
    }
}
