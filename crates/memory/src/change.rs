//! What an event does to memory, and what a memory then asks of the TLBs.

use crate::{BlockId, MemoryId, Pages};
use broadleaf_units::{PageNumber, PageSize, SpaceId};

/// The part of one block that a range holds: offsets of base pages, `from` in it, `to` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The block.
    pub block: BlockId,
    /// The first offset.
    pub from: usize,
    /// The offset after the last.
    pub to: usize,
}

/// A range of one address space, and the blocks of it that anything was ever known of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The space.
    pub space: SpaceId,
    /// The range.
    pub pages: Pages,
    /// Its blocks, in order.
    pub spans: Vec<Span>,
}

/// Pages of one block that go to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What moves.
    pub source: Span,
    /// The block that it goes to.
    pub target: BlockId,
    /// The offset there of the first page.
    pub at: usize,
}

impl Move {
    /// Whether a whole block goes to a whole block, so that a superpage and a reservation go with
    /// it.
    pub const fn is_whole_block(&self) -> bool {
        self.at == 0 && self.source.to - self.source.from == crate::PAGES_PER_BLOCK
    }
}

/// What an event does to the pages of a memory. The same for every policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The pages of the extent go.
    Release(Extent),
    /// The rights of the extent changed.
    Protect(Extent),
    /// Pages go elsewhere, where nothing is resident.
    Relocate {
        /// Where they are.
        from: Extent,
        /// The page at which the first of them will be.
        to: u64,
        /// What of which known block goes where.
        moves: Vec<Move>,
    },
    /// An address space ends; the extent holds all of it.
    End(Extent),
    /// Pages of shared memory hold nothing any more, whoever maps them. They are numbered from its
    /// beginning.
    Emptied(MemoryId, Pages),
}

impl Change {
    /// The blocks whose pages it concerns; some may come more than once.
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

/// TLB entries that are wrong from now on and have to be removed before the next lookup.
#[must_use = "a TLB that keeps these entries translates wrongly"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shootdown {
    /// None.
    Nothing,
    /// The superpage that begins at this base page; entries of its base pages stay right.
    Superpage {
        /// In which space.
        space: SpaceId,
        /// Its first base page.
        first: PageNumber,
        /// Its size.
        size: PageSize,
    },
    /// Whatever overlaps the range, of any size.
    Range {
        /// In which space.
        space: SpaceId,
        /// The range.
        pages: Pages,
    },
    /// Everything of a space, which has ended.
    Space(SpaceId),
}
