//! Changes that an event makes to memory, and the shootdowns that follow.

use crate::{BlockId, MemoryId, Pages};
use broadleaf_units::{AlignedRun, SpaceId};

/// The part of one block that a range holds, as offsets of base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// The block.
    pub block: BlockId,
    /// The first offset.
    pub from: usize,
    /// The offset after the last.
    pub to: usize,
}

/// A range of one address space, and its known blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The space.
    pub space: SpaceId,
    /// The range.
    pub pages: Pages,
    /// Its blocks, in order.
    pub spans: Vec<BlockSpan>,
}

/// Pages of one block that move to another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pages that move.
    pub source: BlockSpan,
    /// The target block.
    pub target: BlockId,
    /// The offset of the first page in the target block.
    pub at: usize,
}

impl Move {
    /// Returns true if a whole block moves to a whole block. Then its superpage and its reservation
    /// move too.
    pub const fn is_whole_block(&self) -> bool {
        self.at == 0 && self.source.to - self.source.from == crate::PAGES_PER_BLOCK
    }
}

/// A change that an event makes to the pages of every memory. Changes do not depend on the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The pages of the extent are removed.
    Release(Extent),
    /// The rights of the extent changed.
    Protect(Extent),
    /// Pages move to a range in which no page is resident.
    Relocate {
        /// The source range.
        from: Extent,
        /// The page at which the range begins after the move.
        to: u64,
        /// The moves of parts of known blocks.
        moves: Vec<Move>,
    },
    /// An address space ends. The extent holds all of the space.
    End(Extent),
    /// Pages of shared memory are removed for all processes. The pages are numbered from the start
    /// of the memory.
    Emptied(MemoryId, Pages),
}

impl Change {
    /// The blocks that the change concerns. A block may occur more than once.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let (spans, moves) = match self {
            Self::Release(extent) | Self::Protect(extent) | Self::End(extent) => {
                (&extent.spans[..], &[][..])
            }
            Self::Relocate { from, moves, .. } => (&from.spans[..], &moves[..]),
            Self::Emptied(..) => (&[][..], &[][..]),
        };
        let left = spans.iter().map(|span| span.block);
        left.chain(moves.iter().map(|moved| moved.target))
    }
}

/// A shootdown: TLB entries that are stale and must be removed before the next lookup.
#[must_use = "a TLB that keeps these entries translates wrongly"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shootdown {
    /// No entry is stale.
    Nothing,
    /// The superpage of these pages. Entries of its base pages stay valid.
    Superpage {
        /// The address space.
        space: SpaceId,
        /// Its pages.
        run: AlignedRun,
    },
    /// All entries that overlap the range, of any size.
    Range {
        /// The address space.
        space: SpaceId,
        /// The range.
        pages: Pages,
    },
    /// All entries of a space, which has ended.
    Space(SpaceId),
}
