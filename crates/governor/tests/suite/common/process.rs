//! A process of the fake kernel: its memory, and the actions of programs.

use super::frames::{FakeFrames, FakePage};
use broadleaf_governor::{BLOCK_BYTES, BlockHeat, BlockSeen, LiveMapping, PAGES};
use std::collections::BTreeMap;
use std::ops::Range;

/// A map from block numbers to blocks.
pub(crate) const P: u64 = PAGES as u64;

/// A block with a page table, however empty.
#[derive(Clone, Debug)]
pub(crate) struct FakeBlock {
    pub(crate) pages: Vec<FakePage>,
    /// True if one translation maps the whole block.
    pub(crate) huge: bool,
    /// True while the frames of a promotion form one folio.
    pub(crate) folio: bool,
}

impl FakeBlock {
    fn empty() -> Self {
        Self {
            pages: vec![FakePage::Absent; PAGES as usize],
            huge: false,
            folio: false,
        }
    }

    pub(crate) fn frames(&self) -> u64 {
        let frames = self.pages.iter();
        frames
            .filter(|page| matches!(page, FakePage::Frame(_)))
            .count() as u64
    }

    pub(crate) fn seen(&self, block: u64) -> BlockSeen {
        if self.huge {
            return BlockSeen::superpage(block);
        }
        let count = |what: fn(&FakePage) -> bool| {
            self.pages.iter().filter(|page| what(page)).count() as u16
        };
        BlockSeen {
            block,
            present: count(|page| matches!(page, FakePage::Frame(_))),
            zero: count(|page| *page == FakePage::Zero),
            swapped: count(|page| *page == FakePage::Swapped),
            huge: false,
        }
    }
}

/// A process.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeProcess {
    pub(crate) parent: u32,
    pub(crate) image: u64,
    pub(crate) faults: u64,
    pub(crate) mappings: Vec<LiveMapping>,
    pub(crate) blocks: BTreeMap<u64, FakeBlock>,
    /// True if the process may not be changed.
    pub(crate) out_of_reach: bool,
    /// A measurement of use that the governor has not taken yet.
    pub(crate) used: Option<Vec<BlockHeat>>,
    /// True if the memory of the process may not be read.
    pub(crate) hidden: bool,
}

impl FakeProcess {
    pub(crate) fn rss_pages(&self) -> u64 {
        self.blocks.values().map(FakeBlock::frames).sum()
    }

    fn is_mapped(&self, page: u64) -> bool {
        let address = page * 4096;
        let mut all = self.mappings.iter();
        all.any(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// Stores to pages. Pages outside all mappings are skipped.
    pub(crate) fn touch(&mut self, pages: Range<u64>, frames: &mut FakeFrames) {
        for page in pages
            .filter(|page| self.is_mapped(*page))
            .collect::<Vec<_>>()
        {
            let block = self.blocks.entry(page / P).or_insert_with(FakeBlock::empty);
            let at = (page % P) as usize;
            let before = block.pages[at];
            if matches!(before, FakePage::Frame(_)) && !frames.is_shared(before) {
                frames.store(before);
                continue;
            }
            self.faults += 1;
            // A store to a shared superpage copies page by page.
            block.huge = false;
            frames.drop(before);
            block.pages[at] = frames.take(true);
        }
    }

    /// Reads pages. A read of an empty page maps the kernel's page of zeroes.
    pub(crate) fn read(&mut self, pages: Range<u64>) {
        for page in pages
            .filter(|page| self.is_mapped(*page))
            .collect::<Vec<_>>()
        {
            let block = self.blocks.entry(page / P).or_insert_with(FakeBlock::empty);
            let at = (page % P) as usize;
            if block.pages[at] == FakePage::Absent {
                self.faults += 1;
                block.pages[at] = FakePage::Zero;
            }
        }
    }

    /// Returns pages to the kernel. The page table stays, and the rest of a superpage stays as base
    /// pages.
    pub(crate) fn purge(&mut self, pages: Range<u64>, frames: &mut FakeFrames) {
        for page in pages {
            let Some(block) = self.blocks.get_mut(&(page / P)) else {
                continue;
            };
            let before = std::mem::replace(&mut block.pages[(page % P) as usize], FakePage::Absent);
            frames.drop(before);
            block.huge = false;
            block.folio &= block.frames() > 0;
        }
    }

    /// Swaps pages out.
    pub(crate) fn swap_out(&mut self, pages: Range<u64>, frames: &mut FakeFrames) {
        for page in pages {
            let Some(block) = self.blocks.get_mut(&(page / P)) else {
                continue;
            };
            let at = (page % P) as usize;
            if matches!(block.pages[at], FakePage::Frame(_)) && !block.huge {
                frames.drop(block.pages[at]);
                block.pages[at] = FakePage::Swapped;
            }
        }
    }

    /// Unmaps whole blocks and their page tables. A mapping around them is cut in two.
    pub(crate) fn unmap(&mut self, blocks: Range<u64>, frames: &mut FakeFrames) {
        self.purge(blocks.start * P..blocks.end * P, frames);
        self.blocks.retain(|block, _| !blocks.contains(block));
        let (start, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        let cut = self.mappings.drain(..).flat_map(|mapping| {
            let below = LiveMapping {
                end: mapping.end.min(start),
                ..mapping.clone()
            };
            let above = LiveMapping {
                start: mapping.start.max(end),
                ..mapping
            };
            [below, above]
        });
        self.mappings = cut.filter(|mapping| mapping.start < mapping.end).collect();
    }

    /// Maps memory at free addresses.
    pub(crate) fn map(&mut self, mapping: LiveMapping) {
        let overlaps = |other: &LiveMapping| other.start < mapping.end && mapping.start < other.end;
        assert!(!self.mappings.iter().any(overlaps), "{mapping:x?}");
        self.mappings.push(mapping);
        self.mappings.sort_by_key(|mapping| mapping.start);
    }

    /// Returns all memory to the kernel.
    pub(crate) fn clear(&mut self, frames: &mut FakeFrames) {
        for page in self.blocks.values().flat_map(|block| &block.pages) {
            frames.drop(*page);
        }
        self.blocks.clear();
        self.mappings.clear();
    }
}
