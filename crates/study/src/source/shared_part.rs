//! Decoded parts of a trace that several replays read.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use broadleaf_model::{Source as _, SourcePart as _, SourcePiece};
use broadleaf_trace::{Event, Phrased, Visit};

use super::part::TracePart;
use super::shared::SharedContent;
use super::{ReadError, Trace};

/// The visits from which on a part ends.
const PART: usize = 1 << 16;

/// A decoded part.
#[derive(Debug, Default)]
pub(super) struct SharedPart {
    visits: Vec<Visit>,
    words: Vec<u16>,
    vocabulary: Arc<[Visit]>,
    pieces: Vec<OwnedPiece>,
}

/// A piece of a part, by its place among the part's visits or words.
#[derive(Debug)]
enum OwnedPiece {
    Visits(Range<usize>),
    Phrased(Range<usize>),
    Event(Event),
}

impl SharedPart {
    /// The piece of that number; `None` after the last one.
    pub(super) fn piece(&self, number: usize) -> Option<SourcePiece<'_>> {
        Some(match self.pieces.get(number)? {
            OwnedPiece::Visits(range) => SourcePiece::Visits(&self.visits[range.clone()]),
            OwnedPiece::Phrased(range) => SourcePiece::Phrased(Phrased {
                vocabulary: &self.vocabulary,
                words: &self.words[range.clone()],
            }),
            OwnedPiece::Event(event) => SourcePiece::Event(event),
        })
    }

    fn add(&mut self, piece: SourcePiece<'_>) {
        self.pieces.push(match piece {
            SourcePiece::Visits(visits) => {
                let from = self.visits.len();
                self.visits.extend_from_slice(visits);
                OwnedPiece::Visits(from..self.visits.len())
            }
            SourcePiece::Phrased(phrased) => {
                if self.vocabulary.is_empty() {
                    self.vocabulary = phrased.vocabulary.into();
                }
                let from = self.words.len();
                self.words.extend_from_slice(phrased.words);
                OwnedPiece::Phrased(from..self.words.len())
            }
            SourcePiece::Event(event) => OwnedPiece::Event(event.clone()),
            // A trace that is opened for all visits has no reduced form.
            SourcePiece::Reduced(..) => return,
        });
    }

    fn is_full(&self) -> bool {
        self.visits.len() + self.words.len() >= PART
    }
}

/// Decodes a trace into parts of bounded size.
pub(super) struct PartsDecoder {
    trace: Trace,
    /// The part of the trace that was not read to its end.
    open: Option<TracePart>,
    /// The vocabulary of that part.
    vocabulary: Arc<[Visit]>,
    ended: bool,
}

impl PartsDecoder {
    pub(super) fn new(trace: Trace) -> Self {
        Self {
            trace,
            open: None,
            vocabulary: Arc::default(),
            ended: false,
        }
    }

    /// The next part; `None` at the end of the trace.
    pub(super) fn next(&mut self) -> Result<Option<SharedPart>, ReadError> {
        if self.open.is_none() && !self.ended {
            self.open = self.trace.next_part()?;
            self.vocabulary = Arc::default();
        }
        let Some(mut open) = self.open.take() else {
            return Ok(None);
        };
        let mut part = SharedPart {
            vocabulary: Arc::clone(&self.vocabulary),
            ..SharedPart::default()
        };
        while let Some(piece) = open.next()? {
            part.add(piece);
            if part.is_full() {
                self.vocabulary = Arc::clone(&part.vocabulary);
                self.open = Some(open);
                return Ok(Some(part));
            }
        }
        self.ended = self.trace.close(open)? == ControlFlow::Break(());
        Ok(Some(part))
    }

    /// Ends a pass.
    pub(super) fn finish(&mut self) -> Result<SharedContent, ReadError> {
        self.trace.finish()?;
        let keepable = self.trace.keepable();
        Ok(SharedContent {
            hash: self.trace.hash(),
            bytes: self.trace.bytes,
            keepable,
        })
    }

    /// Begins another pass.
    pub(super) fn rewind(&mut self) -> Result<(), ReadError> {
        (self.open, self.ended) = (None, false);
        self.trace.rewind()
    }
}
