//! How memory looks before a run.

use super::lists::{Free, Zeroed};
use super::random::SplitMix64;
use super::recorded::scatter;
use super::seeded::{Run, fill};
use super::{Buddy, Frame, extents_of};

/// How memory looks before a run. The same start gives the same layout, on every machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// All of it is free.
    Empty,
    /// Pieces of it are occupied, at places drawn from a seed.
    Seeded {
        /// How much of the pool is occupied, from 0 to 1. Met to the frame.
        occupied: f64,
        /// How much of what is occupied can be moved, from 0 to 1. Met to within one piece.
        movable: f64,
        /// What the places are drawn from.
        seed: u64,
        /// The smallest and the largest order of a piece. Each order between them is drawn as often as any other, so most *frames* are in the large
        /// pieces. The last is cut off where it would be too much, and where no room for such pieces is left they are smaller.
        run: (u8, u8),
    },
    /// As many free extents of each order as were counted on a real machine ([`Buddyinfo::free`](super::Buddyinfo::free)), at places
    /// drawn from a seed. All else is occupied.
    Recorded {
        /// How many extents of each order are free, from order 0 on.
        free: Vec<u64>,
        /// How much of what is occupied can be moved, from 0 to 1. Met to within one piece; a piece is the largest aligned extent that is
        /// occupied throughout.
        movable: f64,
        /// What the places are drawn from.
        seed: u64,
    },
}

/// A pool before a run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What is free.
    pub buddy: Buddy,
    /// What is not, by address.
    pub occupied: Vec<Occupied>,
}

/// An extent that is occupied before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupied {
    /// Its first frame.
    pub first: Frame,
    /// Its order.
    pub order: u8,
    /// Whether it can be moved.
    pub movable: bool,
}

/// Why a start makes no layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// A share is not between 0 and 1.
    #[error("the share of {what} memory is {value}, and must be from 0 to 1")]
    Share {
        /// Of what: occupied, or movable.
        what: &'static str,
        /// What was said.
        value: f64,
    },
    /// The orders of occupied pieces are not a range, or reach beyond the pool's greatest.
    #[error("occupied pieces of order {least} to {most}: orders go from 0 to {greatest}")]
    Run {
        /// The smallest order that was said.
        least: u8,
        /// The largest.
        most: u8,
        /// The greatest of the pool.
        greatest: u8,
    },
    /// There are free extents of an order that the pool does not have.
    #[error("{free} free extents of order {order} in a pool whose greatest is {greatest}")]
    Order {
        /// The order.
        order: usize,
        /// How many there should be.
        free: u64,
        /// The greatest of the pool.
        greatest: u8,
    },
    /// So many free extents of an order cannot be in the pool without merging, next to those of larger orders.
    #[error(
        "{free} free extents of order {order} in a pool of {frames} frames: beside the larger ones, no more than {room} of them stay apart"
    )]
    Room {
        /// The order.
        order: u8,
        /// How many there should be.
        free: u64,
        /// How many there can be.
        room: u64,
        /// The size of the pool.
        frames: u64,
    },
}

impl Start {
    /// The layout of a pool of that many frames, with extents of at most that order.
    ///
    /// # Errors
    /// Where a share is none, or what is asked for does not fit into the pool.
    pub fn lay_out(&self, frames: u64, most_order: u8) -> Result<Layout, StartError> {
        let mut buddy = Buddy::new(frames, most_order);
        let (mut pieces, movable, mut random) = match self {
            Self::Empty => (Vec::new(), 0.0, SplitMix64::new(0)),
            Self::Seeded {
                occupied,
                movable,
                seed,
                run,
            } => {
                let share = Share::of("occupied", *occupied)?;
                let run = Run::new(*run, buddy.most_order())?;
                let mut random = SplitMix64::new(*seed);
                let occupied = share.of_frames(buddy.frames());
                let pieces = fill(&mut buddy, occupied, run, &mut random);
                (pieces, *movable, random)
            }
            Self::Recorded {
                free,
                movable,
                seed,
            } => {
                let mut random = SplitMix64::new(*seed);
                let (frames, most_order) = (buddy.frames(), buddy.most_order());
                let scattered = scatter(frames, most_order, free, &mut random)?;
                buddy = Buddy::occupied(frames, most_order);
                for (first, order) in scattered.free {
                    buddy.merge(Free {
                        first,
                        order,
                        zeroed: Zeroed::None,
                    });
                }
                let rest = scattered.rest.iter();
                let pieces = rest.flat_map(|run| extents_of(run, most_order));
                (pieces.collect(), *movable, random)
            }
        };
        let movable = Share::of("movable", movable)?;
        pieces.sort_unstable();
        let occupied = draw_movable(&pieces, movable, &mut random);
        Ok(Layout { buddy, occupied })
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy)]
struct Share(f64);

impl Share {
    fn of(what: &'static str, value: f64) -> Result<Self, StartError> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(StartError::Share { what, value })
        }
    }

    /// That share of so many frames, to the nearest whole.
    fn of_frames(self, frames: u64) -> u64 {
        ((frames as f64 * self.0).round() as u64).min(frames)
    }
}

/// Draws which pieces can be moved: each with the probability that makes the rest come out (Knuth, The Art of Computer Programming, volume 2,
/// section 3.4.2, algorithm S).
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
