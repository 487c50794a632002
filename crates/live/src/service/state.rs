//! The state of the service itself: its build, its start, and the reads of its file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use broadleaf_metrics::Provenance;
use broadleaf_study::provenance::provenance;

/// The state of a service.
#[derive(Clone, Debug)]
pub(super) struct ServiceState {
    /// The build that runs.
    pub(super) build: Provenance,
    pub(super) began: SystemTime,
    /// True if the service only looks.
    pub(super) dry: bool,
    /// The number of rules in force.
    pub(super) rules: usize,
    /// How often the file was read again without an error.
    pub(super) reloads: u64,
    /// How often the file was read again and refused.
    pub(super) refused_reloads: u64,
    /// True unless the last read of the file was refused.
    pub(super) last_read_is_good: bool,
    /// The time of the last read without an error.
    pub(super) last_good_read: SystemTime,
}

impl ServiceState {
    /// The state after the first read of the file.
    pub(super) fn new(rules: usize, dry: bool) -> Self {
        let now = SystemTime::now();
        Self {
            build: provenance("service"),
            began: now,
            dry,
            rules,
            reloads: 0,
            refused_reloads: 0,
            last_read_is_good: true,
            last_good_read: now,
        }
    }

    /// Notes that the file was read again. `rules` is the number of its rules, or `None` if the
    /// file was refused.
    pub(super) fn note_read(&mut self, rules: Option<usize>) {
        self.last_read_is_good = rules.is_some();
        match rules {
            Some(rules) => {
                self.rules = rules;
                self.reloads += 1;
                self.last_good_read = SystemTime::now();
            }
            None => self.refused_reloads += 1,
        }
    }
}

/// Seconds since 1970, as Prometheus counts them.
pub(super) fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_file_changes_neither_the_rules_nor_the_time_of_the_last_good_read() {
        let mut state = ServiceState::new(3, false);
        let began = state.last_good_read;
        state.note_read(None);
        assert!(!state.last_read_is_good);
        assert_eq!(
            (state.rules, state.reloads, state.refused_reloads),
            (3, 0, 1)
        );
        assert_eq!(state.last_good_read, began);
        std::thread::sleep(Duration::from_millis(2));
        state.note_read(Some(5));
        assert!(state.last_read_is_good && state.last_good_read > began);
        assert_eq!(
            (state.rules, state.reloads, state.refused_reloads),
            (5, 1, 1)
        );
    }

    #[test]
    fn times_are_seconds_since_1970() {
        let time = UNIX_EPOCH + Duration::from_millis(1_500);
        assert!((unix_seconds(time) - 1.5).abs() < 1e-9);
        // A clock that was never set is no reason to fail.
        let before = UNIX_EPOCH.checked_sub(Duration::from_secs(1)).unwrap();
        assert!(unix_seconds(before).abs() < 1e-9);
    }
}
