//! Exact LRU: the translation whose last use is longest ago makes room.

use super::parts::ages::WayAges;
use super::{Replace, Replacement, WayUse, any_ways};
use broadleaf_units::Described;

pub(super) static LRU: Replacement = Replacement {
    described: Described {
        name: "lru",
        summary: "the translation whose last use is longest ago makes room",
        explanation: "Each set keeps the exact order of last use. A hit and a fill make a \
                      translation the newest of its set.",
        source: "Talluri 1995, section 3.1; Zhu 2018, section 4.2",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    ignores_hits: false,
    keeps_last: Some,
    build: |shape| Box::new(Lru(WayAges::new(shape.sets, shape.ways))),
};

/// The ages of the ways since their last use.
#[derive(Clone, Debug)]
struct Lru(WayAges);

impl Replace for Lru {
    fn hit(&mut self, set: usize, way: usize) {
        self.0.renew(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.0.renew(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        self.0.oldest(set, ways)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
