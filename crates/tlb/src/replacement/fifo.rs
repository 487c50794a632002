//! FIFO: the translation that was loaded first makes room.

use super::parts::ages::WayAges;
use super::{Replace, Replacement, WayUse, any_ways, keeps_none};
use broadleaf_units::Described;

pub(super) static FIFO: Replacement = Replacement {
    described: Described {
        name: "fifo",
        summary: "the translation that was loaded first makes room",
        explanation: "A hit changes nothing. A new translation fills an unused way if there is \
                       one; this is the difference from round-robin.",
        source: "Talluri 1995, section 5.1",
    },
    parameters: &[],
    refuses: any_ways,
    needs: &[],
    ignores_hits: true,
    keeps_last: keeps_none,
    build: |shape| Box::new(Fifo(WayAges::new(shape.sets, shape.ways))),
};

/// The ages of the ways since their last fill.
#[derive(Clone, Debug)]
struct Fifo(WayAges);

impl Replace for Fifo {
    fn hit(&mut self, _set: usize, _way: usize) {}

    fn fill(&mut self, set: usize, way: usize) {
        self.0.renew(set, way);
    }

    fn victim(&mut self, set: usize, ways: &[WayUse]) -> usize {
        self.0.oldest(set, ways)
    }

    fn quiet_epoch(&self) -> Option<u64> {
        // Hits change nothing.
        Some(0)
    }

    fn copy(&self) -> Box<dyn Replace> {
        Box::new(self.clone())
    }
}
