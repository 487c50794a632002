//! A pool of workers for tasks that run at the same time.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// A function that runs the whole life of a worker, and may prepare its thread before and after.
pub type AroundWorker = Arc<dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync>;

/// The threads of a replay: the caller's thread and the pool's workers. All workers have ended when
/// the pool is dropped.
pub struct Pool {
    workers: Option<rayon::ThreadPool>,
    threads: Vec<JoinHandle<()>>,
}

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
        Self::within(threads, None)
    }

    /// A pool whose workers live inside `around`, if there is such a function.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn within(threads: usize, around: Option<&AroundWorker>) -> Result<Self, String> {
        let mut handles = Vec::new();
        let Some(beside @ 1..) = threads.checked_sub(1) else {
            return Ok(Self {
                workers: None,
                threads: handles,
            });
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(beside)
            .spawn_handler(|worker| {
                let around = around.cloned();
                handles.push(Builder::new().spawn(move || {
                    let mut worker = Some(worker);
                    let mut run = || worker.take().map_or((), rayon::ThreadBuilder::run);
                    match around {
                        Some(around) => around(&mut run),
                        None => run(),
                    }
                })?);
                Ok(())
            })
            .build();
        let pool = pool.map_err(|error| error.to_string())?;
        Ok(Self {
            workers: Some(pool),
            threads: handles,
        })
    }

    /// Runs `work` with the pool's workers. All queued tasks have finished when this returns.
    pub fn with<'scope, R>(&self, work: impl FnOnce(Crew<'_, 'scope>) -> R) -> R {
        match &self.workers {
            None => work(Crew(None)),
            Some(pool) => pool.in_place_scope(|scope| work(Crew(Some(scope)))),
        }
    }

    /// Runs all tasks, in any order.
    pub fn run<W: FnOnce() + Send>(&self, mut works: impl ExactSizeIterator<Item = W> + Send) {
        let beside = match &self.workers {
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

impl Drop for Pool {
    fn drop(&mut self) {
        // Workers end when the pool is gone.
        self.workers = None;
        for thread in self.threads.drain(..) {
            // A worker that panicked has passed its panic on to the caller.
            let _ = thread.join();
        }
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
    fn workers_live_inside_a_function_and_end_with_the_pool() {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
        let around: AroundWorker = Arc::new(move |run| {
            begins.fetch_add(1, Ordering::Relaxed);
            run();
            ends.fetch_add(1, Ordering::Relaxed);
        });
        let pool = Pool::within(4, Some(&around)).unwrap();
        let done = AtomicUsize::new(0);
        pool.run((0..100).map(|_| {
            || {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        drop(pool);
        assert_eq!(done.into_inner(), 100);
        let counts = [begun, ended].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [3, 3]);
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
