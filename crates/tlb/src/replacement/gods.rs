//! GODS, also called 1-bit LRU: a used bit for each entry, all cleared when every entry was used.

use super::{Replace, Replacement, WayUse, any_ways, first_free, free_ways};
use broadleaf_units::Described;

pub(super) static GODS: Replacement = Replacement {
    described: Described {
        name: "gods",
        summary: "the first unused entry makes room; used bits are cleared when all are set",
        explanation: "Each entry has a used bit, which a hit and a fill set. The first entry that \
                       is neither used nor locked makes room. If there is none, all used bits are \
                       cleared and the search is repeated. Talluri calls the rule go down stack; \
                       the manuals of SuperSPARC and UltraSPARC call it 1-bit LRU.",
        source: "Talluri 1995, section 5.1; UltraSPARC User's Manual, section 6.11.2",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    build: |shape| {
        Box::new(Gods {
            ways: shape.ways,
            used: vec![false; shape.sets * shape.ways],
            clears: 0,
        })
    },
};

/// The used bits, set after set.
#[derive(Clone, Debug)]
struct Gods {
    ways: usize,
    used: Vec<bool>,
    /// How often used bits were cleared.
    clears: u64,
}

impl Replace for Gods {
    fn hit(&mut self, set: usize, way: usize) {
        self.used[set * self.ways + way] = true;
    }

    fn fill(&mut self, set: usize, way: usize) {
        // The access that missed is tried again, and hits.
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let used = &mut self.used[set * self.ways..][..self.ways];
        if let Some(way) = free_ways(ways).find(|way| !used[*way]) {
            return way;
        }
        used.fill(false);
        self.clears += 1;
        first_free(ways, 0)
    }

    fn quiet_epoch(&self) -> Option<u64> {
        Some(self.clears)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
