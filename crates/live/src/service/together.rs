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
}
