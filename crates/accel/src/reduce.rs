//! The reducer: writes the visits that a replay would use.

use crate::feed::{Feed, ListPool};
use broadleaf_filter::{Fed, Recency, Sieve};
use broadleaf_machine::Machine;
use broadleaf_model::pool::Pool;
use broadleaf_model::{Error, MOST_THREADS, ReplayProgress, Source, SourcePiece};
use std::ops::ControlFlow;

/// Passes the reduced form of a trace to `each`, piece by piece: the visits that may change a
/// machine's state, and the sums of all visits. [`ControlFlow::Break`] stops the work.
///
/// The pieces depend on the parts of the source alone. Each part is filtered by itself, so the
/// pieces of some parts of a trace are the same without the other parts. No number of threads
/// changes them.
///
/// # Errors
/// Returns an error if the source fails, a thread cannot start, or `each` or `progress` stops.
pub fn reduce<S: Source>(
    source: &mut S,
    machines: &[Machine],
    threads: usize,
    each: &mut dyn FnMut(SourcePiece<'_>) -> ControlFlow<()>,
    progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
) -> Result<(), Error<S::Error>> {
    if source.holds_system() {
        let why = "a trace of a whole system has no reduced form: compare the trace itself";
        return Err(Error::Memory(why.to_string()));
    }
    let threads = threads.clamp(1, MOST_THREADS);
    let pool = Pool::new(threads).map_err(|reason| Error::NoThreads { threads, reason })?;
    let recency = Recency::new(machines.iter().map(|machine| &machine.design));
    let mut feed = Feed::new(
        source,
        Sieve::new(recency),
        threads + 2,
        ListPool::default(),
    )
    .in_even_steps();
    let mut state = ReplayProgress {
        pass: 1,
        passes: 1,
        earlier: None,
        trial: None,
        accesses: 0,
    };
    pool.with(|crew| {
        while !feed.is_at_end() {
            while let Some(fed) = feed.next(crew).map_err(Error::Source)? {
                let stops = match &fed {
                    Fed::Visits(sifted, sums) => {
                        state.accesses += sums.accesses();
                        each(SourcePiece::Reduced(&sifted.kept, *sums))
                    }
                    Fed::Event(event) => each(SourcePiece::Event(event)),
                };
                feed.lists().give_back(fed);
                if stops.is_break() {
                    return Err(Error::Stopped);
                }
            }
            feed.advance(crew);
            if progress(state).is_break() {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    })
}
