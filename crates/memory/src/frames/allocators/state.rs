//! What the allocators beside the buddy allocator know: the runs of free frames by length, and the
//! pools of a divided memory.

use super::super::runs::Runs;
use super::super::{Buddy, Frame};
use std::collections::BTreeSet;
use std::ops::Range;

/// The state of an allocator that chooses extents itself.
#[derive(Clone, Debug)]
pub(in super::super) struct Chosen {
    pub(super) choose: fn(&Buddy, u8) -> Option<Frame>,
    /// The free frames, as runs that neither overlap nor touch.
    runs: Runs,
    /// The length and the start of each run.
    by_length: BTreeSet<(u64, u64)>,
    /// The order and the frames of each pool of extents. A pool can be empty.
    pools: Vec<(u8, Range<u64>)>,
    /// The frames of base pages: those in no pool.
    pages: Vec<Range<u64>>,
    divided: bool,
}

impl Chosen {
    pub(super) fn new(
        choose: fn(&Buddy, u8) -> Option<Frame>,
        free: impl Iterator<Item = (u64, u8)>,
    ) -> Self {
        let mut chosen = Self {
            choose,
            runs: Runs::new(),
            by_length: BTreeSet::new(),
            pools: Vec::new(),
            pages: std::iter::once(0..u64::MAX).collect(),
            divided: false,
        };
        for (first, order) in free {
            chosen.runs.add(first..first + (1 << order));
        }
        let runs = chosen.runs.iter();
        chosen.by_length = runs.map(|run| (run.end - run.start, run.start)).collect();
        chosen
    }

    /// Divides memory: each order gets an equal part of the share of extents, in whole extents, the
    /// largest order at the top of memory. Base pages have the rest.
    pub(super) fn divided(
        mut self,
        divided: bool,
        frames: u64,
        orders: &[u8],
        extents: f64,
    ) -> Self {
        self.divided = divided;
        if !divided {
            return self;
        }
        let mut orders: Vec<u8> = orders.iter().copied().filter(|order| *order > 0).collect();
        orders.sort_unstable();
        orders.dedup();
        let each = (frames as f64 * extents) as u64 / orders.len().max(1) as u64;
        let (mut end, mut pages) = (frames, Vec::new());
        for order in orders.into_iter().rev() {
            let top = end >> order << order;
            let start = top.saturating_sub(each >> order << order);
            self.pools.push((order, start..top));
            // A pool without an extent must not cut memory in two.
            if start < top {
                pages.push(top..end);
                end = start;
            }
        }
        pages.push(0..end);
        pages.retain(|range| !range.is_empty());
        pages.reverse();
        self.pages = pages;
        self
    }

    pub(super) const fn is_divided(&self) -> bool {
        self.divided
    }

    /// The frames that base pages can have, in the order of addresses.
    pub(super) fn frames_of_pages(&self) -> &[Range<u64>] {
        &self.pages
    }

    /// The frames that extents of an order come from. An order without a pool has those of base
    /// pages.
    pub(super) fn frames_of(&self, order: u8) -> &[Range<u64>] {
        let own = self.pools.iter().position(|(of, _)| *of == order);
        own.map_or(&self.pages, |at| std::slice::from_ref(&self.pools[at].1))
    }

    pub(super) fn free_in(&self, frames: Range<u64>) -> u64 {
        self.runs.count_within(frames)
    }

    /// The runs of free frames that have at least that length, shortest first, and of equally long
    /// ones the lowest first.
    pub(super) fn runs_from(&self, length: u64) -> impl Iterator<Item = Range<u64>> {
        let runs = self.by_length.range((length, 0)..);
        runs.map(|(length, start)| *start..start + length)
    }

    /// The runs of free frames, longest first, and of equally long ones the lowest first.
    pub(super) fn longest_runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut length = self.by_length.last().map(|(length, _)| *length);
        let lengths = std::iter::from_fn(move || {
            let now = length?;
            let shorter = self.by_length.range(..(now, 0)).next_back();
            length = shorter.map(|(length, _)| *length);
            Some(now)
        });
        let of = |length| self.by_length.range((length, 0)..=(length, u64::MAX));
        lengths
            .flat_map(of)
            .map(|(length, start)| *start..start + length)
    }

    /// Notes frames that became free.
    pub(in super::super) fn freed(&mut self, frames: Range<u64>) {
        self.change(&frames, |runs, frames| runs.add(frames));
    }

    /// Notes free frames that were allocated.
    pub(in super::super) fn taken(&mut self, frames: Range<u64>) {
        self.change(&frames, |runs, frames| runs.remove(frames));
    }

    /// Changes the runs, and lists those around the change anew.
    fn change(&mut self, frames: &Range<u64>, change: impl FnOnce(&mut Runs, Range<u64>)) {
        let around = |runs: &Runs| {
            let edges = [
                frames.start.checked_sub(1),
                Some(frames.start),
                Some(frames.end),
            ];
            let found = edges.into_iter().flatten();
            let mut found: Vec<_> = found.filter_map(|frame| runs.holding(frame)).collect();
            found.dedup();
            found
        };
        for run in around(&self.runs) {
            self.by_length.remove(&(run.end - run.start, run.start));
        }
        change(&mut self.runs, frames.clone());
        for run in around(&self.runs) {
            self.by_length.insert((run.end - run.start, run.start));
        }
    }

    /// Asserts that the runs are the free frames of the lists.
    pub(in super::super) fn check(&self, free: impl Iterator<Item = (Frame, u8)>) {
        let mut listed = Runs::new();
        free.for_each(|(first, order)| listed.add(first.0..first.0 + (1 << order)));
        assert_eq!(self.runs, listed, "the runs are not what is free");
        let runs = self.runs.iter().map(|run| (run.end - run.start, run.start));
        let by_length: BTreeSet<_> = runs.collect();
        assert_eq!(self.by_length, by_length, "the lengths are not the runs'");
    }
}

/// The first frame of the lowest extent of an order in a run.
pub(super) const fn lowest_in(run: &Range<u64>, order: u8) -> Option<Frame> {
    let first = run.start.next_multiple_of(1 << order);
    if first + (1 << order) <= run.end {
        Some(Frame(first))
    } else {
        None
    }
}
