//! Bit-PLRU: a used bit for each entry; the last bit to be set clears the others.

use super::parts::used_bits::UsedBits;
use super::{Replace, Replacement, WayUse, any_ways, first_free, free_ways, keeps_none};
use broadleaf_units::Described;

pub(super) static BIT_PLRU: Replacement = Replacement {
    described: Described {
        name: "bit-plru",
        summary: "the first entry without a used bit makes room; the last bit set clears the rest",
        explanation: "Each entry has a used bit, which a hit and a fill set. When the last bit of \
                       a set is set, all others are cleared. The first entry whose bit is clear \
                       makes room. Some works call the rule NRU or MRU. Others draw among the \
                       entries with clear bits, as bit-plru-random does.",
        source: "Malamy, Patel and Hayes 1994",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| Box::new(BitPlru(UsedBits::new(shape))),
};

/// The used bits of all sets.
#[derive(Clone, Debug)]
struct BitPlru(UsedBits);

impl Replace for BitPlru {
    fn hit(&mut self, set: usize, way: usize) {
        self.0.set_in_turn(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.0.set_in_turn(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let used = self.0.of(set);
        let unused = free_ways(ways).find(|way| !used[*way]);
        // Locked entries alone may have clear bits.
        unused.unwrap_or_else(|| first_free(ways, 0))
    }

    fn quiet_epoch(&self) -> Option<u64> {
        Some(self.0.clears())
    }

    fn is_quiet_by_set(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
