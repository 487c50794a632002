//! SRRIP: predictions of the next use, in a few bits for each entry.

use super::{Replace, Replacement, RuleNeed, WayUse, any_ways, free_ways, keeps_none};
use crate::StructureParameter;
use broadleaf_units::Described;

const BITS: StructureParameter =
    StructureParameter::number("bits", (1, 8), 2, "the bits of a prediction");

pub(super) static SRRIP: Replacement = Replacement {
    described: Described {
        name: "srrip",
        summary: "the first entry whose next use is predicted farthest makes room",
        explanation: "Each entry predicts the distance of its next use by a number of a few bits \
                      (the key bits, 2 by default). A hit sets the number to 0, and a fill to \
                      the largest but one. The first entry with the largest number makes room. \
                      If there is none, all numbers grow by one until there is.",
        source: "Jaleel 2010, section 4 (SRRIP with hit priority)",
    },
    parameters: &[BITS],
    refuses: any_ways,
    needs: &[RuleNeed::Uses],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| {
        let farthest = u8::MAX >> (8 - shape.number(&BITS));
        Box::new(Srrip {
            ways: shape.ways,
            distances: vec![farthest; shape.sets * shape.ways],
            farthest,
            agings: 0,
        })
    },
};

/// The predictions, set after set.
#[derive(Clone, Debug)]
struct Srrip {
    ways: usize,
    distances: Vec<u8>,
    farthest: u8,
    /// The number of times that the predictions of a set grew.
    agings: u64,
}

impl Replace for Srrip {
    fn hit(&mut self, set: usize, way: usize) {
        self.distances[set * self.ways + way] = 0;
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.distances[set * self.ways + way] = self.farthest - 1;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let distances = &mut self.distances[set * self.ways..];
        // The first of the largest: `max_by_key` returns the last.
        let victim = free_ways(ways).min_by_key(|way| u8::MAX - distances[*way]);
        let victim = victim.unwrap_or(0);
        let missing = self.farthest - distances[victim];
        if missing > 0 {
            free_ways(ways).for_each(|way| distances[way] += missing);
            self.agings += 1;
        }
        victim
    }

    fn repeat(&mut self, set: usize, way: usize, _times: u64) {
        // The uses after a fill are hits.
        self.hit(set, way);
    }

    fn quiet_epoch(&self) -> Option<u64> {
        Some(self.agings)
    }

    fn is_quiet_by_set(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
