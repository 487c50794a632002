//! LFU: the translation with the fewest uses since it was loaded makes room.

use super::{Replace, Replacement, RuleNeed, WayUse, any_ways, free_ways, keeps_none};
use broadleaf_units::Described;

pub(super) static LFU: Replacement = Replacement {
    described: Described {
        name: "lfu",
        summary: "the translation with the fewest uses makes room",
        explanation: "Each entry counts the uses of its translation since the translation was \
                       loaded. Among equal counts the first entry makes room.",
        source: "DynamoRIO, the TLB simulator's policy LFU",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[RuleNeed::Uses],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| {
        Box::new(Lfu {
            ways: shape.ways,
            uses: vec![0; shape.sets * shape.ways],
        })
    },
};

/// The uses of each entry's translation, set after set.
#[derive(Clone, Debug)]
struct Lfu {
    ways: usize,
    uses: Vec<u64>,
}

impl Replace for Lfu {
    fn hit(&mut self, set: usize, way: usize) {
        self.repeat(set, way, 1);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.uses[set * self.ways + way] = 1;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let uses = &self.uses[set * self.ways..];
        free_ways(ways).min_by_key(|way| uses[*way]).unwrap_or(0)
    }

    fn repeat(&mut self, set: usize, way: usize, times: u64) {
        let uses = &mut self.uses[set * self.ways + way];
        *uses = uses.saturating_add(times);
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
