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
    build: |shape| {
        let rule = Lru {
            ways: shape.ways,
            times: vec![0; shape.sets * shape.ways],
            now: 0,
        };
        Sets::boxed(shape, rule)
    },
};

/// The time of each line's last use, set after set. Times are counts of uses: 64 bits never wrap.
#[derive(Debug)]
struct Lru {
    ways: usize,
    times: Vec<u64>,
    now: u64,
}

impl LineRule for Lru {
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
