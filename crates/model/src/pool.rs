//! A pool of workers for tasks that run at the same time.

use std::sync::{Mutex, PoisonError};

/// The threads of a replay: the caller's thread and the pool's workers.
pub struct Pool(Option<rayon::ThreadPool>);

/// The workers that run tasks while the caller does something else.
#[derive(Clone, Copy)]
pub struct Crew<'a, 'scope>(Option<&'a rayon::Scope<'scope>>);

impl<'scope> Crew<'_, 'scope> {
    /// Queues a task. Without workers, the task is dropped.
    pub fn queue(self, work: impl FnOnce() + Send + 'scope) {
        if let Some(scope) = self.0 {
            scope.spawn(|_| work());
        }
    }

    /// Returns true if there are no workers.
    pub const fn is_empty(self) -> bool {
        self.0.is_none()
    }
}

impl Pool {
    /// A pool of `threads` threads, including the caller's.
    ///
    /// # Errors
    /// Returns the system's message if a thread cannot start.
    pub fn new(threads: usize) -> Result<Self, String> {
        let Some(beside @ 1..) = threads.checked_sub(1) else {
            return Ok(Self(None));
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(beside).build();
        Ok(Self(Some(pool.map_err(|error| error.to_string())?)))
    }

    /// Runs `work` with the pool's workers. All queued tasks have finished when this returns.
    pub fn with<'scope, R>(&self, work: impl FnOnce(Crew<'_, 'scope>) -> R) -> R {
        match &self.0 {
            None => work(Crew(None)),
            Some(pool) => pool.in_place_scope(|scope| work(Crew(Some(scope)))),
        }
    }

    /// Runs all tasks, in any order.
    pub fn run<W: FnOnce() + Send>(&self, mut works: impl ExactSizeIterator<Item = W> + Send) {
        let beside = match &self.0 {
            Some(pool) => pool
                .current_num_threads()
                .min(works.len().saturating_sub(1)),
            None => 0,
        };
        if beside == 0 {
            works.for_each(|work| work());
            return;
        }
        let works = Mutex::new(&mut works);
        let next = || works.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.with(|crew| {
            for _ in 0..beside {
                crew.queue(|| std::iter::from_fn(next).for_each(|work| work()));
            }
            std::iter::from_fn(next).for_each(|work| work());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_work_is_done_once() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads).unwrap();
            for count in [0, 1, 2, 7, 100] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                pool.run(done.iter().map(|one| {
                    || {
                        one.fetch_add(1, Ordering::Relaxed);
                    }
                }));
                assert!(done.iter().all(|one| one.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn queued_tasks_finish() {
        let done = AtomicUsize::new(0);
        Pool::new(3).unwrap().with(|crew| {
            assert!(!crew.is_empty());
            for _ in 0..10 {
                crew.queue(|| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.into_inner(), 10);
        assert!(Pool::new(1).unwrap().with(|crew| crew.is_empty()));
    }
}
