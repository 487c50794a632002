//! The progress of a task over all its passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::watch::Work;

/// A running task leaves this part of its work until its end.
const LEFT: u64 = 50;

/// The accesses of a task's passes, some of which run at the same time. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct PassTally(Arc<PassSums>);

#[derive(Debug, Default)]
struct PassSums {
    /// The accesses of all passes that have begun.
    begun: AtomicU64,
    /// Those that are done.
    done: AtomicU64,
    /// The most work that was reported.
    reported: AtomicU64,
}

impl PassTally {
    /// A pass over this work.
    pub fn pass(&self, work: Work) -> TalliedPass {
        let accesses = match work {
            Work::Accesses(accesses) | Work::Replay { accesses, .. } => accesses,
            Work::Bytes(_) | Work::Runs(_) | Work::Unknown => 0,
        };
        TalliedPass {
            tally: self.clone(),
            accesses,
            has_begun: AtomicBool::new(false),
            known: AtomicU64::new(0),
        }
    }

    /// The accesses that are done in all passes.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// The part that is done of `all` planned work, of a task that runs. It may need more passes
    /// than were planned, so a fiftieth is left until its end.
    pub fn part_of(&self, all: u64) -> u64 {
        let begun = self.0.begun.load(Ordering::Relaxed);
        let whole = u128::from(begun.max(all).max(1));
        let part = u128::from(all) * u128::from(self.done()) / whole;
        let part = u64::try_from(part).unwrap_or(all);
        let part = part.min(all - all.div_ceil(LEFT));
        // A pass that begins adds work, but the progress never goes back.
        self.0.reported.fetch_max(part, Ordering::Relaxed).max(part)
    }
}

/// One pass of a task.
#[derive(Debug)]
pub struct TalliedPass {
    tally: PassTally,
    /// The accesses of the pass; 0 if they are not known.
    accesses: u64,
    /// A progress was reported. Some passes are announced and replaced by others.
    has_begun: AtomicBool,
    /// The accesses that the tally has of this pass.
    known: AtomicU64,
}

impl TalliedPass {
    /// Sets the accesses that the pass has done.
    pub fn set(&self, accesses: u64) {
        if accesses > 0 && !self.has_begun.swap(true, Ordering::Relaxed) {
            self.tally
                .0
                .begun
                .fetch_add(self.accesses, Ordering::Relaxed);
        }
        let known = self.known.fetch_max(accesses, Ordering::Relaxed);
        let more = accesses.saturating_sub(known);
        self.tally.0.done.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pass that was not planned makes the rest of the work longer, and nothing is undone.
    #[test]
    fn a_task_is_not_done_before_its_last_pass() {
        let tally = PassTally::default();
        let begin = || tally.pass(Work::Accesses(100));
        // This pass is announced and never begins.
        begin().set(0);
        let (first, second) = (begin(), begin());
        first.set(100);
        second.set(50);
        assert_eq!(tally.part_of(200), 150);
        let third = begin();
        third.set(1);
        assert_eq!(tally.part_of(200), 150);
        second.set(100);
        third.set(50);
        assert_eq!(tally.part_of(200), 166);
        third.set(100);
        assert_eq!(tally.part_of(200), 196);
    }

    #[test]
    fn a_short_task_leaves_its_last_access() {
        let tally = PassTally::default();
        tally.pass(Work::Accesses(7)).set(7);
        assert_eq!(tally.part_of(7), 6);
        assert_eq!(PassTally::default().part_of(0), 0);
    }
}
