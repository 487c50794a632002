//! Frames that are zeroed ahead of their allocation.

use super::Frame;
use super::buddy::Buddy;
use super::lists::{Free, Zeroed};
use std::ops::Range;

impl Buddy {
    /// The number of free frames known to hold zeroes.
    pub const fn zeroed_frames(&self) -> u64 {
        self.zeroed.count()
    }

    /// The number of free frames in an extent that are known to hold zeroes.
    pub fn zeroed_in(&self, first: Frame, order: u8) -> u64 {
        let frames = self.extent(first, order).unwrap_or(0..0);
        self.zeroed.count_within(frames)
    }

    /// Zeroes at most `frames` free frames that are not known to hold zeroes. The largest extents
    /// come first, and of these the lowest. Returns the number of zeroed frames, which is smaller
    /// only if no more were left. This is the work of a background thread on an idle machine.
    pub fn zero_some(&mut self, frames: u64) -> u64 {
        let mut left = frames;
        for order in (0..=self.most_order).rev() {
            while left > 0 {
                let unfinished = [Zeroed::None, Zeroed::Some].into_iter();
                let lowest = unfinished
                    .filter_map(|zeroed| self.lists.lowest(order, zeroed))
                    .min_by_key(|free| free.first);
                let Some(free) = lowest else {
                    break;
                };
                left -= match self.whole_run(free, left) {
                    Some(numbers) => self.zero_run(numbers),
                    None => self.zero_in(free, left),
                };
            }
        }
        frames - left
    }

    /// The known content of a range of free frames.
    pub(super) fn content(&self, frames: Range<u64>) -> Zeroed {
        let first = self.zeroed.within(frames.clone()).next();
        match first {
            None => Zeroed::None,
            Some(part) if part == frames => Zeroed::All,
            Some(_) => Zeroed::Some,
        }
    }

    /// The extents of the greatest order, by their numbers, that can be zeroed together from this
    /// one on within that many frames.
    fn whole_run(&self, free: Free, left: u64) -> Option<Range<u64>> {
        let most = left >> self.most_order;
        if free.order < self.most_order || free.zeroed != Zeroed::None || most == 0 {
            return None;
        }
        let run = self
            .lists
            .top(Zeroed::None)
            .holding(free.first >> self.most_order)?;
        Some(run.start..run.end.min(run.start.saturating_add(most)))
    }

    fn zero_run(&mut self, numbers: Range<u64>) -> u64 {
        self.lists.remove_top(numbers.clone(), Zeroed::None);
        self.lists.insert_top(numbers.clone(), Zeroed::All);
        let order = self.most_order;
        self.zeroed
            .add(numbers.start << order..numbers.end << order);
        (numbers.end - numbers.start) << order
    }

    /// Zeroes frames of one extent.
    fn zero_in(&mut self, free: Free, most: u64) -> u64 {
        let Range { start, end } = free.frames();
        let (mut at, mut left) = (start, most);
        while at < end && left > 0 {
            if let Some(run) = self.zeroed.holding(at) {
                at = run.end;
                continue;
            }
            let gap = self.zeroed.next(at).unwrap_or(end).min(end);
            let until = gap.min(at.saturating_add(left));
            self.zeroed.add(at..until);
            left -= until - at;
            at = until;
        }
        self.lists.remove(free);
        self.lists.insert(Free {
            zeroed: self.content(start..end),
            ..free
        });
        most - left
    }
}
