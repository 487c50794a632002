//! A trace decoded, checksums included, and its visits gone through: what any replay pays at least.

use broadleaf_trace::{Item, ReadOptions, TraceError, TraceReader, Visit};
use std::io::Read;

/// What goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Loads plus stores.
    pub accesses: u64,
    /// Visits, as the reader hands them out.
    pub visits: u64,
}

/// How the benchmarks read a trace: strictly, and without instruction fetches, as `compare` does.
pub const OPTIONS: ReadOptions = ReadOptions {
    keep_going: false,
    fetches: false,
};

/// Goes through all visits and sums them up.
///
/// # Errors
/// Where the trace is damaged or cannot be read.
pub fn walk(from: impl Read) -> Result<Seen, TraceError> {
    let mut seen = Seen::default();
    each_batch(from, |visits| {
        seen.visits += visits.len() as u64;
        seen.accesses += visits.iter().map(Visit::accesses).sum::<u64>();
    })?;
    Ok(seen)
}

/// Hands all visits to `take`, in order, as many at a time as the reader makes.
///
/// # Errors
/// Where the trace is damaged or cannot be read.
pub fn each_batch(from: impl Read, mut take: impl FnMut(&[Visit])) -> Result<(), TraceError> {
    let mut reader = TraceReader::with_options(from, OPTIONS)?;
    while let Some(item) = reader.next_item()? {
        if let Item::Visits(visits) = item {
            take(visits);
        }
    }
    Ok(())
}
