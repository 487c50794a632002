//! A made-up rule: the newest translation of a full set makes room.

use super::{Replace, Replacement};
use broadleaf_units::Described;

pub(super) static NEWEST: Replacement = Replacement {
    described: Described {
        name: "newest",
        summary: "the newest translation of a full set makes room",
        explanation: "Translations that came first stay until they are stale.",
        source: "the test of the recipes",
    },
    rule: &Newest,
};

/// The first word of a set is the way that was filled last.
struct Newest;

impl Replace for Newest {
    fn start(&self, _order: &mut [u16]) {}

    fn hit(&self, _order: &mut [u16], _way: usize) {}

    fn fill(&self, order: &mut [u16], way: usize) {
        order[0] = way as u16;
    }

    fn victim(&self, order: &mut [u16]) -> usize {
        order[0].into()
    }
}
