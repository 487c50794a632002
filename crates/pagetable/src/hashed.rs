//! Nodes with one mapping each, in chains: what the hashed tables share.

use crate::chains::{ChainHead, ChainNode, Chains, HEAD_BYTES, MAPPING_BYTES};
use crate::{TableRead, TableSize};
use broadleaf_units::{AlignedRun, Leaf, PageNumber, PageSize, SpaceId};

/// The bytes of a node: tag, pointer and mapping (Talluri 1995, section 7.3).
pub(crate) const NODE_BYTES: u64 = (HEAD_BYTES + MAPPING_BYTES) as u64;
/// Nodes lie this far apart, as a power of two.
const NODE_SHIFT: u32 = 8;

/// A node with one mapping.
#[derive(Clone, Copy, Debug)]
struct HashedNode {
    key: (SpaceId, u64),
    leaf: Leaf,
}

impl ChainNode for HashedNode {
    fn key(&self) -> (SpaceId, u64) {
        self.key
    }

    fn bytes(&self) -> u64 {
        NODE_BYTES
    }
}

/// A hashed table whose hash is of blocks of one size. Pages that are larger have a node for each
/// block that they cover.
#[derive(Clone, Debug)]
pub(crate) struct Hashed {
    /// The pages of 4 KiB of a block, as a power of two.
    block_shift: u32,
    chains: Chains<HashedNode>,
}

impl Hashed {
    /// An empty table that hashes blocks of that size. `region` tells tables apart.
    pub(crate) fn new(block: PageSize, heads: ChainHead, region: u64) -> Self {
        let block_shift = u32::from(block.shift() - PageSize::SIZE_4K.shift());
        Self {
            block_shift,
            chains: Chains::new(heads, region, NODE_SHIFT),
        }
    }

    /// The blocks that a run touches.
    fn blocks(&self, run: AlignedRun) -> std::ops::Range<u64> {
        let (first, after) = run.bounds();
        first >> self.block_shift..((after - 1) >> self.block_shift) + 1
    }

    pub(crate) fn map(&mut self, space: SpaceId, leaf: Leaf) {
        for block in self.blocks(leaf.run) {
            self.chains.add(HashedNode {
                key: (space, block),
                leaf,
            });
        }
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
