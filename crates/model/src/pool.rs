//! Work that can be done at the same time.

use std::sync::{Mutex, PoisonError};

/// The threads of a replay: the caller's own, and those of a pool beside it.
pub struct Pool(Option<rayon::ThreadPool>);

/// Those who take work over while the caller does something else.
#[derive(Clone, Copy)]
pub struct Crew<'a, 'scope>(Option<&'a rayon::Scope<'scope>>);

impl<'scope> Crew<'_, 'scope> {
    /// Has work done some time, if there is anybody to do it.
    pub fn hand(self, work: impl FnOnce() + Send + 'scope) {
        if let Some(scope) = self.0 {
            scope.spawn(|_| work());
        }
    }

    /// Whether there is nobody.
    pub const fn is_nobody(self) -> bool {
        self.0.is_none()
    }
}

impl Pool {
    /// So many threads. One is the caller's own.
    pub fn new(threads: usize) -> Result<Self, String> {
        let Some(beside @ 1..) = threads.checked_sub(1) else {
            return Ok(Self(None));
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(beside).build();
        Ok(Self(Some(pool.map_err(|error| error.to_string())?)))
    }

    /// Does something with a crew at hand. What was handed to it is done when this returns.
    pub fn with<'scope, R>(&self, work: impl FnOnce(Crew<'_, 'scope>) -> R) -> R {
        match &self.0 {
            None => work(Crew(None)),
            Some(pool) => pool.in_place_scope(|scope| work(Crew(Some(scope)))),
        }
    }

    /// Does all of this, in any order.
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
                crew.hand(|| std::iter::from_fn(next).for_each(|work| work()));
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
    fn what_is_handed_over_is_done_in_the_end() {
        let done = AtomicUsize::new(0);
        Pool::new(3).unwrap().with(|crew| {
            assert!(!crew.is_nobody());
            for _ in 0..10 {
                crew.hand(|| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.into_inner(), 10);
        assert!(Pool::new(1).unwrap().with(|crew| crew.is_nobody()));
    }
}
