//! Levels of which one at a time holds a line.

use super::{CacheKind, CacheLines, LineMovement, MissedLine};
use broadleaf_units::Described;

pub(super) static EXCLUSIVE: CacheKind = CacheKind {
    described: Described {
        name: "exclusive",
        summary: "one level holds a line: a level receives the lines that the level above loses",
        explanation: "A missing line goes into the first level alone. A line that leaves a level \
                      goes into the next level, modified or not. A hit below the first level moves \
                      the line up. Lines that several cores use can be in several caches.",
        source: "Jouppi and Wilton 1994, section 2",
    },
    movement: Some(&Exclusive),
};

struct Exclusive;

impl LineMovement for Exclusive {
    fn takes_hits(&self) -> bool {
        true
    }

    fn fill(&self, lines: &mut CacheLines, missed: &MissedLine) {
        let mut entry = missed.entry_at(missed.first);
        for level in missed.first.. {
            let Some(left) = lines.put(missed, level, entry) else {
                return;
            };
            if level + 1 == lines.levels() {
                if left.is_modified() {
                    lines.write_back(missed, level, left);
                }
                return;
            }
            lines.note_written(level, left);
            entry = left;
        }
    }
}
