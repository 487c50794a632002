//! Bit-PLRU: a used bit for each entry; the last bit to be set clears the others.

use super::{Replace, Replacement, WayUse, any_ways, first_free, free_ways};
use broadleaf_units::Described;

pub(super) static BIT_PLRU: Replacement = Replacement {
    described: Described {
        name: "bit-plru",
        summary: "the first entry without a used bit makes room; the last bit set clears the rest",
        explanation: "Each entry has a used bit, which a hit and a fill set. When the last bit of \
                       a set is set, all others are cleared. The first entry whose bit is clear \
                       makes room. Some works call the rule NRU or MRU.",
        source: "Malamy, Patel and Hayes 1994; DynamoRIO, the TLB simulator's policy bit-PLRU",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    build: |shape| {
        Box::new(BitPlru {
            ways: shape.ways,
            wired: shape.wired,
            used: vec![false; shape.sets * shape.ways],
        })
    },
};

/// The used bits, set after set.
#[derive(Clone, Debug)]
struct BitPlru {
    ways: usize,
    /// The first ways of each set, which are locked and never used.
    wired: usize,
    used: Vec<bool>,
}

impl Replace for BitPlru {
    fn hit(&mut self, set: usize, way: usize) {
        let used = &mut self.used[set * self.ways..][..self.ways];
        used[way] = true;
        if used[self.wired..].iter().all(|used| *used) {
            used.fill(false);
            used[way] = true;
        }
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let used = &self.used[set * self.ways..];
        let unused = free_ways(ways).find(|way| !used[*way]);
        // Locked entries alone may have clear bits.
        unused.unwrap_or_else(|| first_free(ways, 0))
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
