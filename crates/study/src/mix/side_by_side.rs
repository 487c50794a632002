//! Tasks that several threads share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::failure::Failure;

/// Does the tasks `0..tasks` on threads, and calls `poll` now and then until all are done. After a
/// failure, no other task begins, and `stop` is true for those that run: they may return `None`.
/// Returns the results in the order of the tasks.
///
/// # Errors
/// Returns the first failure in the order of tasks, so that the message depends on no thread.
pub(super) fn side_by_side<T: Send>(
    tasks: usize,
    threads: usize,
    stop: &AtomicBool,
    task: impl Fn(usize) -> Result<Option<T>, Failure> + Sync,
    mut poll: impl FnMut(),
) -> Result<Vec<T>, Failure> {
    let threads = threads.min(tasks);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<Mutex<Option<Result<T, Failure>>>> =
        (0..tasks).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _counted = CountedThread(&done);
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = results.get(number) else {
                        break;
                    };
                    let result = task(number);
                    stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    if let Ok(mut place) = place.lock() {
                        *place = result.transpose();
                    }
                }
            });
        }
        while done.load(Ordering::Acquire) < threads {
            std::thread::sleep(Duration::from_millis(50));
            poll();
        }
    });
    let results = results.into_iter().filter_map(|one| one.into_inner().ok()?);
    let (failures, outcomes): (Vec<_>, Vec<_>) = results.partition(Result::is_err);
    if let Some(Err(failure)) = failures.into_iter().next() {
        return Err(failure);
    }
    outcomes.into_iter().collect()
}

/// Counts a thread when it ends, even by a panic: otherwise its result would be waited for.
struct CountedThread<'a>(&'a AtomicUsize);

impl Drop for CountedThread<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_tasks() {
        let stop = AtomicBool::new(false);
        let squares = side_by_side(100, 3, &stop, |number| Ok(Some(number * number)), || {});
        let expected: Vec<usize> = (0..100).map(|number| number * number).collect();
        assert_eq!(squares.expect("no failure"), expected);
    }

    /// A task that another one's failure stops is no failure of its own.
    #[test]
    fn a_failure_is_not_hidden_by_the_tasks_that_it_stops() {
        let stop = AtomicBool::new(false);
        let task = |number: usize| match number {
            0 => {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Ok(None::<()>)
            }
            _ => Err(Failure::failed("damaged")),
        };
        let failed = side_by_side(9, 2, &stop, task, || {}).expect_err("a failure");
        assert_eq!(failed.to_string(), "damaged");
    }
}
