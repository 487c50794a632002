//! Clock: a second chance for used entries, with a hand that goes round the set.

use super::parts::used_bits::UsedBits;
use super::{Replace, Replacement, WayUse, any_ways, first_free, keeps_none};
use broadleaf_units::Described;

pub(super) static CLOCK: Replacement = Replacement {
    described: Described {
        name: "clock",
        summary: "a hand goes round and passes used entries once",
        explanation: "Each entry has a used bit, which a hit and a fill set. A hand goes round \
                       the set from the entry after the last one that made room. It clears the \
                       used bit of each entry that it passes, and stops after the first entry \
                       whose bit was clear.",
        source: "Talluri 1995, section 5.1; decision 1",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    ignores_hits: false,
    keeps_last: keeps_none,
    build: |shape| {
        Box::new(Clock {
            used: UsedBits::new(shape),
            hands: vec![0; shape.sets],
        })
    },
};

/// The used bits of all sets, and the hand of each set.
#[derive(Clone, Debug)]
struct Clock {
    used: UsedBits,
    hands: Vec<usize>,
}

impl Replace for Clock {
    fn hit(&mut self, set: usize, way: usize) {
        self.used.set(set, way);
    }

    fn fill(&mut self, set: usize, way: usize) {
        // The access that missed is tried again, and hits.
        self.hit(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        let hand = &mut self.hands[set];
        loop {
            let way = first_free(ways, *hand);
            *hand = (way + 1) % ways.len();
            if !self.used.clear(set, way) {
                return way;
            }
        }
    }

    fn quiet_epoch(&self) -> Option<u64> {
        Some(self.used.clears())
    }

    fn is_quiet_by_set(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
