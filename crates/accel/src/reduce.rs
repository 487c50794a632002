//! Reducing a trace: what a replay would be handed, handed out.

use crate::feed::{Feed, Lists};
use broadleaf_filter::Fed;
use broadleaf_filter::Recency;
use broadleaf_filter::Sieve;
use broadleaf_machine::Machine;
use broadleaf_model::MOST_THREADS;
use broadleaf_model::pool::Pool;
use broadleaf_model::{Error, Piece, Progress, Source};
use std::ops::ControlFlow;

/// Hands out the reduced form of a trace: the visits that may change something on any of these
/// machines, and what all come to. `each` takes one piece after the other, and stops the work with
/// [`ControlFlow::Break`].
///
/// # Errors
/// Where the source fails, the threads cannot be had, or `each` or `progress` stops.
pub fn reduce<S: Source>(
    source: &mut S,
    machines: &[Machine],
    threads: usize,
    each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(), Error<S::Error>> {
    let threads = threads.clamp(1, MOST_THREADS);
    let pool = Pool::new(threads).map_err(|reason| Error::NoThreads { threads, reason })?;
    let recency = Recency::new(machines.iter().map(|machine| &machine.design));
    let mut feed = Feed::new(source, Sieve::new(recency), threads + 2, Lists::default());
    let mut state = Progress {
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
                        each(Piece::Reduced(&sifted.kept, *sums))
                    }
                    Fed::Event(event) => each(Piece::Event(event)),
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
