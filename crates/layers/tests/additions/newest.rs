//! A made-up rule: the newest translation of a full set makes room.

use super::{Replace, Replacement, WayUse, any_ways, first_free};
use broadleaf_units::Described;

pub(super) static NEWEST: Replacement = Replacement {
    described: Described {
        name: "newest",
        summary: "the newest translation of a full set makes room",
        explanation: "Translations that came first stay until they are stale.",
        source: "the test of the recipes",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    ignores_hits: true,
    keeps_last: |_| None,
    build: |shape| {
        let last = vec![0; shape.sets];
        Box::new(Newest { last })
    },
};

/// The way of each set that was filled last.
#[derive(Clone, Debug)]
struct Newest {
    last: Vec<usize>,
}

impl Replace for Newest {
    fn hit(&mut self, _set: usize, _way: usize) {}

    fn fill(&mut self, set: usize, way: usize) {
        self.last[set] = way;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        first_free(ways, self.last[set])
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
