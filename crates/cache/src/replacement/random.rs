//! Random replacement.

use super::{LineReplacement, LineRule, any_shape};
use crate::sets::Sets;
use broadleaf_units::{Described, SplitMix64, StructureParameter};

/// The range has the integers of TOML.
const SEED: StructureParameter = StructureParameter::number(
    "seed",
    (0, i64::MAX as u64),
    1,
    "the beginning of the random numbers",
);

pub(super) static RANDOM: LineReplacement = LineReplacement {
    described: Described {
        name: "random",
        summary: "any line makes room",
        explanation: "Each line of a full set is as likely as any other. The numbers come \
                      from SplitMix64, which begins at the key seed (1 by default). Caches with \
                      equal seeds draw equal numbers.",
        source: "Hennessy and Patterson 2017, appendix B.1",
    },
    parameters: &[SEED],
    refuses: any_shape,
    build: |shape| {
        let rule = Random {
            ways: shape.ways as u64,
            numbers: SplitMix64::new(shape.number(&SEED)),
        };
        Sets::boxed(shape, rule)
    },
};

#[derive(Debug)]
struct Random {
    ways: u64,
    numbers: SplitMix64,
}

impl LineRule for Random {
    #[inline]
    fn hit(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn fill(&mut self, _set: usize, _way: usize) {}

    #[inline]
    fn victim(&mut self, _set: usize) -> usize {
        self.numbers.below(self.ways) as usize
    }
}
