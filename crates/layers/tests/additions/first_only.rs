//! A made-up hierarchy: a missing line goes into the first level alone.

use super::{CacheKind, CacheLines, LineMovement, MissedLine};
use broadleaf_units::Described;

pub(super) static FIRST_ONLY: CacheKind = CacheKind {
    described: Described {
        name: "first-only",
        summary: "lower levels hold modified lines alone",
        explanation: "A modified line that leaves the first level goes to the second.",
        source: "the test of the recipes",
    },
    movement: Some(&FirstOnly),
};

struct FirstOnly;

impl LineMovement for FirstOnly {
    fn fill(&self, lines: &mut CacheLines, missed: &MissedLine) {
        let entry = missed.entry_at(missed.first);
        if let Some(left) = lines.put(missed, missed.first, entry)
            && left.is_modified()
        {
            lines.write_back(missed, missed.first, left);
        }
    }
}
