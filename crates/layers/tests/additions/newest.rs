//! A made-up rule: the newest translation of a full set makes room.

use super::{Replace, Replacement, WayUse, any_ways};
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
        let last = self.last[set];
        let free = |way: &usize| ways[*way] != WayUse::Locked;
        (last..ways.len()).chain(0..last).find(free).unwrap_or(last)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
