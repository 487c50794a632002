//! Work that can be done at the same time.

/// The threads of a replay.
pub(crate) struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    /// So many threads. One is the caller's own.
    pub(crate) fn new(threads: usize) -> Result<Self, String> {
        if threads <= 1 {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self(Some(pool.map_err(|error| error.to_string())?)))
    }

    /// Does all of both kinds of work, in any order.
    pub(crate) fn run(
        &self,
        some: impl Iterator<Item = impl FnOnce() + Send> + Send,
        more: impl Iterator<Item = impl FnOnce() + Send> + Send,
    ) {
        match &self.0 {
            None => {
                some.for_each(|work| work());
                more.for_each(|work| work());
            }
            Some(pool) => pool.scope(|scope| {
                for work in some {
                    scope.spawn(|_| work());
                }
                for work in more {
                    scope.spawn(|_| work());
                }
            }),
        }
    }
}
