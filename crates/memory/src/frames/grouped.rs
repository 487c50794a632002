//! Occupied memory, grouped by mobility in blocks.

use super::mobility::{Mobility, Pageblocks};
use super::recorded::sample;
use super::start::Share;
use super::{Buddy, Frame, Occupied, StartError, extents_of};
use broadleaf_units::SplitMix64;
use std::ops::Range;

/// The largest order of a piece of a block that is partly occupied.
const LARGEST_PIECE: u8 = 4;
/// The number of random places tried for a piece before the next free place is taken.
const DRAWS: usize = 8;

/// The occupied and movable shares of a pool, and its fragmentation.
pub(super) struct Grouping {
    /// The order of a block.
    pub(super) block: u8,
    /// The occupied share of the pool. If it is zero, `fragmentation` sets the least share that
    /// breaks enough blocks.
    pub(super) occupied: Share,
    /// The share of free memory that lies in wholly free blocks. `None`: occupied blocks are half
    /// full.
    pub(super) fragmentation: Option<Share>,
    pub(super) movable: Share,
}

/// The number of occupied frames, and of whole blocks that hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Amounts {
    frames: u64,
    blocks: u64,
}

impl Grouping {
    /// The numbers of occupied frames and blocks in a pool.
    fn amounts(&self, frames: u64) -> Result<Amounts, StartError> {
        let size = 1 << self.block;
        let whole = frames >> self.block;
        let occupied = self.occupied.of_frames(frames);
        let Some(share) = self.fragmentation else {
            let blocks = (2 * occupied).div_ceil(size).min(whole).min(occupied);
            return Ok(Amounts {
                frames: occupied,
                blocks,
            });
        };
        if occupied == 0 {
            // One frame in each block that is not to be free: share = free * size / (frames -
            // (whole - free)).
            let free = share.0 * frames.saturating_sub(whole) as f64 / (size as f64 - share.0);
            let blocks = whole - (free.round() as u64).min(whole);
            return Ok(Amounts {
                frames: blocks,
                blocks,
            });
        }
        let free = frames - occupied;
        let blocks = whole - (share.of_frames(free) + size / 2).min(free) / size;
        if occupied < blocks {
            return Err(StartError::TooLittle {
                frames: occupied,
                blocks,
                pool: frames,
            });
        }
        Ok(Amounts {
            frames: occupied,
            blocks,
        })
    }

    /// Lays a pool out: its free extents, and its occupied ones, by address.
    pub(super) fn lay_out(
        &self,
        frames: u64,
        most_order: u8,
        random: &mut SplitMix64,
    ) -> Result<(Buddy, Vec<Occupied>), StartError> {
        let amounts = self.amounts(frames)?;
        let whole = frames >> self.block;
        let chosen = sample(amounts.blocks, whole, random);
        // If the pool is no whole number of blocks, frames that exceed the blocks follow the last
        // block.
        let room = amounts.blocks << self.block;
        let beyond = amounts.frames.saturating_sub(room);
        let mut left = Left {
            frames: amounts.frames - beyond,
            blocks: amounts.blocks,
            unmovable: amounts.blocks - self.movable.of_frames(amounts.blocks),
        };
        let mut kinds = Pageblocks::new(self.block);
        let mut taken: Vec<(Range<u64>, bool)> = Vec::new();
        for block in chosen {
            let mobility = left.draw_mobility(random);
            kinds.set(block..block + 1, mobility);
            let movable = mobility == Mobility::Movable;
            let first = block << self.block;
            let count = left.next_count();
            for run in runs_in_block(self.block, count, random) {
                taken.push((first + run.start..first + run.end, movable));
            }
        }
        let end = whole << self.block;
        taken.push((end..end + beyond, self.movable.0 >= 0.5));
        let mut buddy = Buddy::grouped(frames, most_order, kinds);
        let (mut occupied, mut free) = (Vec::new(), 0);
        for (run, movable) in taken {
            buddy.begin_free(free..run.start);
            free = run.end;
            occupied.extend(extents_of(run, most_order).map(|(first, order)| Occupied {
                first: Frame(first),
                order,
                movable,
            }));
        }
        buddy.begin_free(free..frames);
        Ok((buddy, occupied))
    }
}

/// The frames and blocks that are still to be drawn.
struct Left {
    frames: u64,
    blocks: u64,
    /// The number of these blocks that are not movable.
    unmovable: u64,
}

impl Left {
    /// Draws the mobility of the next block. Each order of the kinds is equally likely (Knuth, The
    /// Art of Computer Programming, volume 2, section 3.4.2, algorithm S). Every second block that
    /// is not movable is reclaimable.
    fn draw_mobility(&mut self, random: &mut SplitMix64) -> Mobility {
        let fixed = random.below(self.blocks) < self.unmovable;
        if !fixed {
            return Mobility::Movable;
        }
        self.unmovable -= 1;
        if self.unmovable.is_multiple_of(2) {
            Mobility::Unmovable
        } else {
            Mobility::Reclaimable
        }
    }

    /// The number of occupied frames in the next block. All blocks have equally many, except for
    /// the remainder.
    const fn next_count(&mut self) -> u64 {
        let count = self.frames.div_ceil(self.blocks);
        self.frames -= count;
        self.blocks -= 1;
        count
    }
}

/// Draws `count` occupied frames of a block, as runs in address order. The occupied or the free
/// frames, if these are fewer, lie in pieces of 1 to 16 at random places.
fn runs_in_block(block: u8, count: u64, random: &mut SplitMix64) -> Vec<Range<u64>> {
    let size = 1 << block;
    let fewer = count.min(size - count);
    let mut drawn = vec![false; size as usize];
    let mut left = fewer;
    while left > 0 {
        let most = LARGEST_PIECE.min(block).min(left.ilog2() as u8);
        let mut order = random.below(u64::from(most) + 1) as u8;
        let place = loop {
            if let Some(place) = place_for(&drawn, order, random) {
                break place;
            }
            // A single frame always has a place: at most half of the block is drawn.
            order -= 1;
        };
        drawn[place..place + (1 << order)].fill(true);
        left -= 1 << order;
    }
    let occupied = count == fewer;
    let mut runs: Vec<Range<u64>> = Vec::new();
    for (frame, drawn) in (0..size).zip(drawn) {
        match runs.last_mut() {
            _ if drawn != occupied => {}
            Some(run) if run.end == frame => run.end += 1,
            _ => runs.push(frame..frame + 1),
        }
    }
    runs
}

/// A place for a piece of that order of which nothing is drawn yet.
fn place_for(drawn: &[bool], order: u8, random: &mut SplitMix64) -> Option<usize> {
    let places = drawn.len() >> order;
    let size = 1 << order;
    let is_free = |place: &usize| !drawn[place << order..(place << order) + size].contains(&true);
    let mut place = 0;
    for _ in 0..DRAWS {
        place = random.below(places as u64) as usize;
        if is_free(&place) {
            return Some(place << order);
        }
    }
    let mut rest = (place..places).chain(0..place);
    rest.find(is_free).map(|place| place << order)
}
