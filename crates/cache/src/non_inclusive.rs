//! Levels that hold lines independently of each other.

use super::{CacheKind, CacheLines, LineMovement, MissedLine};
use broadleaf_units::Described;

pub(super) static NON_INCLUSIVE: CacheKind = CacheKind {
    described: Described {
        name: "non-inclusive",
        summary: "a missing line goes into all levels, and leaves each level by itself",
        explanation: "Each level that missed a line loads it. A line that leaves a level stays in \
                      the others. A modified line is written to the next level, which loads it if \
                      the line is not there.",
        source: "Jaleel 2010a (Achieving Non-Inclusive Cache Performance), section 2",
    },
    movement: Some(&NonInclusive),
};

struct NonInclusive;

impl LineMovement for NonInclusive {
    fn fill(&self, lines: &mut CacheLines, missed: &MissedLine) {
        for level in (missed.first..missed.found).rev() {
            if let Some(left) = lines.put(missed, level, missed.entry_at(level))
                && left.is_modified()
            {
                lines.write_back(missed, level, left);
            }
        }
    }
}
