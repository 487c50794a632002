//! Blocks that were filling when the recorded run promoted them.
//!
//! A journal does not show a program's stores inside a superpage. Suppose that the recorded run
//! promoted a block at 300 pages. Without a rule, the block would hold 300 pages for ever in an
//! estimate. A policy that asks for more pages would never promote the block, although the program
//! filled it. Policies that ask for fewer pages than the recorded one would look too good, others
//! too bad. The rule: such a block continues to fill as fast as between its last two looks, until
//! it is full.

use crate::seen::{BlockSeen, PAGES};
use std::collections::BTreeMap;
use std::time::Duration;

/// The blocks of one process, as they fill.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    looks: BTreeMap<u64, Look>,
    /// Blocks in superpages of the recorded run that were filling, by number.
    hidden: BTreeMap<u64, Hidden>,
}

/// The latest observation of a block in base pages.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Duration,
    present: u16,
    /// The pages that came since the observation before, and the time between. `None` if the block
    /// was empty before: the block may have filled at once, so its speed is unknown.
    speed: Option<(u16, Duration)>,
}

#[derive(Clone, Copy, Debug)]
struct Hidden {
    since: Duration,
    from: u16,
    speed: (u16, Duration),
}

impl Hidden {
    /// Returns the pages that the block holds at a time.
    fn pages(&self, at: Duration) -> u16 {
        let (pages, time) = self.speed;
        let elapsed = at.saturating_sub(self.since).as_nanos();
        let grown = u128::from(pages) * elapsed / time.as_nanos().max(1);
        let all = PAGES as u16;
        u16::try_from(grown).map_or(all, |grown| self.from.saturating_add(grown).min(all))
    }
}

impl Growth {
    /// Takes in a block in base pages.
    pub(super) fn saw(&mut self, seen: &BlockSeen, at: Duration) {
        self.hidden.remove(&seen.block);
        let before = self.looks.get(&seen.block).copied();
        let speed = match before {
            Some(look) if look.at == at => look.speed,
            Some(look) if look.present > 0 && seen.present > look.present => {
                Some((seen.present - look.present, at - look.at))
            }
            _ => None,
        };
        let look = Look {
            at,
            present: seen.present,
            speed,
        };
        self.looks.insert(seen.block, look);
    }

    /// Notes that the recorded run promoted a block with these contents.
    pub(super) fn hid(&mut self, before: &BlockSeen, at: Duration) {
        let speed = (self.looks.remove(&before.block)).and_then(|look| look.speed);
        if let Some(speed) = speed.filter(|_| u32::from(before.present) < PAGES) {
            let hidden = Hidden {
                since: at,
                from: before.present,
                speed,
            };
            self.hidden.insert(before.block, hidden);
        }
    }

    /// Estimates the content of a block in a superpage of the recorded run, given its content
    /// before.
    pub(super) fn holds(&self, before: BlockSeen, at: Duration) -> BlockSeen {
        let hidden = self.hidden.get(&before.block);
        let pages = hidden.map_or(0, |hidden| hidden.pages(at));
        let present = before.present.max(pages);
        let room = PAGES as u16 - present;
        BlockSeen {
            present,
            zero: before.zero.min(room),
            swapped: before
                .swapped
                .min(room.saturating_sub(before.zero.min(room))),
            ..before
        }
    }

    /// Returns true if `counts` holds for any filling block.
    pub(super) fn any(&self, counts: impl Fn(u64) -> bool) -> bool {
        self.hidden.keys().any(|block| counts(*block))
    }

    /// Forgets a block.
    pub(super) fn forget(&mut self, block: u64) {
        self.looks.remove(&block);
        self.hidden.remove(&block);
    }

    /// Forgets the blocks that hold no pages any more.
    pub(super) fn retain(&mut self, holds_something: impl Fn(u64) -> bool) {
        self.looks.retain(|block, _| holds_something(*block));
        self.hidden.retain(|block, _| holds_something(*block));
    }

    /// Forgets the speed of blocks that are full at a time, since they do not change any more.
    /// Returns these blocks. The caller records their contents.
    pub(super) fn filled(&mut self, at: Duration) -> Vec<u64> {
        let full = |hidden: &Hidden| u32::from(hidden.pages(at)) == PAGES;
        let all = self.hidden.extract_if(.., |_, hidden| full(hidden));
        all.map(|(block, _)| block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn block(present: u16) -> BlockSeen {
        BlockSeen {
            present,
            ..BlockSeen::empty(7)
        }
    }

    #[test]
    fn a_block_that_was_filling_fills_on() {
        let mut growth = Growth::default();
        growth.saw(&block(100), S(1));
        growth.saw(&block(200), S(3));
        // The block filled further while other blocks were promoted.
        growth.hid(&block(210), S(3));
        let held = |growth: &Growth, at| growth.holds(block(210), S(at)).present;
        assert_eq!(
            [3, 4, 5, 60].map(|at| held(&growth, at)),
            [210, 260, 310, 512]
        );
        assert!(growth.any(|block| block == 7));
        assert!(growth.filled(S(4)).is_empty());
        assert_eq!(growth.filled(S(60)), [7]);
        growth.saw(&block(300), S(61));
        assert_eq!(held(&growth, 90), 210);
    }

    #[test]
    fn a_block_that_stood_still_or_came_at_once_stays() {
        for looks in [&[200, 200][..], &[0, 200], &[200], &[300, 200]] {
            let mut growth = Growth::default();
            for (at, present) in (1..).zip(looks) {
                growth.saw(&block(*present), S(at));
            }
            growth.hid(&block(200), S(9));
            assert_eq!(growth.holds(block(200), S(99)), block(200), "{looks:?}");
        }
    }
}
