//! Writing a reduced trace.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::columns::{MOST_OF_A_PIECE, MOST_VISITS, ReducedColumns};
use super::read::ReducedReader;
use super::{KeptVisit, ReducedHeader, Sums};
use crate::chunk::{self, ChunkKind};
use crate::compress::{DEFAULT_LEVEL, Packer};
use crate::error::WriteError;
use crate::event::Event;
use crate::varint;

/// The number of visits at which a chunk ends. The decoded chunk fits a reader's caches.
const CHUNK_VISITS: usize = 1 << 18;
/// The number of visits at which a chunk ends, for a trace that is read soon.
const SHORT_CHUNK_VISITS: usize = 1 << 15;
/// The number of script bytes at which a chunk ends.
const CHUNK_SCRIPT: usize = 1 << 20;
/// The number of recent pages with a direct lookup. A power of two.
const RECENT: usize = 1 << 12;
/// The Zstandard level. Traces are read more often than written.
const LEVEL: i32 = 3;

/// A writer of reduced traces.
pub struct ReducedWriter<W> {
    to: W,
    packer: Packer,
    columns: ReducedColumns,
    /// The number of visits at which a chunk ends.
    chunk_visits: usize,
    /// The chunk's pages with their numbers.
    pages: BTreeMap<u64, u32>,
    recent: Vec<(u64, u32)>,
    last_page: u64,
    totals: Sums,
    kept: u64,
    /// The number of chunks so far.
    chunks: u32,
}

impl<W: Write> ReducedWriter<W> {
    /// Begins a reduced trace and writes its head.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn new(mut to: W, header: &ReducedHeader) -> Result<Self, WriteError> {
        to.write_all(&header.to_bytes())?;
        Ok(Self {
            to,
            packer: Packer::new(LEVEL)?,
            columns: ReducedColumns::default(),
            chunk_visits: CHUNK_VISITS,
            pages: BTreeMap::new(),
            recent: vec![(u64::MAX, 0); RECENT],
            last_page: 0,
            totals: Sums::default(),
            kept: 0,
            chunks: 0,
        })
    }

    /// Configures the writer for a trace that this process alone reads soon. Chunks are shorter:
    /// less memory is in use, and several threads find work early. Compression is faster.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub fn soon_read(mut self) -> Result<Self, WriteError> {
        self.chunk_visits = SHORT_CHUNK_VISITS;
        self.packer.set_level(DEFAULT_LEVEL)?;
        Ok(self)
    }

    /// Appends visits with no event between them: the visits that may change state, and the totals
    /// of all visits.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn visits(&mut self, visits: &[KeptVisit], sums: &Sums) -> Result<(), WriteError> {
        if self.columns.low.len() >= self.chunk_visits {
            self.flush()?;
        }
        if visits.len() > MOST_VISITS - CHUNK_VISITS {
            return Err(WriteError::TooLarge("an item has too many visits"));
        }
        if sums.loads.max(sums.stores).max(sums.instructions) > MOST_OF_A_PIECE {
            return Err(WriteError::TooLarge("an item's totals exceed 2^52"));
        }
        self.columns.put_visits(visits.len(), sums);
        let mut time = 0;
        for visit in visits {
            let page = self.number(visit.page);
            let since = visit.time.checked_sub(time);
            let since = since.ok_or(WriteError::TooLarge("visits out of order"))?;
            self.columns.put_visit(page, since, visit);
            time = visit.time;
        }
        self.totals.add(sums);
        self.kept += visits.len() as u64;
        Ok(())
    }

    /// Appends an event.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        if self.columns.script.len() >= CHUNK_SCRIPT {
            self.flush()?;
        }
        self.columns.put_event(event).map_err(WriteError::Event)
    }

    /// Ends the chunk here. Pieces before this point do not change the bytes of those after it.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn end_chunk(&mut self) -> Result<(), WriteError> {
        self.flush()
    }

    /// The accesses so far, those of left-out visits included.
    pub const fn accesses(&self) -> u64 {
        self.totals.accesses()
    }

    /// Appends all pieces of another reduced trace, which `whole` holds. Its chunks are copied as
    /// they are packed, under new numbers.
    ///
    /// # Errors
    /// If `whole` is no whole reduced trace or cannot be read ([`io::ErrorKind::InvalidData`]), or
    /// if the copy cannot be written.
    pub fn append(&mut self, whole: impl Read) -> Result<(), WriteError> {
        self.flush()?;
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut from = ReducedReader::new(whole).map_err(invalid)?;
        while let Some(part) = from.next_part().map_err(invalid)? {
            let mut bytes = chunk::open(ChunkKind::Reduced, self.chunks);
            bytes.extend_from_slice(part.body());
            chunk::close(&mut bytes).map_err(WriteError::TooLarge)?;
            self.to.write_all(&bytes)?;
            self.chunks += 1;
        }
        let (totals, kept) = from.said();
        self.totals.add(&totals);
        self.kept += kept;
        Ok(())
    }

    fn number(&mut self, page: u64) -> u32 {
        let recent = &mut self.recent[page as usize % RECENT];
        if recent.0 == page {
            return recent.1;
        }
        let next = self.pages.len() as u32;
        let number = *self.pages.entry(page).or_insert(next);
        if number == next {
            let distance = page.wrapping_sub(self.last_page);
            let zigzag = distance << 1 ^ ((distance.cast_signed() >> 63).cast_unsigned());
            varint::put(&mut self.columns.pages, zigzag);
            self.last_page = page;
        }
        *recent = (page, number);
        number
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        if self.columns.script.is_empty() {
            return Ok(());
        }
        let mut bytes = chunk::open(ChunkKind::Reduced, self.chunks);
        self.columns.pack(&mut self.packer, &mut bytes)?;
        chunk::close(&mut bytes).map_err(WriteError::TooLarge)?;
        self.to.write_all(&bytes)?;
        self.chunks += 1;
        self.columns.clear();
        self.pages.clear();
        self.recent.fill((u64::MAX, 0));
        self.last_page = 0;
        Ok(())
    }

    /// Writes the rest and the last chunk. Returns the output and the number of kept visits.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish(mut self) -> Result<(W, u64), WriteError> {
        self.end()?;
        Ok((self.to, self.kept))
    }

    /// Ends the trace as [`ReducedWriter::finish`] does, and begins another with the memory of this
    /// writer.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish_and_begin(
        &mut self,
        mut to: W,
        header: &ReducedHeader,
    ) -> Result<(W, u64), WriteError> {
        self.end()?;
        to.write_all(&header.to_bytes())?;
        self.totals = Sums::default();
        self.chunks = 0;
        let kept = std::mem::take(&mut self.kept);
        Ok((std::mem::replace(&mut self.to, to), kept))
    }

    fn end(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        let mut bytes = chunk::open(ChunkKind::ReducedEnd, self.chunks);
        for value in [
            self.totals.loads,
            self.totals.stores,
            self.totals.instructions,
            self.kept,
        ] {
            varint::put(&mut bytes, value);
        }
        chunk::close(&mut bytes).map_err(WriteError::TooLarge)?;
        self.to.write_all(&bytes)?;
        Ok(())
    }
}
