//! The decoding of a trace with checksums, and a walk over its visits: the least cost of any
//! replay.

use broadleaf_trace::{
    Item, PartItem, PartReader, ReadOptions, TraceError, TraceReader, Visit, VisitEnds,
};
use std::io::Read;

/// The accesses and visits of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Loads plus stores.
    pub accesses: u64,
    /// Visits, as the reader returns them.
    pub visits: u64,
}

/// The options of the benchmarks: strict, and without instruction fetches, as in `compare`.
pub const OPTIONS: ReadOptions = ReadOptions {
    ends: VisitEnds::Units,
    keep_going: false,
    fetches: false,
};

/// Decodes a trace as the engine does: into visits, or into words of a vocabulary. The decoder adds
/// up their counts and compares them with the trace's totals. The visits are not walked.
///
/// # Errors
/// Returns an error if the trace is damaged or cannot be read.
pub fn decode(from: impl Read) -> Result<Walked, TraceError> {
    let mut seen = Walked::default();
    let mut reader = TraceReader::with_options(from, OPTIONS)?;
    let mut part = PartReader::new(reader.header().grain, OPTIONS.fetches);
    while let Some(next) = reader.next_part()? {
        part.begin(next);
        while let Some(item) = part.next_part_item()? {
            seen.visits += match item {
                PartItem::Visits(visits) => visits.len() as u64,
                PartItem::Phrased(phrased) => phrased.words.len() as u64,
                PartItem::Event(_) => 0,
            };
        }
        if let Some(closed) = part.close() {
            reader.close(closed);
        }
    }
    seen.accesses = reader.totals().accesses();
    Ok(seen)
}

/// Walks over all visits and adds them up.
///
/// # Errors
/// Returns an error if the trace is damaged or cannot be read.
pub fn walk(from: impl Read) -> Result<Walked, TraceError> {
    let mut seen = Walked::default();
    each_batch(from, |visits| {
        seen.visits += visits.len() as u64;
        seen.accesses += visits.iter().map(Visit::accesses).sum::<u64>();
    })?;
    Ok(seen)
}

/// Passes all visits to `take`, in order, in the reader's batches.
///
/// # Errors
/// Returns an error if the trace is damaged or cannot be read.
pub fn each_batch(from: impl Read, mut take: impl FnMut(&[Visit])) -> Result<(), TraceError> {
    let mut reader = TraceReader::with_options(from, OPTIONS)?;
    while let Some(item) = reader.next_item()? {
        if let Item::Visits(visits) = item {
            take(visits);
        }
    }
    Ok(())
}
