//! A made-up rule: the last way always makes room.

use super::{LineReplacement, LineRule, any_shape};
use crate::sets::Sets;
use broadleaf_units::Described;

pub(super) static LAST_WAY: LineReplacement = LineReplacement {
    described: Described {
        name: "last-way",
        summary: "the last way makes room",
        explanation: "The other ways keep their first lines.",
        source: "the test of the recipes",
    },
    parameters: &[],
    refuses: any_shape,
    build: |shape| Sets::boxed(shape, LastWay(shape.ways - 1)),
};

#[derive(Debug)]
struct LastWay(usize);

impl LineRule for LastWay {
    fn hit(&mut self, _set: usize, _way: usize) {}

    fn fill(&mut self, _set: usize, _way: usize) {}

    fn victim(&mut self, _set: usize) -> usize {
        self.0
    }
}
