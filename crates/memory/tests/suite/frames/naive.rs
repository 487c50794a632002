//! A naive buddy allocator: the set of its free frames, scanned for every answer.

use broadleaf_memory::frames::Choice;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub(crate) struct NaiveBuddy {
    pub(crate) frames: u64,
    pub(crate) most_order: u8,
    pub(crate) free: BTreeSet<u64>,
    /// The free frames that hold zeroes.
    pub(crate) zeroed: BTreeSet<u64>,
}

impl NaiveBuddy {
    pub(crate) fn new(frames: u64, most_order: u8) -> Self {
        Self {
            frames,
            most_order,
            free: (0..frames).collect(),
            zeroed: BTreeSet::new(),
        }
    }

    /// Returns true if the pool has such an extent and all of it is free.
    pub(crate) fn is_whole(&self, first: u64, order: u8) -> bool {
        self.is_extent(first, order)
            && self.free.range(first..first + (1 << order)).count() == 1 << order
    }

    /// Returns true if the pool has such an extent.
    pub(crate) fn is_extent(&self, first: u64, order: u8) -> bool {
        order <= self.most_order
            && first.is_multiple_of(1 << order)
            && first + (1 << order) <= self.frames
    }

    /// First frames of all extents of that order that are wholly free.
    pub(crate) fn whole(&self, order: u8) -> Vec<u64> {
        let places = (0..self.frames).step_by(1 << order);
        places
            .filter(|first| self.is_whole(*first, order))
            .collect()
    }

    /// The free extents that lie in no larger one, by order and address.
    pub(crate) fn extents(&self) -> Vec<(u64, u8)> {
        let mut found = Vec::new();
        for order in 0..=self.most_order {
            for first in self.whole(order) {
                let parent = first & !(1 << order);
                if !self.is_whole(parent, order + 1) {
                    found.push((first, order));
                }
            }
        }
        found
    }

    pub(crate) fn zeroed_in(&self, first: u64, order: u8) -> u64 {
        self.zeroed.range(first..first + (1 << order)).count() as u64
    }

    /// The badness of an extent: a smaller value is better.
    fn badness(&self, (first, order): (u64, u8), choice: Choice) -> (u8, u64) {
        let zeroed = self.zeroed_in(first, order);
        let content = u8::from(zeroed > 0) + u8::from(zeroed == 1 << order);
        match choice {
            Choice::Lowest => (0, first),
            Choice::Highest => (0, u64::MAX - first),
            Choice::Zeroed => (2 - content, first),
            Choice::NotZeroed => (content, first),
        }
    }

    /// Allocates an extent. Returns its first frame and the number of its frames that held zeroes.
    pub(crate) fn allocate(&mut self, order: u8, choice: Choice) -> Option<(u64, u64)> {
        let fitting: Vec<(u64, u8)> = self
            .extents()
            .into_iter()
            .filter(|extent| extent.1 >= order)
            .collect();
        let smallest = fitting.iter().map(|extent| extent.1).min()?;
        let mut candidates: Vec<(u64, u8)> = fitting
            .into_iter()
            .filter(|extent| extent.1 == smallest)
            .collect();
        loop {
            candidates.sort_by_key(|extent| self.badness(*extent, choice));
            let (first, its_order) = candidates[0];
            if its_order == order {
                let zeroed = self.zeroed_in(first, order);
                self.remove(first, order);
                return Some((first, zeroed));
            }
            let half = its_order - 1;
            candidates = vec![(first, half), (first + (1 << half), half)];
        }
    }

    /// Removes frames, free or not.
    pub(crate) fn remove(&mut self, first: u64, order: u8) {
        for frame in first..first + (1 << order) {
            self.free.remove(&frame);
            self.zeroed.remove(&frame);
        }
    }

    pub(crate) fn zero_some(&mut self, frames: u64) -> u64 {
        let mut extents = self.extents();
        extents.sort_by_key(|(first, order)| (self.most_order - order, *first));
        let frames_of = |(first, order): (u64, u8)| first..first + (1 << order);
        let all = extents.into_iter().flat_map(frames_of);
        let unknown = all.filter(|frame| !self.zeroed.contains(frame));
        let now: Vec<u64> = unknown.take(frames as usize).collect();
        self.zeroed.extend(&now);
        now.len() as u64
    }
}
