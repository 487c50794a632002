//! GODS, also called 1-bit LRU: a used bit for each entry, all cleared when every entry was used.

use super::parts::used_bits::UsedBits;
use super::{Replace, Replacement, WayUse, any_ways, first_free, keeps_none};
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
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| Box::new(Gods(UsedBits::new(shape))),
};

/// The used bits of all sets.
#[derive(Clone, Debug)]
struct Gods(UsedBits);

impl Replace for Gods {
    fn hit(&mut self, set: usize, way: usize) {
        self.0.set(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        // The access that missed is tried again, and hits.
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let from = self.0.first_unset(set);
        let used = self.0.of(set);
        let is_free = |way: &usize| !used[*way] && ways[*way] != WayUse::Locked;
        if let Some(way) = (from..ways.len()).find(is_free) {
            return way;
        }
        self.0.clear_all(set);
        first_free(ways, 0)
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
