//! The memory of a ward about one block.

use super::found::FoundSuperpage;
use crate::seen::{BLOCK_BYTES, BlockSeen, PAGE_BYTES, PAGES};
use broadleaf_policy::Refusal;
use std::time::Duration;

/// A wait that doubles each time in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    /// The number of waits in a row.
    times: u32,
    until: Duration,
}

impl Patience {
    /// Waits from `at` for `first`, twice as long the next time, and so on up to `most`. Waits that
    /// ended more than `most` ago do not count.
    pub(crate) fn wait(&mut self, at: Duration, first: Duration, most: Duration) {
        if at > self.until + most {
            self.times = 0;
        }
        let doubled = first.saturating_mul(1 << self.times.min(20));
        self.until = at + doubled.min(most);
        self.times += 1;
    }

    /// Returns true if the wait has not ended.
    pub(crate) fn waits(&self, at: Duration) -> bool {
        at < self.until
    }

    /// Ends the row after a success: the next wait is a first one.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

/// The memory of a ward about a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The contents of the block before its promotion, while the superpage exists.
    pub(super) made: Option<BlockSeen>,
    /// The maximum number of base pages that remain of the ward's broken superpage.
    pub(super) left: u16,
    /// The maximum number of base pages that remain of a broken superpage that the ward did not
    /// make. The budget counts them. [`Mark::added_bytes`] does not: the ward did not add them.
    left_found: u16,
    /// The superpage at the block, if the ward did not make it and the program did not ask for it.
    pub(super) found: Option<FoundSuperpage>,
    /// True if the rest of a superpage that the program broke must be split. The kernel may
    /// otherwise keep the superpage as a whole, including the pages that the program returned.
    to_split: bool,
    /// The wait after the program broke a superpage of this block.
    broken: Patience,
    /// The wait after a refusal of the kernel, and the refusal.
    rest: Patience,
    refused: Option<Refusal>,
    /// The wait after a demotion. A new promotion does not end it: a block that is promoted and
    /// demoted in turn costs twice.
    taken: Patience,
    /// The reasons of its refusals, one bit each.
    reasons: u64,
}

impl Mark {
    /// Returns the bytes that the superpage added.
    pub(super) const fn added_bytes(&self) -> u64 {
        match &self.made {
            Some(before) => BLOCK_BYTES - before.present as u64 * PAGE_BYTES,
            None => self.left as u64 * PAGE_BYTES,
        }
    }

    /// Returns the bytes that count against the budget: the ward's, and those of superpages that it
    /// found.
    pub(super) fn charged_bytes(&self) -> u64 {
        let found = self.found.map_or(0, |found| found.pages);
        self.added_bytes() + u64::from(found + self.left_found) * PAGE_BYTES
    }

    /// Returns the base pages that remain of broken superpages, found superpages included.
    pub(super) const fn all_left(&self) -> u16 {
        self.left + self.left_found
    }

    /// Returns true if the rest of a superpage that the program broke can be given back.
    pub(super) fn is_left_over(&self, at: Duration) -> bool {
        self.to_split && !self.rest.waits(at)
    }

    /// Takes in the present contents of the block.
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

    /// Returns true if the block is promoted only when full. The program broke a superpage here, so
    /// its allocator gives pages back and would do so again.
    pub(super) const fn is_full_only(&self) -> bool {
        self.broken.times > 0
    }

    /// Returns the reason if no attempt is made yet.
    pub(super) fn waits(&self, at: Duration) -> Option<Refusal> {
        if self.broken.waits(at) {
            Some(Refusal::SplitByProgram)
        } else if self.rest.waits(at) {
            // The refusal is the reason for this wait. Another reason would count the block twice.
            self.refused
        } else if self.taken.waits(at) {
            Some(Refusal::BackingOff)
        } else {
            None
        }
    }

    /// Notes that the superpage is broken, but not by the ward. Returns true if the program gave
    /// pages back.
    ///
    /// If pages are missing, the program returned them and would do so again. If no page is
    /// missing, the program may have stored to memory that a fork shares, and the ward learns
    /// nothing. The added pages remain, less the returned pages.
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

    /// Notes that the superpage was demoted, with the present contents of the block. If no page of
    /// zeroes resulted, the kernel may have kept all added pages, as it does before Linux 6.12.
    /// Then the pages still count, and the ward does not demote again.
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

    /// Notes a promotion.
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

    /// Notes a refusal of the kernel, or an attempt that would have done harm. The length of the
    /// wait depends on the chance that the reason ends soon.
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

    /// Notes a reason. Returns true if it is the first time for this block.
    pub(super) const fn is_first(&mut self, reason: Refusal) -> bool {
        let bit = 1 << reason as u32;
        let first = self.reasons & bit == 0;
        self.reasons |= bit;
        first
    }
}
