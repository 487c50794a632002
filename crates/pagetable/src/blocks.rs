//! Clustered nodes: the mappings of one block of sixteen base pages.

use crate::chains::{ChainHead, ChainNode, Chains, HEAD_BYTES, MAPPING_BYTES};
use crate::{TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

/// The base pages of a block (Talluri 1995, section 7.4).
pub(crate) const SUBBLOCKS: usize = 16;
/// The base pages of a block, as a power of two.
const SUBBLOCK_SHIFT: u32 = SUBBLOCKS.ilog2();
/// Nodes lie this far apart, as a power of two: 144 bytes fit.
const NODE_SHIFT: u32 = 8;

/// When a node holds one mapping instead of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compact {
    /// One superpage covers the block.
    Superpages,
    /// One superpage covers the block, or every mapped page of the block is properly placed: one
    /// partial-subblock mapping names them all.
    PartialSubblocks,
}

/// The mappings of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    key: (SpaceId, u64),
    leaves: [Option<Leaf>; SUBBLOCKS],
    /// The pages of 4 KiB of a base page, as a power of two.
    base_shift: u32,
    compact: Compact,
}

impl Block {
    fn is_empty(&self) -> bool {
        self.leaves.iter().all(Option::is_none)
    }

    /// Returns true if one mapping describes all of the block.
    fn is_compact(&self) -> bool {
        let Some(first) = self.leaves.iter().flatten().next() else {
            return true;
        };
        let pages = (SUBBLOCKS as u64) << self.base_shift;
        if first.run.pages() >= pages {
            return true;
        }
        self.compact == Compact::PartialSubblocks && self.is_placed()
    }

    /// Returns true if every mapped page is a base page, and lies at its place in one aligned block
    /// of frames.
    fn is_placed(&self) -> bool {
        let pages = 1_u64 << self.base_shift;
        let mut places = self.leaves.iter().enumerate().filter_map(|(at, leaf)| {
            let leaf = (*leaf)?;
            let begin = leaf.frame?.checked_sub(at as u64 * pages);
            Some(begin.filter(|_| leaf.run.pages() == pages))
        });
        let mapped = self.leaves.iter().flatten().count();
        if self
            .leaves
            .iter()
            .flatten()
            .any(|leaf| leaf.frame.is_none())
        {
            return false;
        }
        let Some(Some(begin)) = places.next() else {
            return mapped == 0;
        };
        begin.is_multiple_of(SUBBLOCKS as u64 * pages) && places.all(|other| other == Some(begin))
    }
}

impl ChainNode for Block {
    fn key(&self) -> (SpaceId, u64) {
        self.key
    }

    fn bytes(&self) -> u64 {
        let mappings = if self.is_compact() {
            1
        } else {
            SUBBLOCKS as u64
        };
        u64::from(HEAD_BYTES) + mappings * u64::from(MAPPING_BYTES)
    }
}

/// A clustered table.
#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    base_shift: u32,
    compact: Compact,
    chains: Chains<Block>,
}

impl Clustered {
    /// An empty table for base pages of that size.
    pub(crate) fn new(base: PageSize, heads: ChainHead, compact: Compact) -> Self {
        let base_shift = u32::from(base.shift() - PageSize::SIZE_4K.shift());
        Self {
            base_shift,
            compact,
            chains: Chains::new(heads, 0, NODE_SHIFT),
        }
    }

    /// The block of a page, and the page's number in it.
    pub(crate) const fn place(&self, page: u64) -> (u64, usize) {
        place(page, self.base_shift)
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        for (block, places) in parts(leaf.run, self.base_shift) {
            let key = (space, block);
            let found = self.chains.find(key, |_| true);
            let number = found.unwrap_or_else(|| {
                self.chains.add(Block {
                    key,
                    leaves: [None; SUBBLOCKS],
                    base_shift: self.base_shift,
                    compact: self.compact,
                })
            });
            self.chains
                .change(number, |node| node.leaves[places].fill(Some(leaf)));
        }
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        for (block, places) in parts(run, self.base_shift) {
            let Some(number) = self.chains.find((space, block), |_| true) else {
                continue;
            };
            let is_empty = self.chains.change(number, |node| {
                for leaf in &mut node.leaves[places] {
                    leaf.take_if(|leaf| leaf.run == run);
                }
                node.is_empty()
            });
            if is_empty == Some(true) {
                self.chains.remove(number);
            }
        }
    }

    pub(crate) fn end(&mut self, space: SpaceId) {
        self.chains.end(space);
    }

    /// Finds the block's node, and reads the page's mapping in it.
    pub(crate) fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let (block, place) = self.place(page.0);
        self.chains
            .walk((space, block), reads, |node, address, reads| {
                let slot = if node.is_compact() { 0 } else { place as u32 };
                let offset = HEAD_BYTES + slot * MAPPING_BYTES;
                reads(TableRead::further(
                    address + u64::from(offset),
                    MAPPING_BYTES,
                ));
                Some(node.leaves[place])
            })?
    }

    pub(crate) fn size(&self) -> TableSize {
        self.chains.size()
    }
}

/// The block of a page, and the page's number in it.
const fn place(page: u64, base_shift: u32) -> (u64, usize) {
    let base = page >> base_shift;
    (base >> SUBBLOCK_SHIFT, base as usize % SUBBLOCKS)
}

/// The blocks that a run touches, with the base pages of each.
fn parts(
    run: AlignedRun,
    base_shift: u32,
) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> + use<> {
    let (first, after) = run.bounds();
    let (first, from) = place(first, base_shift);
    let (last, to) = place(after - 1, base_shift);
    (first..=last).map(move |block| {
        let from = if block == first { from } else { 0 };
        let to = if block == last { to + 1 } else { SUBBLOCKS };
        (block, from..to)
    })
}
