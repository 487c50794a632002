//! Free extents in recorded numbers, at random places where they do not merge.

use super::StartError;
use super::mobility::{Mobility, Pageblocks};
use super::pagetypeinfo::TypeCounts;
use super::runs::Runs;
use broadleaf_units::SplitMix64;
use std::collections::BTreeSet;
use std::ops::Range;

/// A random layout of free extents.
pub(super) struct ScatteredExtents {
    /// First frames and orders.
    pub(super) free: Vec<(u64, u8)>,
    /// All other frames.
    pub(super) rest: Runs,
}

/// Finds places for `wanted` free extents of each order.
///
/// The largest extents are placed first. The rest of the pool lies in whole regions of the order
/// above the next. Each region can have one free half and must keep part of the other, or the two
/// would merge. So an order has room for one half per region. Any choice of regions leaves the same
/// number of halves for the orders below. Only a half whose other half lies beyond the end of the
/// pool has no buddy to merge with.
pub(super) fn scatter(
    within: Runs,
    most_order: u8,
    wanted: &[u64],
    random: &mut SplitMix64,
) -> Result<ScatteredExtents, StartError> {
    let frames = within.count();
    let (mut free, mut rest) = (Vec::new(), within);
    for order in (0..=most_order).rev() {
        let wanted = wanted.get(usize::from(order)).copied().unwrap_or(0);
        let step = OrderPlaces {
            order,
            merges: order < most_order,
        };
        let room = rest.iter().map(|run| step.places(&run)).sum();
        if wanted > room {
            return Err(StartError::Room {
                order,
                free: wanted,
                room,
                frames,
            });
        }
        let found = step.choose(&rest, &sample(wanted, room, random), random);
        for first in found {
            rest.remove(first..first + (1 << order));
            free.push((first, order));
        }
    }
    Ok(ScatteredExtents { free, rest })
}

/// The places of one order.
struct OrderPlaces {
    order: u8,
    /// True if two extents of the order would merge.
    merges: bool,
}

impl OrderPlaces {
    /// The order of the regions that give room for one extent each.
    const fn region(&self) -> u8 {
        self.order + self.merges as u8
    }

    /// The number of extents that a run of frames has room for. Only the end of the pool has more
    /// than whole regions.
    const fn places(&self, run: &Range<u64>) -> u64 {
        let length = run.end - run.start;
        let alone = self.merges && length & (1 << self.order) != 0;
        (length >> self.region()) + alone as u64
    }

    /// The first frames of the extents at those places, counted over all runs.
    fn choose(&self, rest: &Runs, places: &BTreeSet<u64>, random: &mut SplitMix64) -> Vec<u64> {
        let (mut found, mut before) = (Vec::with_capacity(places.len()), 0);
        for run in rest.iter() {
            let regions = (run.end - run.start) >> self.region();
            let here = self.places(&run);
            for place in places.range(before..before + here) {
                let region = place - before;
                let upper = self.merges && region < regions && random.below(2) == 1;
                let half = u64::from(upper) << self.order;
                found.push(run.start + (region << self.region()) + half);
            }
            before += here;
        }
        found
    }
}

/// Returns an error if extents of an order above the greatest are wanted.
pub(super) fn refuse_beyond(wanted: &[u64], most_order: u8) -> Result<(), StartError> {
    let orders = wanted.iter().enumerate();
    let mut beyond = orders.skip(usize::from(most_order) + 1);
    match beyond.find(|(_, free)| **free > 0) {
        None => Ok(()),
        Some((order, free)) => Err(StartError::Order {
            order,
            free: *free,
            greatest: most_order,
        }),
    }
}

/// The frames of a pool by mobility, in regions. Free extents of different regions never merge,
/// since regions are large.
pub(super) struct MobilityRegions {
    /// The frames of each mobility.
    pub(super) of: [Runs; 3],
    pub(super) blocks: Pageblocks,
}

impl MobilityRegions {
    /// Draws regions at random places. Each mobility has room for its free extents, and further
    /// regions in proportion to its pageblocks.
    pub(super) fn draw(
        frames: u64,
        most_order: u8,
        block: u8,
        types: &[TypeCounts; 3],
        random: &mut SplitMix64,
    ) -> Result<Self, StartError> {
        let recorded = types.iter().map(|of| of.free.len()).max().unwrap_or(0);
        let order = most_order.min(recorded as u8).max(block.min(most_order));
        let all = frames >> order;
        let mut left: [u64; 3] = Default::default();
        for (left, of) in left.iter_mut().zip(types) {
            *left = room_for(&of.free, order) >> order;
        }
        let needed: u64 = left.iter().sum();
        if needed > all {
            return Err(StartError::Regions {
                needed: needed << order,
                frames,
            });
        }
        // Counts of a damaged text may add up to more than 64 bits hold.
        let blocks: u128 = types.iter().map(|of| u128::from(of.blocks)).sum();
        let spare = all - needed;
        for mobility in [Mobility::Unmovable, Mobility::Reclaimable] {
            let at = mobility as usize;
            // The mobility's share of all regions, by pageblocks, less the regions that it has.
            let part = (u128::from(all) * u128::from(types[at].blocks))
                .checked_div(blocks)
                .unwrap_or(0) as u64;
            left[at] += part.saturating_sub(left[at]).min(spare / 2);
        }
        left[Mobility::Movable as usize] = all - left[1] - left[2];
        let mut regions = Self {
            of: Default::default(),
            blocks: Pageblocks::new(block.min(most_order)),
        };
        for region in 0..all {
            let drawn = random.below(left.iter().sum());
            let mut end = 0;
            let mut kinds = Mobility::EACH.into_iter();
            let kind = kinds.find(|kind| {
                end += left[*kind as usize];
                drawn < end
            });
            let kind = kind.unwrap_or_default();
            left[kind as usize] -= 1;
            regions.of[kind as usize].add(region << order..(region + 1) << order);
            let each = order - regions.blocks.order;
            regions
                .blocks
                .set(region << each..(region + 1) << each, kind);
        }
        regions.of[Mobility::Movable as usize].add(all << order..frames);
        Ok(regions)
    }
}

/// The number of frames that surely have room for `free` free extents of each order without
/// merging; `most_order` is the greatest order.
///
/// Each extent needs a buddy that is not free. Buddies of larger extents have room for smaller
/// ones. So an order needs twice the frames of its free extents, plus the frames of larger ones.
pub fn room_for(free: &[u64], most_order: u8) -> u64 {
    let (mut larger, mut room) = (0_u64, 0_u64);
    for (order, free) in free.iter().enumerate().rev() {
        let frames = free.saturating_mul(1 << order);
        let merges = order < usize::from(most_order);
        let beside = if merges {
            frames.saturating_mul(2)
        } else {
            frames
        };
        room = room.max(larger.saturating_add(beside));
        larger = larger.saturating_add(frames);
    }
    room.checked_next_multiple_of(1 << most_order)
        .unwrap_or(u64::MAX)
}

/// Draws `count` distinct numbers below `bound`. Every set is equally likely (Bentley and Floyd
/// 1987, "A sample of brilliance").
pub(super) fn sample(count: u64, bound: u64, random: &mut SplitMix64) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    for last in bound - count..bound {
        if !drawn.insert(random.below(last + 1)) {
            drawn.insert(last);
        }
    }
    drawn
}
