//! Exact LRU: the translation whose last use is longest ago makes room.

use super::{Replace, Replacement};
use broadleaf_units::Described;

pub(super) static LRU: Replacement = Replacement {
    described: Described {
        name: "lru",
        summary: "the translation whose last use is longest ago makes room",
        explanation: "Each set keeps the exact order of last use. A hit and a fill make a \
                      translation the newest of its set.",
        source: "Talluri 1995, section 3.1; Zhu 2018, section 4.2",
    },
    rule: &Lru,
};

/// The words of a set list its ways, newest first.
struct Lru;

impl Lru {
    fn renew(order: &mut [u16], way: usize) {
        if let Some(at) = order.iter().position(|other| usize::from(*other) == way) {
            order[..=at].rotate_right(1);
        }
    }
}

impl Replace for Lru {
    fn start(&self, order: &mut [u16]) {
        (0..).zip(order).for_each(|(way, word)| *word = way);
    }

    fn hit(&self, order: &mut [u16], way: usize) {
        Self::renew(order, way);
    }

    fn fill(&self, order: &mut [u16], way: usize) {
        Self::renew(order, way);
    }

    fn victim(&self, order: &mut [u16]) -> usize {
        order.last().copied().map_or(0, usize::from)
    }
}
