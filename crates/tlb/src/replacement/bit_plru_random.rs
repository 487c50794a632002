//! Bit-PLRU that draws among the entries without a used bit.

use super::parts::mersenne::MersenneTwister;
use super::parts::used_bits::UsedBits;
use super::{Replace, Replacement, WayUse, any_ways, free_ways, keeps_none};
use crate::StructureParameter;
use broadleaf_units::Described;

/// The range has the seeds of MT19937.
const SEED: StructureParameter = StructureParameter::number(
    "seed",
    (0, u32::MAX as u64),
    1,
    "the beginning of the random numbers",
);

pub(super) static BIT_PLRU_RANDOM: Replacement = Replacement {
    described: Described {
        name: "bit-plru-random",
        summary: "a random entry without a used bit makes room; the last bit set clears the rest",
        explanation: "The used bits are those of bit-plru. Among the entries whose bit is clear, \
                      a random one makes room. The numbers come from MT19937, which begins at \
                      the key seed (1 by default): the remainder of a number by the count of \
                      these entries. Structures with equal seeds draw equal numbers.",
        source: "DynamoRIO, the TLB simulator's policy BIT_PLRU",
    },
    parameters: &[SEED],
    refuses: any_ways,
    needs: &[],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| {
        Box::new(BitPlruRandom {
            bits: UsedBits::new(shape),
            // The range of the parameter ends at the largest seed.
            numbers: MersenneTwister::new(shape.number(&SEED) as u32),
        })
    },
};

/// The used bits, and the random numbers of all sets.
#[derive(Clone, Debug)]
struct BitPlruRandom {
    bits: UsedBits,
    numbers: MersenneTwister,
}

impl Replace for BitPlruRandom {
    fn hit(&mut self, set: usize, way: usize) {
        self.bits.set_in_turn(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.bits.set_in_turn(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let used = self.bits.of(set);
        let has_unused = free_ways(ways).any(|way| !used[way]);
        // Locked entries alone may have clear bits, and the bit of a set's only entry is set.
        let may_leave = |way: &usize| !has_unused || !used[*way];
        let count = free_ways(ways).filter(may_leave).count();
        let drawn = self.numbers.next() as usize % count.max(1);
        let mut candidates = free_ways(ways).filter(may_leave);
        candidates.nth(drawn).unwrap_or(0)
    }

    fn quiet_epoch(&self) -> Option<u64> {
        Some(self.bits.clears())
    }

    fn is_quiet_by_set(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
