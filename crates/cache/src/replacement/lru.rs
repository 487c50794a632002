//! Exact LRU.

use super::{LineReplacement, LineRule, any_shape};
use crate::sets::Sets;
use alloc::vec;
use alloc::vec::Vec;
use broadleaf_units::Described;

pub(super) static LRU: LineReplacement = LineReplacement {
    described: Described {
        name: "lru",
        summary: "the line whose last use is longest ago makes room",
        explanation: "A hit and a fill are uses. A line that a level above writes back is used \
                      only if it is loaded anew.",
        source: "Hennessy and Patterson 2017, appendix B.1",
    },
    parameters: &[],
    refuses: any_shape,
    build: |shape| match shape.ways {
        ..=MOST_ORDERED => Sets::boxed(shape, Ordered::new(shape.sets, shape.ways)),
        _ => {
            let rule = Timed {
                ways: shape.ways,
                times: vec![0; shape.sets * shape.ways],
                now: 0,
            };
            Sets::boxed(shape, rule)
        }
    },
};

/// The bits of a way's number in the order of a set.
const BITS: u32 = 4;
/// The most ways whose order is one word.
const MOST_ORDERED: usize = (u64::BITS / BITS) as usize;
/// The number 1 in each place of an order.
const ONES: u64 = u64::MAX / 15;

/// The ways of each set in the order of their last use, the newest in the lowest bits. Numbers that
/// are no ways are above all ways.
#[derive(Debug)]
struct Ordered {
    orders: Vec<u64>,
    /// The place of the oldest way.
    last: u32,
}

impl Ordered {
    fn new(sets: usize, ways: usize) -> Self {
        let first = (0..MOST_ORDERED as u64).map(|way| way << (BITS * way as u32));
        Self {
            orders: vec![first.sum(); sets],
            last: BITS * (ways as u32 - 1),
        }
    }
}

impl LineRule for Ordered {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        let order = &mut self.orders[set];
        // The lowest place with a zero is the way's. Borrows change the places above alone.
        let differences = *order ^ (way as u64 * ONES);
        let zeros = differences.wrapping_sub(ONES) & !differences & (ONES << (BITS - 1));
        let place = zeros.trailing_zeros() & !(BITS - 1);
        let newer = *order & ((1 << place) - 1);
        let older = *order & (u64::MAX - 0xf) << place;
        *order = older | newer << BITS | way as u64;
    }

    #[inline]
    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    #[inline]
    fn newest(&self, set: usize) -> Option<usize> {
        Some((self.orders[set] & 0xf) as usize)
    }

    #[inline]
    fn victim(&mut self, set: usize) -> usize {
        (self.orders[set] >> self.last & 0xf) as usize
    }
}

/// The time of each line's last use, set after set. Times are counts of uses: 64 bits never wrap.
#[derive(Debug)]
struct Timed {
    ways: usize,
    times: Vec<u64>,
    now: u64,
}

impl LineRule for Timed {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        self.now += 1;
        self.times[set * self.ways + way] = self.now;
    }

    #[inline]
    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    #[inline]
    fn victim(&mut self, set: usize) -> usize {
        let first = set * self.ways;
        let times = &self.times[first..first + self.ways];
        let (mut way, mut oldest) = (0, u64::MAX);
        for (number, time) in times.iter().enumerate() {
            if *time < oldest {
                (way, oldest) = (number, *time);
            }
        }
        way
    }
}
