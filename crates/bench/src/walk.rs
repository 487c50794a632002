//! A trace decoded, checksums included, and its visits gone through: what any replay pays at least.

use broadleaf_trace::{Item, PartItem, PartReader, ReadOptions, TraceError, TraceReader, Visit};
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

/// Decodes all there is, as the engine has it decoded: visits, or words of a vocabulary, whose counts the decoder adds up and compares with what the trace says. Nobody looks at
/// them one by one.
///
/// # Errors
/// Where the trace is damaged or cannot be read.
pub fn decode(from: impl Read) -> Result<Seen, TraceError> {
    let mut seen = Seen::default();
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
