//! Nodes with one mapping each, in chains: what the hashed tables share.

use crate::parts::aliases::{AliasRoom, buckets};
use crate::parts::chains::{ChainHead, ChainNode, Chains, HEAD_BYTES, MAPPING_BYTES};
use crate::{PageTableChoice, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

/// The bytes of a node: tag, pointer and mapping (Talluri 1995, section 7.3).
pub(crate) const NODE_BYTES: u64 = (HEAD_BYTES + MAPPING_BYTES) as u64;
/// Nodes lie at least this far apart, as a power of two.
const NODE_SHIFT: u32 = 8;

/// A node with one mapping.
#[derive(Clone, Copy, Debug)]
struct HashedNode {
    key: (SpaceId, u64),
    leaf: Leaf,
    /// The bytes of its pointers of a synonym table.
    alias_bytes: u64,
}

impl ChainNode for HashedNode {
    fn key(&self) -> (SpaceId, u64) {
        self.key
    }

    fn bytes(&self) -> u64 {
        NODE_BYTES + self.alias_bytes
    }
}

/// The shape of a hashed table.
pub(crate) struct HashedShape {
    /// The size of base pages.
    pub(crate) base: PageSize,
    /// The size of the blocks that are hashed.
    pub(crate) block: PageSize,
    /// The places of first nodes.
    pub(crate) heads: ChainHead,
    /// Gives each table addresses of its own.
    pub(crate) region: u64,
}

impl HashedShape {
    /// A table that hashes base pages and has its first nodes in the bucket array.
    pub(crate) const fn of_base_pages(base: PageSize) -> Self {
        Self {
            base,
            block: base,
            heads: ChainHead::Node,
            region: 0,
        }
    }
}

/// A hashed table whose hash is of blocks of one size. Pages that are larger have a node for each
/// block that they cover.
#[derive(Clone, Debug)]
pub(crate) struct Hashed {
    /// The pages of 4 KiB of a block, as a power of two.
    block_shift: u32,
    /// The pages of 4 KiB of a base page, as a power of two.
    base_shift: u32,
    aliases: AliasRoom,
    chains: Chains<HashedNode>,
}

impl Hashed {
    /// An empty table.
    pub(crate) fn new(shape: &HashedShape, choice: &PageTableChoice) -> Self {
        let [block_shift, base_shift] = [shape.block, shape.base]
            .map(|size| u32::from(size.shift() - PageSize::SIZE_4K.shift()));
        let aliases = AliasRoom::of(choice);
        let most = NODE_BYTES + aliases.bytes(1, 1 << (block_shift - base_shift));
        let shift = most.next_power_of_two().ilog2().max(NODE_SHIFT);
        Self {
            block_shift,
            base_shift,
            aliases,
            chains: Chains::new(shape.heads, buckets(choice), shape.region, shift),
        }
    }

    /// The blocks that a run touches.
    fn blocks(&self, run: AlignedRun) -> std::ops::Range<u64> {
        let (first, after) = run.bounds();
        first >> self.block_shift..((after - 1) >> self.block_shift) + 1
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        let pages = leaf.run.pages().min(1 << self.block_shift) >> self.base_shift;
        let alias_bytes = self.aliases.bytes(1, pages);
        for block in self.blocks(leaf.run) {
            self.chains.add(HashedNode {
                key: (space, block),
                leaf,
                alias_bytes,
            });
        }
    }

    pub(crate) fn protect(&mut self, space: SpaceId, leaf: Leaf) {
        for block in self.blocks(leaf.run) {
            let of_run = |node: &HashedNode| node.leaf.run == leaf.run;
            if let Some(number) = self.chains.find((space, block), of_run) {
                self.chains.change(number, |node| node.leaf = leaf);
            }
        }
    }

    pub(crate) fn has_aliases(&self) -> bool {
        self.aliases != AliasRoom::None
    }

    pub(crate) fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        for block in self.blocks(run) {
            let of_run = |node: &HashedNode| node.leaf.run == run;
            if let Some(number) = self.chains.find((space, block), of_run) {
                self.chains.remove(number);
            }
        }
    }

    pub(crate) fn end(&mut self, space: SpaceId) {
        self.chains.end(space);
    }

    pub(crate) fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let key = (space, page.0 >> self.block_shift);
        self.chains.walk(key, reads, |node, address, reads| {
            let found = Some(node.leaf).filter(|leaf| leaf.run.contains(page));
            if found.is_some() {
                reads(TableRead::further(
                    address + u64::from(HEAD_BYTES),
                    MAPPING_BYTES,
                ));
            }
            found
        })
    }

    pub(crate) fn size(&self) -> TableSize {
        self.chains.size()
    }
}
