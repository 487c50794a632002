//! Random: any entry makes room, used or not.

use super::{Replace, Replacement, WayUse, any_ways, free_ways, keeps_none};
use crate::StructureParameter;
use broadleaf_units::{Described, SplitMix64};

/// The range has the integers of TOML.
const SEED: StructureParameter = StructureParameter::number(
    "seed",
    (0, i64::MAX as u64),
    1,
    "the beginning of the random numbers",
);

pub(super) static RANDOM: Replacement = Replacement {
    described: Described {
        name: "random",
        summary: "any entry makes room, used or not",
        explanation: "Each entry that is not locked is as likely as the others, whether it holds \
                      a translation or not. The numbers come from SplitMix64, which begins at \
                      the key seed (1 by default). Structures with equal seeds draw equal \
                      numbers.",
        source: "Talluri 1995, section 5.1",
    },
    parameters: &[SEED],
    refuses: any_ways,
    needs: &[],
    ignores_hits: true,
    keeps_last: keeps_none,
    build: |shape| Box::new(Random(SplitMix64::new(shape.number(&SEED)))),
};

/// The random numbers of all sets.
#[derive(Clone, Debug)]
struct Random(SplitMix64);

impl Replace for Random {
    fn hit(&mut self, _set: usize, _way: usize) {}

    fn fill(&mut self, _set: usize, _way: usize) {}

    fn victim(&mut self, _set: usize, ways: &[WayUse]) -> usize {
        let free = free_ways(ways).count();
        let drawn = self.0.below(free as u64) as usize;
        free_ways(ways).nth(drawn).unwrap_or(0)
    }

    fn fills_unused_first(&self) -> bool {
        false
    }

    fn quiet_epoch(&self) -> Option<u64> {
        // Hits change nothing.
        Some(0)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
