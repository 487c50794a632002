//! The state of memory before a run.

use super::grouped::Grouping;
use super::mobility::Mobility;
use super::recorded::{MobilityRegions, refuse_beyond, scatter};
use super::runs::Runs;
use super::{Buddy, Frame, MOST_FRAMES, MOST_ORDER, Pagetypeinfo, extents_of};
use broadleaf_units::SplitMix64;

/// The state of memory before a run. Equal starts give equal layouts, on every machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// All memory is free.
    Empty,
    /// Memory is partly occupied. Occupied memory is grouped by mobility, in blocks at places drawn
    /// from a seed, as Linux groups it in pageblocks.
    Grouped {
        /// The occupied share of the pool, from 0 to 1, exact to the frame. With `fragmentation`, 0
        /// means the least possible share.
        occupied: f64,
        /// The share of free memory in wholly free blocks, from 0 to 1 (Virtuoso's fragmentation),
        /// exact to the block. If `None`, partly occupied blocks are half full, or fuller if all
        /// blocks are in use.
        fragmentation: Option<f64>,
        /// The share of occupied blocks that are movable, from 0 to 1. All occupied memory in a
        /// movable block can be moved, and none in other blocks.
        movable: f64,
        /// The seed of the random places.
        seed: u64,
    },
    /// As many free extents of each order as were counted on a real machine
    /// ([`Buddyinfo::free`](super::Buddyinfo::free)), at places drawn from a seed. All else is
    /// occupied.
    Recorded {
        /// The number of free extents of each order, from order 0 on.
        free: Vec<u64>,
        /// The share of occupied memory that can be moved, from 0 to 1, exact to one piece. A piece
        /// is the largest aligned extent that is occupied throughout.
        movable: f64,
        /// The seed of the random places.
        seed: u64,
    },
    /// As many free extents of each order and mobility as `/proc/pagetypeinfo` counts. Occupied
    /// memory can be moved in movable blocks, and in no others.
    RecordedByType {
        /// The counts.
        types: Pagetypeinfo,
        /// The seed of the random places.
        seed: u64,
    },
}

/// A pool before a run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The free extents.
    pub buddy: Buddy,
    /// The occupied extents, by address.
    pub occupied: Vec<Occupied>,
}

/// An extent that is occupied before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupied {
    /// Its first frame.
    pub first: Frame,
    /// Its order.
    pub order: u8,
    /// True if the extent can be moved.
    pub movable: bool,
}

/// The reason why a start gives no layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// A share is not between 0 and 1.
    #[error("the share of {what} memory is {value}, and must be from 0 to 1")]
    Share {
        /// The kind of memory: occupied or movable.
        what: &'static str,
        /// The requested share.
        value: f64,
    },
    /// Fewer frames are occupied than there are blocks to be broken.
    #[error(
        "{frames} occupied frames cannot keep {blocks} blocks from being free: \
         occupy at least {:.2}% of memory",
        100.0 * *blocks as f64 / *pool as f64
    )]
    TooLittle {
        /// The number of occupied frames.
        frames: u64,
        /// The number of blocks that should hold some of them.
        blocks: u64,
        /// The size of the pool.
        pool: u64,
    },
    /// The pool is too small for regions of each mobility's free extents.
    #[error(
        "a pool of {frames} frames is too small for what is free of each type: \
         that takes {needed} frames"
    )]
    Regions {
        /// The number of frames that the regions take.
        needed: u64,
        /// The size of the pool.
        frames: u64,
    },
    /// There are free extents of an order that the pool does not have.
    #[error("{free} free extents of order {order} in a pool whose greatest is {greatest}")]
    Order {
        /// The order.
        order: usize,
        /// The requested number of free extents.
        free: u64,
        /// The greatest order of the pool.
        greatest: u8,
    },
    /// The pool cannot hold the free extents of an order without merging, next to those of larger
    /// orders.
    #[error(
        "{free} free extents of order {order} in a pool of {frames} frames: \
         beside the larger ones, no more than {room} of them stay apart"
    )]
    Room {
        /// The order.
        order: u8,
        /// The requested number of free extents.
        free: u64,
        /// The possible number of free extents.
        room: u64,
        /// The size of the pool.
        frames: u64,
    },
}

impl Start {
    /// The layout of a pool of `frames` frames, with extents up to `most_order` and blocks of order
    /// 9: 2 MiB with frames of 4 KiB.
    ///
    /// # Errors
    /// As [`Start::lay_out_in`].
    pub fn lay_out(&self, frames: u64, most_order: u8) -> Result<Layout, StartError> {
        self.lay_out_in(frames, most_order, 9)
    }

    /// The layout of a pool of `frames` frames, with extents up to `most_order`. Memory is grouped
    /// in blocks of the order `block`.
    ///
    /// # Errors
    /// If a share is not between 0 and 1, or the start does not fit into the pool.
    pub fn lay_out_in(&self, frames: u64, most_order: u8, block: u8) -> Result<Layout, StartError> {
        let frames = frames.min(MOST_FRAMES);
        let most_order = most_order.min(MOST_ORDER);
        match self {
            Self::Empty => Ok(Layout {
                buddy: Buddy::new(frames, most_order),
                occupied: Vec::new(),
            }),
            Self::Grouped {
                occupied,
                fragmentation,
                movable,
                seed,
            } => {
                let share = |share| Share::of("free memory in free blocks, of all free", share);
                let grouping = Grouping {
                    block: block.min(most_order),
                    occupied: Share::of("occupied", *occupied)?,
                    fragmentation: fragmentation.map(share).transpose()?,
                    movable: Share::of("movable", *movable)?,
                };
                let mut random = SplitMix64::new(*seed);
                let (buddy, occupied) = grouping.lay_out(frames, most_order, &mut random)?;
                Ok(Layout { buddy, occupied })
            }
            Self::Recorded {
                free,
                movable,
                seed,
            } => {
                let movable = Share::of("movable", *movable)?;
                refuse_beyond(free, most_order)?;
                let mut random = SplitMix64::new(*seed);
                let mut all = Runs::new();
                all.add(0..frames);
                let scattered = scatter(all, most_order, free, &mut random)?;
                let mut buddy = Buddy::occupied(frames, most_order);
                for (first, order) in scattered.free {
                    buddy.begin_free(first..first + (1 << order));
                }
                let rest = scattered.rest.iter();
                let pieces: Vec<_> = rest.flat_map(|run| extents_of(run, most_order)).collect();
                let occupied = draw_movable(&pieces, movable, &mut random);
                Ok(Layout { buddy, occupied })
            }
            Self::RecordedByType { types, seed } => {
                refuse_beyond(&types.free(), most_order)?;
                let mut random = SplitMix64::new(*seed);
                let types = &types.of;
                let regions = MobilityRegions::draw(frames, most_order, block, types, &mut random)?;
                let mut buddy = Buddy::grouped(frames, most_order, regions.blocks);
                let mut occupied = Vec::new();
                for ((within, of), mobility) in
                    regions.of.into_iter().zip(types).zip(Mobility::EACH)
                {
                    let scattered = scatter(within, most_order, &of.free, &mut random)?;
                    for (first, order) in scattered.free {
                        buddy.begin_free(first..first + (1 << order));
                    }
                    let rest = scattered.rest.iter();
                    let pieces = rest.flat_map(|run| extents_of(run, most_order));
                    occupied.extend(pieces.map(|(first, order)| Occupied {
                        first: Frame(first),
                        order,
                        movable: mobility == Mobility::Movable,
                    }));
                }
                occupied.sort_unstable_by_key(|piece| piece.first);
                Ok(Layout { buddy, occupied })
            }
        }
    }

    /// The share of memory that is free at first, if it is known without a layout.
    pub fn free_share(&self) -> Option<f64> {
        match self {
            Self::Empty => Some(1.0),
            Self::Grouped { occupied, .. } => Some(1.0 - occupied),
            Self::Recorded { .. } | Self::RecordedByType { .. } => None,
        }
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy)]
pub(super) struct Share(pub(super) f64);

impl Share {
    fn of(what: &'static str, value: f64) -> Result<Self, StartError> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(StartError::Share { what, value })
        }
    }

    /// This share of `frames` frames, rounded to the nearest frame.
    pub(super) fn of_frames(self, frames: u64) -> u64 {
        ((frames as f64 * self.0).round() as u64).min(frames)
    }
}

/// Draws the movable pieces, each with the probability that yields the wanted share (Knuth, The Art
/// of Computer Programming, volume 2, section 3.4.2, algorithm S).
fn draw_movable(pieces: &[(u64, u8)], share: Share, random: &mut SplitMix64) -> Vec<Occupied> {
    let mut left: u64 = pieces.iter().map(|(_, order)| 1 << order).sum();
    let mut wanted = share.of_frames(left);
    let drawn = pieces.iter().map(|&(first, order)| {
        let movable = random.below(left) < wanted;
        left -= 1 << order;
        if movable {
            wanted = wanted.saturating_sub(1 << order);
        }
        Occupied {
            first: Frame(first),
            order,
            movable,
        }
    });
    drawn.collect()
}
