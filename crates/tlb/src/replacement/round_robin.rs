//! Round robin: a pointer that each fill moves, used entries or not. The rule not-last-used moves
//! it after a hit too.

use super::{Replace, Replacement, RuleShape, WayUse, any_ways, first_free, keeps_none};
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
    ignores_hits: true,
    keeps_last: keeps_none,
    build: |shape| Box::new(SetPointers::new(shape, false)),
};

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
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| Box::new(SetPointers::new(shape, true)),
};

/// The entry of each set that the next translation takes.
#[derive(Clone, Debug)]
struct SetPointers {
    ways: usize,
    pointers: Vec<usize>,
    /// True if a hit moves the pointer away from its entry.
    passes_hits: bool,
    /// How often a pointer moved.
    moves: u64,
}

impl SetPointers {
    fn new(shape: &RuleShape<'_>, passes_hits: bool) -> Self {
        Self {
            ways: shape.ways,
            pointers: vec![0; shape.sets],
            passes_hits,
            moves: 0,
        }
    }
}

impl Replace for SetPointers {
    fn hit(&mut self, set: usize, way: usize) {
        if self.passes_hits && self.pointers[set] == way {
            self.fill(set, way);
        }
    }

    fn fill(&mut self, set: usize, way: usize) {
        self.pointers[set] = (way + 1) % self.ways;
        self.moves += 1;
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        first_free(ways, self.pointers[set])
    }

    fn fills_unused_first(&self) -> bool {
        false
    }

    fn quiet_epoch(&self) -> Option<u64> {
        // Only a hit of the entry at the pointer changes anything, and it moves the pointer away.
        Some(if self.passes_hits { self.moves } else { 0 })
    }

    fn is_quiet_by_set(&self) -> bool {
        self.passes_hits
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
