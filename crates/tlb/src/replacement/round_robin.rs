//! Round robin: a pointer that each fill moves, used entries or not.

use super::{Replace, Replacement, WayUse, any_ways, first_free};
use broadleaf_units::Described;

pub(super) static ROUND_ROBIN: Replacement = Replacement {
    described: Described {
        name: "round-robin",
        summary: "a pointer goes round the set, one entry at each fill",
        explanation: "A new translation takes the entry at the pointer, whether the entry is used \
                       or not, and moves the pointer to the next entry. A hit changes nothing.",
        source: "Alpha 21264/EV68A manual, section 5.2.1; the source text of the T-Head C910",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    build: |shape| {
        Box::new(RoundRobin {
            ways: shape.ways,
            pointers: vec![0; shape.sets],
        })
    },
};

/// The entry of each set that the next translation takes.
#[derive(Clone, Debug)]
struct RoundRobin {
    ways: usize,
    pointers: Vec<usize>,
}

impl Replace for RoundRobin {
    fn hit(&mut self, _set: usize, _way: usize) {}

    fn fill(&mut self, set: usize, way: usize) {
        self.pointers[set] = (way + 1) % self.ways;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        first_free(ways, self.pointers[set])
    }

    fn fills_unused_first(&self) -> bool {
        false
    }

    fn quiet_epoch(&self) -> Option<u64> {
        // Hits change nothing.
        Some(0)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
