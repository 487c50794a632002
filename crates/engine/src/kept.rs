//! What a pass over a trace keeps for the next: its reduced form, in memory, so that the trace need not be decoded again.

use crate::feed::Lists;
use crate::sifted::Fed;
use crate::source::{Part, Piece, Source};
use broadleaf_trace::reduced::{ReducedHeader, ReducedPartReader, ReducedReader, ReducedWriter};
use broadleaf_trace::{Grain, TraceError};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Bytes, up to a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + some.len() > self.most {
            return Err(io::Error::other("more than may be kept"));
        }
        self.bytes.extend_from_slice(some);
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reduced form that is being kept.
struct Keeping(Option<ReducedWriter<Bounded>>);

impl Keeping {
    /// Keeps nothing yet, and no more than so many bytes.
    fn new(most: usize) -> Self {
        let bounded = Bounded {
            bytes: Vec::new(),
            most,
        };
        Self(ReducedWriter::new(bounded, &ReducedHeader::default()).ok())
    }

    /// Keeps a piece. Where there are too many of them, nothing is kept at all.
    fn add(&mut self, piece: &Fed) {
        let Some(writer) = &mut self.0 else { return };
        let written = match piece {
            Fed::Visits(sifted, sums) => writer.visits(&sifted.kept, sums),
            Fed::Event(event) => writer.event(event),
        };
        if written.is_err() {
            self.0 = None;
        }
    }

    /// All that was kept; `None` where it was too much.
    fn finish(self) -> Option<Kept> {
        let (bounded, _) = self.0?.finish().ok()?;
        Some(Kept(bounded.bytes))
    }
}

/// How many pieces wait to be kept before whoever has another waits too.
const MOST_WAITING: usize = 64;

/// Keeps pieces in their order, whoever has time to do so.
pub(crate) struct Keeper {
    waiting: Mutex<VecDeque<Fed>>,
    keeping: Mutex<Keeping>,
}

impl Keeper {
    /// Keeps nothing yet, and no more than so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            keeping: Mutex::new(Keeping::new(most)),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Fed>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece waits to be kept.
    pub(crate) fn put(&self, piece: Fed) {
        self.waiting().push_back(piece);
    }

    /// Whether no more should wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting().len() >= MOST_WAITING
    }

    /// Keeps what waits, unless somebody does already, and gives the lists back. Where too much waits, it is waited for.
    pub(crate) fn work(&self, lists: &Lists) {
        let keeping = if self.is_full() {
            self.keeping.lock()
        } else {
            match self.keeping.try_lock() {
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
                Ok(keeping) => Ok(keeping),
            }
        };
        let mut keeping = keeping.unwrap_or_else(PoisonError::into_inner);
        loop {
            let piece = self.waiting().pop_front();
            let Some(piece) = piece else { return };
            keeping.add(&piece);
            lists.give_back(piece);
        }
    }

    /// All that was put here; `None` where it was too much. Nobody else is at work any more.
    pub(crate) fn finish(&self) -> Option<Kept> {
        self.work(&Lists::default());
        let mut keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *keeping, Keeping(None)).finish()
    }
}

/// The reduced form of a trace.
pub(crate) struct Kept(Vec<u8>);

impl Kept {
    /// The trace, from its start.
    ///
    /// # Errors
    /// Where it was not written as it is read.
    pub(crate) fn source(&self) -> Result<KeptSource<'_>, TraceError> {
        Ok(KeptSource {
            kept: self,
            reader: ReducedReader::new(self.0.as_slice())?,
            idle: Vec::new(),
        })
    }
}

/// A kept trace, being read.
pub(crate) struct KeptSource<'a> {
    kept: &'a Kept,
    reader: ReducedReader<&'a [u8]>,
    /// Readers of parts that are not in use.
    idle: Vec<ReducedPartReader>,
}

impl Source for KeptSource<'_> {
    type Error = TraceError;
    type Part = KeptPart;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        *self = self.kept.source()?;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<KeptPart>, TraceError> {
        Ok(self.reader.next_part()?.map(|part| {
            let mut reader = self.idle.pop().unwrap_or_default();
            reader.begin(part);
            KeptPart(reader)
        }))
    }

    fn close(&mut self, KeptPart(part): KeptPart) -> Result<ControlFlow<()>, TraceError> {
        self.reader.close(&part);
        self.idle.push(part);
        Ok(ControlFlow::Continue(()))
    }
}

/// A part of a kept trace.
pub(crate) struct KeptPart(ReducedPartReader);

impl Part for KeptPart {
    type Error = TraceError;

    fn next(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        Ok(self.0.next_item()?.map(Piece::from))
    }
}
