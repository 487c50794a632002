//! DRRIP: a duel of two predictions for new lines.

use super::predictions::{BITS, Predictions};
use super::{LineReplacement, LineRule};
use crate::sets::Sets;
use alloc::format;
use alloc::string::String;
use broadleaf_units::Described;

pub(super) static DRRIP: LineReplacement = LineReplacement {
    described: Described {
        name: "drrip",
        summary: "srrip, and lines that are not expected back where that misses less",
        explanation: "Of each group of sets (a 32nd of the cache, at least two sets), the first \
                      set fills as srrip does. The second set predicts the largest distance for \
                      new lines, and for each 32nd of them the largest but one. A counter of 10 \
                      bits compares the misses of these sets, and the other sets fill as the \
                      better of the two.",
        source: "Jaleel 2010, sections 4 and 5 (DRRIP); Qureshi 2007 (set dueling)",
    },
    parameters: &[BITS],
    refuses,
    build: |shape| {
        let bits = shape.number(&BITS);
        let rule = Drrip {
            predictions: Predictions::new(shape.sets, shape.ways, bits),
            group_mask: (shape.sets / LEADERS).max(2) - 1,
            balance: MIDDLE,
            distant_fills: 0,
        };
        Sets::boxed(shape, rule)
    },
};

/// The sets that lead for each of the two fills.
const LEADERS: usize = 32;
/// The middle and the largest value of the counter of misses.
const MIDDLE: u32 = 512;
const LARGEST: u32 = 1023;
/// The number of fills of which one is near. The others are distant.
const ONE_NEARER_IN: u32 = 32;

fn refuses(sets: usize, _ways: usize) -> Option<String> {
    let message = || format!("two sets fill differently and compare, and the cache has {sets}");
    (sets < 2).then(message)
}

#[derive(Debug)]
struct Drrip {
    predictions: Predictions,
    /// The set number inside a group.
    group_mask: usize,
    /// Large if the sets that fill as SRRIP miss more.
    balance: u32,
    /// The fills that predicted the largest distance, modulo 32.
    distant_fills: u32,
}

impl LineRule for Drrip {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        self.predictions.set(set, way, 0);
    }

    #[inline]
    fn miss(&mut self, set: usize) {
        match set & self.group_mask {
            0 => self.balance = (self.balance + 1).min(LARGEST),
            1 => self.balance = self.balance.saturating_sub(1),
            _ => {}
        }
    }

    #[inline]
    fn fill(&mut self, set: usize, way: usize) {
        let is_distant = match set & self.group_mask {
            0 => false,
            1 => true,
            _ => self.balance > MIDDLE,
        };
        let mut distance = self.predictions.farthest;
        if is_distant {
            self.distant_fills = (self.distant_fills + 1) % ONE_NEARER_IN;
        }
        if !is_distant || self.distant_fills == 0 {
            distance -= 1;
        }
        self.predictions.set(set, way, distance);
    }

    fn counts_repeats(&self) -> bool {
        // The hit after a fill predicts a near use.
        true
    }

    #[inline]
    fn victim(&mut self, set: usize) -> usize {
        self.predictions.victim(set)
    }
}
