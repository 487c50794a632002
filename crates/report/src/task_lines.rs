//! Lines on a task that goes on for long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::message::{announcement, still};

/// The time after which the rest of a task is estimated.
const MEASURED: Duration = Duration::from_secs(5);

/// The seconds between two lines on a task that has no bar.
const BETWEEN_LINES: u64 = 60;

/// The lines on a task: one on how long it takes, and without a bar one a minute on how far it is.
#[derive(Debug)]
pub struct TaskLines {
    /// True until the duration of the task was estimated. Always false if the task is hidden.
    estimates: AtomicBool,
    /// The seconds after which the next line says how far the task is.
    next: AtomicU64,
}

impl TaskLines {
    /// The lines on a task that is shown, with a bar or without, or is hidden.
    pub fn new(shown: bool, has_bar: bool) -> Self {
        let next = if shown && !has_bar {
            BETWEEN_LINES
        } else {
            u64::MAX
        };
        Self {
            estimates: AtomicBool::new(shown),
            next: AtomicU64::new(next),
        }
    }

    /// Returns the announcement of a long task, once. `share` is the share of its work that is
    /// done, if that is known and more than none.
    pub fn announcement(
        &self,
        doing: &str,
        elapsed: Duration,
        share: Option<f64>,
    ) -> Option<String> {
        if elapsed < MEASURED || !self.estimates.load(Ordering::Relaxed) {
            return None;
        }
        let left = left(elapsed, share)?;
        self.estimates.store(false, Ordering::Relaxed);
        announcement(doing, left)
    }

    /// Returns a line on how far the task is, if one is due. `done` describes its work so far.
    pub fn line(
        &self,
        doing: &str,
        elapsed: Duration,
        share: Option<f64>,
        done: impl FnOnce() -> String,
    ) -> Option<String> {
        if elapsed.as_secs() < self.next.load(Ordering::Relaxed) {
            return None;
        }
        let next = elapsed.as_secs() + BETWEEN_LINES;
        self.next.store(next, Ordering::Relaxed);
        Some(still(doing, share, &done(), left(elapsed, share)))
    }
}

/// The time that a task takes from now on, at the rate so far.
fn left(elapsed: Duration, share: Option<f64>) -> Option<Duration> {
    let share = share?;
    Some(elapsed.mul_f64((1.0 - share) / share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_a_bar_has_a_line_a_minute() {
        let lines = TaskLines::new(true, false);
        let line = |seconds, share| {
            let elapsed = Duration::from_secs(seconds);
            lines.line("comparing", elapsed, share, || "7 accesses".to_owned())
        };
        assert_eq!(line(59, None), None);
        assert_eq!(line(60, None).as_deref(), Some("comparing: 7 accesses"));
        assert_eq!(line(119, None), None);
        assert_eq!(
            line(120, Some(0.25)).as_deref(),
            Some("comparing: 25 %, 7 accesses so far, about 6m more")
        );
    }

    #[test]
    fn a_task_is_announced_once_when_its_share_is_known() {
        let announced = |lines: &TaskLines, seconds, share| {
            lines.announcement("comparing", Duration::from_secs(seconds), share)
        };
        let lines = TaskLines::new(true, true);
        assert_eq!(announced(&lines, 4, Some(0.25)), None);
        assert_eq!(announced(&lines, 5, None), None);
        let text = announced(&lines, 10, Some(0.25)).expect("it is long");
        assert_eq!(text, "comparing takes about 30s more");
        assert_eq!(announced(&lines, 11, Some(0.25)), None);
        assert_eq!(
            announced(&TaskLines::new(false, false), 10, Some(0.25)),
            None
        );
        let none =
            TaskLines::new(true, true).line("x", Duration::from_secs(1 << 40), None, String::new);
        assert_eq!(none, None, "a bar shows how far it is");
    }
}
