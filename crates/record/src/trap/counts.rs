//! What the engine counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapCounts {
    /// References that missed the first level: each trapped.
    pub first_misses: u64,
    /// References that missed the first level and hit the second.
    pub second_hits: u64,
    /// References that missed two levels and hit the third.
    pub third_hits: u64,
    /// References that missed every level.
    pub walks: u64,
    /// Walks that ended at a superpage.
    pub superpage_walks: u64,
    /// Walks for a page whose block has an entry without the page.
    pub subblock_misses: u64,
    /// System calls of the program.
    pub calls: u64,
    /// System calls for which the engine opened every page, since it does not know their arguments.
    pub opened_for_calls: u64,
    /// Instructions that were executed with every page open, since they needed more pages than the
    /// TLB has entries.
    pub steps: u64,
    /// Threads that the program started.
    pub threads: u64,
    /// Processes that the program started. Their misses do not count.
    pub processes: u64,
    /// Programs that replaced the first one, whose misses count too.
    pub programs: u64,
    /// 1 if the kernel replaced the program by one that the engine could not load: counting ended
    /// then.
    pub replaced: u64,
    /// The error number of a page that could not be opened or closed; 0 for none. The counts are
    /// worthless then.
    pub failed: u64,
}

const FIELDS: usize = 14;

impl TrapCounts {
    const fn fields(&self) -> [u64; FIELDS] {
        [
            self.first_misses,
            self.second_hits,
            self.third_hits,
            self.walks,
            self.superpage_walks,
            self.subblock_misses,
            self.calls,
            self.opened_for_calls,
            self.steps,
            self.threads,
            self.processes,
            self.programs,
            self.replaced,
            self.failed,
        ]
    }

    const fn from_fields(fields: [u64; FIELDS]) -> Self {
        let [
            first_misses,
            second_hits,
            third_hits,
            walks,
            superpage_walks,
            subblock_misses,
            calls,
            opened_for_calls,
            steps,
            threads,
            processes,
            programs,
            replaced,
            failed,
        ] = fields;
        Self {
            first_misses,
            second_hits,
            third_hits,
            walks,
            superpage_walks,
            subblock_misses,
            calls,
            opened_for_calls,
            steps,
            threads,
            processes,
            programs,
            replaced,
            failed,
        }
    }
}

/// Counts in memory that the program's process and its parent share.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct SharedCounts([AtomicU64; FIELDS]);

impl SharedCounts {
    /// Shows the counts to the parent.
    pub(super) fn show(&self, counts: &TrapCounts) {
        // Each miss comes here. An array by value would be moved through an iterator.
        let fields = counts.fields();
        for (shared, count) in self.0.iter().zip(&fields) {
            shared.store(*count, Ordering::Relaxed);
        }
    }

    /// The counts that were shown last.
    pub(super) fn seen(&self) -> TrapCounts {
        let fields = std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed));
        TrapCounts::from_fields(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_sees_every_count() {
        let fields = std::array::from_fn(|at| at as u64 + 1);
        let counts = TrapCounts::from_fields(fields);
        assert_eq!(counts.fields(), fields);
        let shared = SharedCounts::default();
        shared.show(&counts);
        assert_eq!(shared.seen(), counts);
    }
}
