//! What there is to remember of one block.

use super::found::Found;
use crate::seen::{BLOCK_BYTES, BlockSeen, PAGE_BYTES, PAGES};
use broadleaf_policy::Refusal;
use std::time::Duration;

/// Waiting that doubles with each time in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    /// How often in a row.
    times: u32,
    until: Duration,
}

impl Patience {
    /// Waits from `at` for `first`, twice that the next time, and so on up to `most`. What is longer ago than that is forgotten.
    pub(crate) fn wait(&mut self, at: Duration, first: Duration, most: Duration) {
        if at > self.until + most {
            self.times = 0;
        }
        let doubled = first.saturating_mul(1 << self.times.min(20));
        self.until = at + doubled.min(most);
        self.times += 1;
    }

    /// Whether it waits still.
    pub(crate) fn waits(&self, at: Duration) -> bool {
        at < self.until
    }

    /// It went well: the next wait is a first one.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

/// What there is to remember of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// What it held when it was promoted, if that superpage stands.
    pub(super) made: Option<BlockSeen>,
    /// The most base pages that are still resident of a broken superpage of the ward.
    pub(super) left: u16,
    /// The most base pages that are still resident of a broken superpage that the ward did not
    /// make. The budget counts them. [`Mark::added_bytes`] does not: the ward did not add them.
    left_found: u16,
    /// The superpage that stands, if the ward did not make it and the program did not ask for it.
    pub(super) found: Option<Found>,
    /// Whether to break what the program broke, so that the kernel gives back what is left: it may keep the superpage as a whole, with what was given back of it.
    to_split: bool,
    /// How often the program broke a superpage here.
    broken: Patience,
    /// After a refusal of the kernel, and what that was.
    rest: Patience,
    refused: Option<Refusal>,
    /// After a demotion. That it was promoted again meanwhile does not make the next wait a first one: what is given and taken in turn costs twice.
    taken: Patience,
    /// Reasons for which it was refused, one bit each.
    reasons: u64,
}

impl Mark {
    /// Bytes that the superpage added.
    pub(super) const fn added_bytes(&self) -> u64 {
        match &self.made {
            Some(before) => BLOCK_BYTES - before.present as u64 * PAGE_BYTES,
            None => self.left as u64 * PAGE_BYTES,
        }
    }

    /// Bytes that count against the budget: the ward's, and those of superpages that it found.
    pub(super) fn charged_bytes(&self) -> u64 {
        let found = self.found.map_or(0, |found| found.pages);
        self.added_bytes() + u64::from(found + self.left_found) * PAGE_BYTES
    }

    /// Base pages of broken superpages that are still resident, found superpages included.
    pub(super) const fn all_left(&self) -> u16 {
        self.left + self.left_found
    }

    /// Whether there is something to give back of a superpage that the program broke.
    pub(super) fn is_left_over(&self, at: Duration) -> bool {
        self.to_split && !self.rest.waits(at)
    }

    /// Takes in what the block holds now.
    pub(super) fn holds(&mut self, now: &BlockSeen) {
        if !now.huge
            && let Some(found) = self.found.take()
        {
            self.left_found = self.left_found.max(found.pages);
        }
        let most = if now.huge { 0 } else { now.present };
        self.left = self.left.min(most);
        // The ward's superpage still holds what an earlier superpage added.
        if !now.huge || self.made.is_none() {
            self.left_found = self.left_found.min(most - self.left);
        }
        self.to_split &= most > 0;
    }

    /// Whether only a full block is promoted again: the program broke one here. Its allocator gives pages back, and would again.
    pub(super) const fn is_full_only(&self) -> bool {
        self.broken.times > 0
    }

    /// Whether nothing is tried yet, and why.
    pub(super) fn waits(&self, at: Duration) -> Option<Refusal> {
        if self.broken.waits(at) {
            Some(Refusal::SplitByProgram)
        } else if self.rest.waits(at) {
            // The reason that it waits for. Another name would count the block twice.
            self.refused
        } else if self.taken.waits(at) {
            Some(Refusal::BackingOff)
        } else {
            None
        }
    }

    /// The superpage is none any more, and nobody here broke it. Where pages are missing the program gave them back, and would again. Where all are there it
    /// stored to what a fork shared, say, and there is nothing to learn from it. What the superpage had added stays, less what was given back. Whether the program
    /// gave something back.
    pub(super) fn broken(&mut self, before: BlockSeen, now: &BlockSeen, at: Duration) -> bool {
        self.left = (PAGES as u16).saturating_sub(before.present);
        let gave_back = u32::from(now.present) + u32::from(now.swapped) < PAGES;
        self.to_split = gave_back || self.all_left() > 0;
        if gave_back {
            self.broken
                .wait(at, Duration::from_secs(1), Duration::from_secs(600));
        }
        gave_back
    }

    /// The superpage was broken to give memory back, and the block holds this now. Where no page of zeroes came of it the kernel may have kept all that was
    /// added (before Linux 6.12 it does), so that still counts; it is not tried again.
    pub(super) fn demoted(&mut self, now: &BlockSeen, at: Duration) {
        let added = match self.made {
            Some(before) => (PAGES as u16).saturating_sub(before.present),
            None => self.left,
        };
        let gave_back = now.zero > 0 || u32::from(now.present) < PAGES;
        self.left = if gave_back { 0 } else { added };
        if gave_back {
            self.left_found = 0;
        }
        self.to_split = false;
        if self.made.take().is_some() {
            self.taken
                .wait(at, Duration::from_secs(10), Duration::from_secs(600));
        }
    }

    /// It became a superpage.
    pub(super) fn promoted(&mut self, before: BlockSeen) {
        // Pages that an earlier superpage of the ward added still count as added.
        let added_before = self.left.min(before.present);
        self.made = Some(BlockSeen {
            present: before.present - added_before,
            ..before
        });
        self.left = 0;
        self.to_split = false;
        self.rest.end();
    }

    /// The kernel refused, or would have done harm. How long to wait depends on whether it may pass soon.
    pub(super) fn refused(&mut self, reason: Refusal, at: Duration) {
        let (first, most) = match reason {
            Refusal::Busy | Refusal::Changed => {
                (Duration::from_millis(200), Duration::from_secs(10))
            }
            Refusal::TooManyShared | Refusal::StallTooLong => {
                (Duration::from_secs(1), Duration::from_secs(10))
            }
            Refusal::NoExtent | Refusal::NoCharge => {
                (Duration::from_secs(1), Duration::from_secs(60))
            }
            _ => (Duration::from_secs(10), Duration::from_secs(600)),
        };
        if self.refused.replace(reason) != Some(reason) {
            self.rest.end();
        }
        self.rest.wait(at, first, most);
    }

    /// Notes a reason; whether it is the first time for this block.
    pub(super) const fn is_first(&mut self, reason: Refusal) -> bool {
        let bit = 1 << reason as u32;
        let first = self.reasons & bit == 0;
        self.reasons |= bit;
        first
    }
}
