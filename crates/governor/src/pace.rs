//! The pace of observations, which keeps their cost within the budget.

use crate::budget::Budgets;
use std::time::Duration;

/// The number of longest waits after which the memory of a quiet process is read again. The
/// kernel's quick counts miss some of its own changes. Memory is read again after a minute in any
/// case.
const LONGEST_WAITS: u32 = 10;
const OLD_IN_ANY_CASE: Duration = Duration::from_secs(60);
/// The longest wait between two ticks in which nothing had changed.
const QUIET: Duration = Duration::from_secs(1);

/// The pace of a governor. It decides the wait after a tick and the time of the next memory read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The longest wait between two quiet ticks.
    pub(crate) longest: Duration,
    /// Ticks in a row in which nothing changed and nothing was done.
    quiet: u32,
    /// The time at which the next read is within the budget, since the start of the governor.
    paid: Duration,
    /// The share of a processor that ticks take apart from memory reads, in hundredths of a
    /// percent.
    ticking: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            longest: QUIET,
            quiet: 0,
            paid: Duration::ZERO,
            ticking: 0,
        }
    }
}

impl Pace {
    /// Returns the age at which a process's memory is read again although nothing has changed.
    pub(crate) fn old_age(&self) -> Duration {
        (self.longest * LONGEST_WAITS).min(OLD_IN_ANY_CASE)
    }

    /// Returns true if the cost of memory reads so far is within the budget. Cheap checks continue
    /// in any case: living processes, and shortage of memory.
    pub(crate) fn may_look(&self, at: Duration) -> bool {
        at >= self.paid
    }

    /// Charges a memory read that took `spent` of a processor and ended at `now`.
    pub(crate) fn looked(&mut self, budgets: &Budgets, now: Duration, spent: Duration) {
        self.paid = (self.paid).max(now + share(spent, budgets.cpu.saturating_sub(self.ticking)));
    }

    /// Charges `spent` of a processor in addition to memory reads.
    pub(crate) fn charge(&mut self, budgets: &Budgets, now: Duration, spent: Duration) {
        self.paid = self.paid.max(now) + share(spent, budgets.cpu.saturating_sub(self.ticking));
    }

    /// Returns the time to wait after a tick. `ticked` is the tick's processor time without memory
    /// reads, `acted` the time of its promotions.
    pub(crate) fn after(
        &mut self,
        budgets: &Budgets,
        ticked: Duration,
        acted: Duration,
        was_quiet: bool,
    ) -> Duration {
        self.quiet = if was_quiet { self.quiet + 1 } else { 0 };
        // After some quiet ticks, waits become longer and longer. They do so sooner if the caller
        // notices changes.
        let quick = if self.longest > QUIET { 4 } else { 9 };
        let patience = 1 << self.quiet.saturating_sub(quick).min(8);
        let idle = (budgets.interval * patience).min(self.longest.max(budgets.interval));
        // At most half of the budget is for ticks. The rest is for memory reads.
        let wait = idle
            .max(share(ticked, budgets.cpu / 2))
            .max(share(acted, budgets.stall));
        let part = ticked.as_secs_f64() / wait.as_secs_f64().max(f64::MIN_POSITIVE);
        self.ticking = ((part * 10_000.0).ceil() as u32).min(budgets.cpu / 2);
        wait
    }
}

/// Returns the pause after which `spent` is a share of `hundredths` of a percent of the whole time.
fn share(spent: Duration, hundredths: u32) -> Duration {
    let times = 10_000_f64 / f64::from(hundredths.max(1)) - 1.0;
    spent.mul_f64(times.max(0.0))
}

/// Returns the maximum time of promotions in one tick.
pub(crate) fn acting(budgets: &Budgets) -> Duration {
    budgets.interval.max(Duration::from_millis(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_wait_is_as_long_as_what_was_spent_asks_for() {
        let budgets = Budgets::DEFAULT;
        let mut pace = Pace::default();
        assert_eq!(pace.after(&budgets, MS(0), MS(0), false), MS(200));
        assert_eq!(pace.after(&budgets, MS(0), MS(2000), false), MS(500));
        assert!(pace.may_look(MS(0)));
        pace.looked(&budgets, MS(100), MS(10));
        assert!(!pace.may_look(MS(2089)) && pace.may_look(MS(2090)));
        // A charge adds to the cost of the memory reads.
        let mut charged = pace;
        charged.charge(&budgets, MS(101), MS(10));
        assert!(!charged.may_look(MS(4079)) && charged.may_look(MS(4080)));
        // Many processes cost time even without memory reads: 1 part in 400. The other half of the
        // budget is for memory reads.
        assert_eq!(pace.after(&budgets, MS(10), MS(0), false), MS(3990));
        pace.looked(&budgets, MS(10_000), MS(10));
        assert!(!pace.may_look(MS(13_000)) && pace.may_look(MS(14_400)));
        // A read at no cost does not shorten the wait.
        pace.looked(&budgets, MS(11_000), MS(0));
        assert!(!pace.may_look(MS(13_000)));
    }

    #[test]
    fn quiet_ticks_become_rare() {
        let mut pace = Pace::default();
        let waits = (0..14).map(|_| pace.after(&Budgets::DEFAULT, MS(0), MS(0), true));
        let waits: Vec<_> = waits.map(|wait| wait.as_millis()).collect();
        assert_eq!(waits[..9], [200; 9]);
        assert_eq!(waits[9..], [400, 800, 1000, 1000, 1000]);
        assert_eq!(pace.after(&Budgets::DEFAULT, MS(0), MS(0), false), MS(200));
        // If the caller notices changes, looks become rarer still.
        pace.longest = MS(10_000);
        let waits = (0..11).map(|_| pace.after(&Budgets::DEFAULT, MS(0), MS(0), true));
        let waits: Vec<_> = waits.map(|wait| wait.as_millis()).collect();
        assert_eq!(waits[..4], [200; 4]);
        assert_eq!(waits[4..], [400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    }
}
