//! Free extents in recorded numbers, at random places where they do not merge.

use super::StartError;
use super::random::SplitMix64;
use super::runs::Runs;
use std::collections::BTreeSet;
use std::ops::Range;

/// Where free extents went.
pub(super) struct Scattered {
    /// First frames and orders.
    pub(super) free: Vec<(u64, u8)>,
    /// All other frames.
    pub(super) rest: Runs,
}

/// Finds places for so many free extents of each order.
///
/// The largest come first. What they leave lies in whole regions of the order above the next: each of them can have one of its halves
/// free and must keep something of the other, or the two would merge. So one half for each region is all that the order has room for, and
/// any choice of regions is as good as another for the orders below, which find the same number of halves left. Only a half whose other
/// half lies beyond the end of the pool has nothing to merge with.
pub(super) fn scatter(
    frames: u64,
    most_order: u8,
    wanted: &[u64],
    random: &mut SplitMix64,
) -> Result<Scattered, StartError> {
    let beyond = wanted
        .iter()
        .enumerate()
        .skip(usize::from(most_order) + 1)
        .find(|(_, free)| **free > 0);
    if let Some((order, free)) = beyond {
        return Err(StartError::Order {
            order,
            free: *free,
            greatest: most_order,
        });
    }
    let (mut free, mut rest) = (Vec::new(), Runs::default());
    rest.add(0..frames);
    for order in (0..=most_order).rev() {
        let wanted = wanted.get(usize::from(order)).copied().unwrap_or(0);
        let step = Step {
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
    Ok(Scattered { free, rest })
}

/// The places of one order.
struct Step {
    order: u8,
    /// Whether two of the order would merge.
    merges: bool,
}

impl Step {
    /// The order of the regions that give room for one extent each.
    const fn region(&self) -> u8 {
        self.order + self.merges as u8
    }

    /// How many extents a run of frames has room for. Only at the end of the pool is there more than whole regions.
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

/// So many different numbers below `bound`, each set of them as likely as any other (Bentley and Floyd 1987, "A sample of brilliance").
fn sample(count: u64, bound: u64, random: &mut SplitMix64) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    for last in bound - count..bound {
        if !drawn.insert(random.below(last + 1)) {
            drawn.insert(last);
        }
    }
    drawn
}
