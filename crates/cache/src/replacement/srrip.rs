//! SRRIP: predictions of the next use, in a few bits for each line.

use super::predictions::{BITS, Predictions};
use super::{LineReplacement, LineRule, any_shape};
use crate::sets::Sets;
use broadleaf_units::Described;

pub(super) static SRRIP: LineReplacement = LineReplacement {
    described: Described {
        name: "srrip",
        summary: "the first line whose next use is predicted farthest makes room",
        explanation: "Each line predicts the distance of its next use by a number of a few bits \
                      (the key bits, 2 by default). A hit sets the number to 0, and a fill to the \
                      largest but one. The first line with the largest number makes room. If there \
                      is none, all numbers of the set grow by one until there is.",
        source: "Jaleel 2010, section 4 (SRRIP with hit priority)",
    },
    parameters: &[BITS],
    refuses: any_shape,
    build: |shape| {
        let bits = shape.number(&BITS);
        let rule = Srrip(Predictions::new(shape.sets, shape.ways, bits));
        Sets::boxed(shape, rule)
    },
};

#[derive(Debug)]
struct Srrip(Predictions);

impl LineRule for Srrip {
    #[inline]
    fn hit(&mut self, set: usize, way: usize) {
        self.0.set(set, way, 0);
    }

    #[inline]
    fn fill(&mut self, set: usize, way: usize) {
        self.0.set(set, way, self.0.farthest - 1);
    }

    fn counts_repeats(&self) -> bool {
        // The hit after a fill predicts a near use.
        true
    }

    #[inline]
    fn victim(&mut self, set: usize) -> usize {
        self.0.victim(set)
    }
}
