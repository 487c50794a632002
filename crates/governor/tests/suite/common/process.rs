//! A process of the fake kernel: its memory, and what programs do to it.

use super::frames::{Frames, Page};
use broadleaf_governor::{BLOCK_BYTES, BlockSeen, Mapping, PAGES};
use std::collections::BTreeMap;
use std::ops::Range;

/// Blocks to pages.
pub(crate) const P: u64 = PAGES as u64;

/// A block with a page table, however empty.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) pages: Vec<Page>,
    /// Whether one translation maps it all.
    pub(crate) huge: bool,
    /// Whether the frames that a promotion made one folio still are one.
    pub(crate) folio: bool,
}

impl Block {
    fn empty() -> Self {
        Self {
            pages: vec![Page::Absent; PAGES as usize],
            huge: false,
            folio: false,
        }
    }

    pub(crate) fn frames(&self) -> u64 {
        let frames = self.pages.iter();
        frames.filter(|page| matches!(page, Page::Frame(_))).count() as u64
    }

    pub(crate) fn seen(&self, block: u64) -> BlockSeen {
        if self.huge {
            return BlockSeen::superpage(block);
        }
        let count =
            |what: fn(&Page) -> bool| self.pages.iter().filter(|page| what(page)).count() as u16;
        BlockSeen {
            block,
            present: count(|page| matches!(page, Page::Frame(_))),
            zero: count(|page| *page == Page::Zero),
            swapped: count(|page| *page == Page::Swapped),
            huge: false,
        }
    }
}

/// A process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) parent: u32,
    pub(crate) image: u64,
    pub(crate) faults: u64,
    pub(crate) mappings: Vec<Mapping>,
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// Nobody may change it.
    pub(crate) out_of_reach: bool,
    /// Nobody may look at its memory.
    pub(crate) hidden: bool,
}

impl Process {
    pub(crate) fn rss_pages(&self) -> u64 {
        self.blocks.values().map(Block::frames).sum()
    }

    fn is_mapped(&self, page: u64) -> bool {
        let address = page * 4096;
        let mut all = self.mappings.iter();
        all.any(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// The program stores to pages. Those that lie in no mapping are left out.
    pub(crate) fn touch(&mut self, pages: Range<u64>, frames: &mut Frames) {
        for page in pages
            .filter(|page| self.is_mapped(*page))
            .collect::<Vec<_>>()
        {
            let block = self.blocks.entry(page / P).or_insert_with(Block::empty);
            let at = (page % P) as usize;
            let before = block.pages[at];
            if matches!(before, Page::Frame(_)) && !frames.is_shared(before) {
                frames.store(before);
                continue;
            }
            self.faults += 1;
            // What a fork shares is copied page by page, even where it is a superpage.
            block.huge = false;
            frames.drop(before);
            block.pages[at] = frames.take(true);
        }
    }

    /// The program reads pages, which brings the kernel's page of zeroes where nothing is.
    pub(crate) fn read(&mut self, pages: Range<u64>) {
        for page in pages
            .filter(|page| self.is_mapped(*page))
            .collect::<Vec<_>>()
        {
            let block = self.blocks.entry(page / P).or_insert_with(Block::empty);
            let at = (page % P) as usize;
            if block.pages[at] == Page::Absent {
                self.faults += 1;
                block.pages[at] = Page::Zero;
            }
        }
    }

    /// The program gives pages back. The page table stays, and so does the rest of a superpage, in base pages.
    pub(crate) fn purge(&mut self, pages: Range<u64>, frames: &mut Frames) {
        for page in pages {
            let Some(block) = self.blocks.get_mut(&(page / P)) else {
                continue;
            };
            let before = std::mem::replace(&mut block.pages[(page % P) as usize], Page::Absent);
            frames.drop(before);
            block.huge = false;
            block.folio &= block.frames() > 0;
        }
    }

    /// The kernel swaps pages out.
    pub(crate) fn swap_out(&mut self, pages: Range<u64>, frames: &mut Frames) {
        for page in pages {
            let Some(block) = self.blocks.get_mut(&(page / P)) else {
                continue;
            };
            let at = (page % P) as usize;
            if matches!(block.pages[at], Page::Frame(_)) && !block.huge {
                frames.drop(block.pages[at]);
                block.pages[at] = Page::Swapped;
            }
        }
    }

    /// The program unmaps whole blocks, page tables and all. Mappings lose them, and fall into two.
    pub(crate) fn unmap(&mut self, blocks: Range<u64>, frames: &mut Frames) {
        self.purge(blocks.start * P..blocks.end * P, frames);
        self.blocks.retain(|block, _| !blocks.contains(block));
        let (start, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        let cut = self.mappings.drain(..).flat_map(|mapping| {
            let below = Mapping {
                end: mapping.end.min(start),
                ..mapping.clone()
            };
            let above = Mapping {
                start: mapping.start.max(end),
                ..mapping
            };
            [below, above]
        });
        self.mappings = cut.filter(|mapping| mapping.start < mapping.end).collect();
    }

    /// Maps memory where nothing is mapped.
    pub(crate) fn map(&mut self, mapping: Mapping) {
        let overlaps = |other: &Mapping| other.start < mapping.end && mapping.start < other.end;
        assert!(!self.mappings.iter().any(overlaps), "{mapping:x?}");
        self.mappings.push(mapping);
        self.mappings.sort_by_key(|mapping| mapping.start);
    }

    /// Gives all of its memory back.
    pub(crate) fn clear(&mut self, frames: &mut Frames) {
        for page in self.blocks.values().flat_map(|block| &block.pages) {
            frames.drop(*page);
        }
        self.blocks.clear();
        self.mappings.clear();
    }
}
