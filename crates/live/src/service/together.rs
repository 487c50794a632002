//! The limit on the processor time that looks at all processes take together.

use std::time::{Duration, Instant};

/// Delays looks so that their share of a processor stays below a limit.
pub(super) struct LookBudget {
    /// In hundredths of a percent of a processor.
    limit: u32,
    free_from: Instant,
}

impl LookBudget {
    pub(super) const fn new(limit: u32, now: Instant) -> Self {
        Self {
            limit,
            free_from: now,
        }
    }

    /// Sets another limit.
    pub(super) const fn set(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// The time from which the next look is allowed.
    pub(super) const fn free_from(&self) -> Instant {
        self.free_from
    }

    /// Notes a look that began at `began` and took `took` of processor time.
    pub(super) fn looked(&mut self, began: Instant, took: Duration) {
        let times = 10_000_f64 / f64::from(self.limit.max(1));
        self.free_from = self.free_from.max(began) + took.mul_f64(times);
    }
}

/// The time of a task. Tasks are done in this order: the one that begins first, and of those that
/// begin together the one that was due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DueTime {
    /// The time at which the task begins at the earliest.
    pub(super) begins: Instant,
    due: Instant,
}

impl DueTime {
    /// The time of a task that does not wait for the budget.
    pub(super) const fn at(due: Instant) -> Self {
        Self { begins: due, due }
    }

    /// The time of a task that waits until the budget allows it at `free`.
    pub(super) fn in_budget(due: Instant, free: Instant) -> Self {
        let begins = due.max(free);
        Self { begins, due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_one_behind_the_other_stay_within_the_limit() {
        let begin = Instant::now();
        let mut together = LookBudget::new(200, begin);
        let mut now = begin;
        for _ in 0..100 {
            now = now.max(together.free_from());
            together.looked(now, Duration::from_millis(3));
        }
        assert_eq!(together.free_from() - begin, Duration::from_secs(15));
        // Idle time is not saved up.
        now = begin + Duration::from_secs(100);
        together.looked(now, Duration::from_millis(1));
        assert_eq!(together.free_from() - now, Duration::from_millis(50));
    }
    #[test]
    fn tasks_that_wait_for_the_budget_let_others_pass_and_keep_their_order() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let free = at(10);
        let (early, late) = (
            DueTime::in_budget(at(1), free),
            DueTime::in_budget(at(2), free),
        );
        assert_eq!((early.begins, late.begins), (free, free));
        assert!(early < late);
        assert!(DueTime::at(at(9)) < early && early < DueTime::at(at(11)));
        assert_eq!(DueTime::in_budget(at(12), free).begins, at(12));
    }
}
