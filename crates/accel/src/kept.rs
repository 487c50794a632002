//! Reduced form of a trace in memory. One pass keeps the form, and the next pass reads it instead
//! of decoding the trace.
//!
//! Visits that repeat are packed. Visits of random updates do not repeat, and packing them takes
//! longer than decoding the trace again. These visits are kept unpacked, mostly in one word each.

mod keeper;
mod plain;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::reduced::{ReducedPartReader, ReducedReader};
use broadleaf_trace::{Grain, TraceError};
pub(crate) use keeper::Keeper;
use plain::{PlainReader, PlainVisits};
use std::ops::ControlFlow;

/// A stretch of a kept part.
pub(crate) enum KeptStretch {
    /// A reduced trace of its own.
    Packed(Vec<u8>),
    /// Unpacked visits.
    Plain(PlainVisits),
}

impl KeptStretch {
    fn bytes(&self) -> usize {
        match self {
            Self::Packed(bytes) => bytes.len(),
            Self::Plain(visits) => visits.bytes(),
        }
    }
}

/// The reduced form of a trace, part by part.
pub(crate) struct Kept {
    stretches: Vec<KeptStretch>,
    /// The number of bytes that may still be kept.
    left: usize,
    only_few: bool,
    only_read_soon: bool,
}

impl Kept {
    /// An empty form of at most `most` bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            stretches: Vec::new(),
            left: most,
            only_few: false,
            only_read_soon: false,
        }
    }

    /// Keeps all visits that do not repeat unpacked. Then no later replay can read the form.
    pub(crate) const fn only_read_soon(mut self, only_read_soon: bool) -> Self {
        self.only_read_soon = only_read_soon;
        self
    }

    /// Gives up a trace if the filter leaves too many visits: a later replay gains little.
    pub(crate) const fn only_few(mut self, only_few: bool) -> Self {
        self.only_few = only_few;
        self
    }

    /// A keeper of parts, one after the other.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::new(self.left, self.only_few).only_read_soon(self.only_read_soon)
    }

    /// All parts, each a whole reduced trace. `None` if some visits are kept unpacked: a reduced
    /// trace of visits that do not repeat saves no time.
    pub(crate) fn into_parts(self) -> Option<Vec<Vec<u8>>> {
        let parts = self.stretches.into_iter().map(|stretch| match stretch {
            KeptStretch::Packed(bytes) => Some(bytes),
            KeptStretch::Plain(_) => None,
        });
        parts.collect()
    }

    /// The number of bytes that may still be kept.
    #[cfg(test)]
    const fn left(&self) -> usize {
        self.left
    }

    /// Appends the next part; returns `None` if the part exceeds the bound.
    pub(crate) fn with(mut self, part: Option<Vec<KeptStretch>>) -> Option<Self> {
        let part = part?;
        let bytes = part.iter().map(KeptStretch::bytes).sum();
        self.left = self.left.checked_sub(bytes)?;
        self.stretches.extend(part);
        Some(self)
    }

    /// The trace, from its start.
    pub(crate) fn source(&self) -> KeptSource<'_> {
        KeptSource {
            all: &self.stretches,
            stretches: &self.stretches,
            reader: None,
            idle: Vec::new(),
        }
    }
}

/// A kept trace, being read.
pub(crate) struct KeptSource<'a> {
    all: &'a [KeptStretch],
    /// The stretches after the one that is being read.
    stretches: &'a [KeptStretch],
    reader: Option<ReducedReader<&'a [u8]>>,
    /// Readers of parts that are not in use.
    idle: Vec<ReducedPartReader>,
}

impl<'a> Source for KeptSource<'a> {
    type Error = TraceError;
    type Part = KeptPart<'a>;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn is_reduced(&self) -> bool {
        true
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        (self.stretches, self.reader) = (self.all, None);
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<KeptPart<'a>>, TraceError> {
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(part) = reader.next_part()?
            {
                let mut reader = self.idle.pop().unwrap_or_default();
                reader.begin(part);
                return Ok(Some(KeptPart::Packed(Box::new(reader))));
            }
            self.reader = None;
            let Some((next, rest)) = self.stretches.split_first() else {
                return Ok(None);
            };
            self.stretches = rest;
            match next {
                KeptStretch::Packed(bytes) => {
                    self.reader = Some(ReducedReader::new(bytes.as_slice())?);
                }
                KeptStretch::Plain(visits) => {
                    return Ok(Some(KeptPart::Plain(visits.read())));
                }
            }
        }
    }

    fn close(&mut self, part: KeptPart<'a>) -> Result<ControlFlow<()>, TraceError> {
        if let KeptPart::Packed(part) = part {
            self.idle.push(*part);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A part of a kept trace.
pub(crate) enum KeptPart<'a> {
    Packed(Box<ReducedPartReader>),
    Plain(PlainReader<'a>),
}

impl SourcePart for KeptPart<'_> {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, TraceError> {
        match self {
            Self::Packed(part) => Ok(part.next_item()?.map(SourcePiece::from)),
            Self::Plain(visits) => {
                Ok((visits.next_piece()).map(|(visits, sums)| SourcePiece::Reduced(visits, sums)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
