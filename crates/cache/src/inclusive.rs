//! Levels that hold all lines of the levels above.

use super::{CacheKind, CacheLines, LineMovement, MissedLine};
use broadleaf_units::Described;

pub(super) static INCLUSIVE: CacheKind = CacheKind {
    described: Described {
        name: "inclusive",
        summary: "a level holds all lines of the levels above it",
        explanation: "Each level that missed a line loads it. A line that leaves a level leaves \
                      all levels above too, of all cores that use the level. If one of these \
                      copies is modified, the line is written to the next level.",
        source: "Baer and Wang 1988, section 2",
    },
    movement: Some(&Inclusive),
};

struct Inclusive;

impl LineMovement for Inclusive {
    fn fill(&self, lines: &mut CacheLines, missed: &MissedLine) {
        for level in (missed.first..missed.found).rev() {
            if let Some(left) = lines.put(missed, level, missed.entry_at(level)) {
                let left = lines.drop_above(missed, level, left);
                if left.is_modified() {
                    lines.write_back(missed, level, left);
                }
            }
        }
    }
}
