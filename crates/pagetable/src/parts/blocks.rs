//! Clustered nodes: the mappings of one block of base pages.

use crate::parts::aliases::{AliasRoom, buckets, subblock_shift};
use crate::parts::chains::{ChainHead, ChainNode, Chains, HEAD_BYTES, MAPPING_BYTES};
use crate::{PageTableChoice, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

/// Nodes lie at least this far apart, as a power of two: a node of sixteen mappings fits.
const NODE_SHIFT: u32 = 8;

/// When a node holds one mapping instead of one for each base page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compact {
    /// One superpage covers the block.
    Superpages,
    /// One superpage covers the block, or every mapped page of the block is properly placed: one
    /// partial-subblock mapping names them all.
    PartialSubblocks,
}

/// The mappings of a block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    key: (SpaceId, u64),
    /// One for each base page.
    leaves: Box<[Option<Leaf>]>,
    /// The pages of 4 KiB of a base page, as a power of two.
    base_shift: u32,
    compact: Compact,
    aliases: AliasRoom,
    /// True if one mapping describes all of the block.
    is_compact: bool,
}

impl Block {
    const fn subblocks(&self) -> u64 {
        self.leaves.len() as u64
    }

    fn is_empty(&self) -> bool {
        self.leaves.iter().all(Option::is_none)
    }

    /// Changes the mappings.
    fn change<R>(&mut self, change: impl FnOnce(&mut [Option<Leaf>]) -> R) -> R {
        let result = change(&mut self.leaves);
        self.is_compact = self.can_be_compact();
        result
    }

    /// Returns true if one mapping can describe all of the block.
    fn can_be_compact(&self) -> bool {
        let Some(first) = self.leaves.iter().flatten().next() else {
            return true;
        };
        let pages = self.subblocks() << self.base_shift;
        if first.run.pages() >= pages {
            return true;
        }
        self.compact == Compact::PartialSubblocks && self.is_placed()
    }

    /// Returns true if every mapped page is a base page, has the rights of the others, and lies at
    /// its place in one aligned block of frames.
    fn is_placed(&self) -> bool {
        let pages = 1_u64 << self.base_shift;
        let mut places = self.leaves.iter().enumerate().filter_map(|(at, leaf)| {
            let leaf = (*leaf)?;
            let begin = leaf.frame?.checked_sub(at as u64 * pages);
            let begin = begin.filter(|_| leaf.run.pages() == pages);
            Some(begin.map(|begin| (begin, leaf.rights)))
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
        let Some(Some(first)) = places.next() else {
            return mapped == 0;
        };
        let is_aligned = first.0.is_multiple_of(self.subblocks() * pages);
        is_aligned && places.all(|other| other == Some(first))
    }
}

impl ChainNode for Block {
    fn key(&self) -> (SpaceId, u64) {
        self.key
    }

    fn bytes(&self) -> u64 {
        let mappings = if self.is_compact { 1 } else { self.subblocks() };
        let aliases = self.aliases.bytes(mappings, self.subblocks());
        u64::from(HEAD_BYTES) + mappings * u64::from(MAPPING_BYTES) + aliases
    }
}

/// A clustered table.
#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    base_shift: u32,
    /// The base pages of a block, as a power of two.
    block_shift: u32,
    compact: Compact,
    aliases: AliasRoom,
    chains: Chains<Block>,
}

impl Clustered {
    /// An empty table for base pages of that size.
    pub(crate) fn new(
        base: PageSize,
        heads: ChainHead,
        compact: Compact,
        choice: &PageTableChoice,
    ) -> Self {
        let base_shift = u32::from(base.shift() - PageSize::SIZE_4K.shift());
        let block_shift = subblock_shift(choice);
        let aliases = AliasRoom::of(choice);
        let subblocks = 1 << block_shift;
        let most = u64::from(HEAD_BYTES) + subblocks * u64::from(MAPPING_BYTES);
        let most = most + aliases.bytes(subblocks, subblocks);
        let shift = most.next_power_of_two().ilog2().max(NODE_SHIFT);
        Self {
            base_shift,
            block_shift,
            compact,
            aliases,
            chains: Chains::new(heads, buckets(choice), 0, shift),
        }
    }

    /// The base pages of a block.
    pub(crate) const fn subblocks(&self) -> usize {
        1 << self.block_shift
    }

    pub(crate) fn has_aliases(&self) -> bool {
        self.aliases != AliasRoom::None
    }

    /// The block of a page, and the page's number in it.
    pub(crate) const fn place(&self, page: u64) -> (u64, usize) {
        let base = page >> self.base_shift;
        let place = base as usize % self.subblocks();
        (base >> self.block_shift, place)
    }

    /// The blocks that a run touches, with the base pages of each.
    fn parts(
        &self,
        run: AlignedRun,
    ) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> + use<> {
        let (first, after) = run.bounds();
        let (first, from) = self.place(first);
        let (last, to) = self.place(after - 1);
        let subblocks = self.subblocks();
        (first..=last).map(move |block| {
            let from = if block == first { from } else { 0 };
            let to = if block == last { to + 1 } else { subblocks };
            (block, from..to)
        })
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        for (block, places) in self.parts(leaf.run) {
            let key = (space, block);
            let found = self.chains.find(key, |_| true);
            let number = found.unwrap_or_else(|| {
                self.chains.add(Block {
                    key,
                    leaves: vec![None; self.subblocks()].into(),
                    base_shift: self.base_shift,
                    compact: self.compact,
                    aliases: self.aliases,
                    is_compact: true,
                })
            });
            self.chains.change(number, |node| {
                node.change(|leaves| leaves[places].fill(Some(leaf)));
            });
        }
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        for (block, places) in self.parts(run) {
            let Some(number) = self.chains.find((space, block), |_| true) else {
                continue;
            };
            let is_empty = self.chains.change(number, |node| {
                node.change(|leaves| {
                    for leaf in &mut leaves[places] {
                        leaf.take_if(|leaf| leaf.run == run);
                    }
                });
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
                let slot = if node.is_compact { 0 } else { place as u32 };
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
