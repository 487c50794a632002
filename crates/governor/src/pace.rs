//! How often to look, so that looking costs no more than it may.

use crate::budget::Budgets;
use std::time::Duration;

/// However quiet a process is, it is looked at this often: the kernel's quick counts miss what the kernel does of its own accord.
pub(crate) const AT_LEAST_EVERY: Duration = Duration::from_secs(10);
/// The longest wait between two ticks in which nothing had changed.
const QUIET: Duration = Duration::from_secs(1);

/// How long to wait after a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Ticks in a row in which nothing was looked at and nothing done.
    quiet: u32,
}

impl Pace {
    /// How long to wait after a tick that took so much of a processor for looking, and so long for promotions.
    pub(crate) fn after(
        &mut self,
        budgets: &Budgets,
        looked: Duration,
        acted: Duration,
        was_quiet: bool,
    ) -> Duration {
        self.quiet = if was_quiet { self.quiet + 1 } else { 0 };
        let share = |used: Duration, hundredths: u32| {
            let times = 10_000_f64 / f64::from(hundredths.max(1)) - 1.0;
            used.mul_f64(times.max(0.0))
        };
        let for_looking = share(looked, budgets.cpu);
        let for_acting = share(acted, budgets.stall);
        // Ten quiet ticks, and then longer and longer waits.
        let patience = 1 << self.quiet.saturating_sub(9).min(8);
        let idle = (budgets.interval * patience).min(QUIET.max(budgets.interval));
        idle.max(for_looking.min(AT_LEAST_EVERY * 6))
            .max(for_acting)
    }
}

/// How long promotions may go on in one tick.
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
        assert_eq!(pace.after(&budgets, MS(10), MS(0), false), MS(1990));
        assert_eq!(pace.after(&budgets, MS(0), MS(2000), false), MS(500));
        assert_eq!(pace.after(&budgets, MS(10_000), MS(0), false), MS(60_000));
    }

    #[test]
    fn quiet_ticks_become_rare() {
        let mut pace = Pace::default();
        let waits = (0..14).map(|_| pace.after(&Budgets::DEFAULT, MS(0), MS(0), true));
        let waits: Vec<_> = waits.map(|wait| wait.as_millis()).collect();
        assert_eq!(waits[..9], [200; 9]);
        assert_eq!(waits[9..], [400, 800, 1000, 1000, 1000]);
        assert_eq!(pace.after(&Budgets::DEFAULT, MS(0), MS(0), false), MS(200));
    }
}
