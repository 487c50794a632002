//! Not last used: round robin that passes the entry that was used last.

use super::{Replace, Replacement, WayUse, any_ways, first_free};
use broadleaf_units::Described;

pub(super) static NOT_LAST_USED: Replacement = Replacement {
    described: Described {
        name: "not-last-used",
        summary: "a pointer goes round the set and never stays at the entry that was used last",
        explanation: "A new translation takes the entry at the pointer, whether the entry is used \
                       or not. The pointer moves to the next entry after a fill, and after a hit \
                       of the entry that it points to.",
        source: "Alpha 21164 Hardware Reference Manual, sections 5.1.2 and 5.2.3",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    build: |shape| {
        Box::new(NotLastUsed {
            ways: shape.ways,
            pointers: vec![0; shape.sets],
        })
    },
};

/// The entry of each set that the next translation takes.
#[derive(Clone, Debug)]
struct NotLastUsed {
    ways: usize,
    pointers: Vec<usize>,
}

impl Replace for NotLastUsed {
    fn hit(&mut self, set: usize, way: usize) {
        if self.pointers[set] == way {
            self.fill(set, way);
        }
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.pointers[set] = (way + 1) % self.ways;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        first_free(ways, self.pointers[set])
    }

    fn fills_unused_first(&self) -> bool {
        false
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
