//! Writing a reduced trace.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::columns::{Columns, MOST_OF_A_PIECE, MOST_VISITS};
use super::read::ReducedReader;
use super::{Kept, ReducedHeader, Sums};
use crate::chunk::{self, ChunkKind};
use crate::compress::{DEFAULT_LEVEL, Packer};
use crate::error::WriteError;
use crate::event::Event;
use crate::varint;

/// How many visits a chunk holds, or a few more: few enough that what a reader unpacks stays near.
const CHUNK_VISITS: usize = 1 << 18;
/// The same where it is read soon.
const SHORT_CHUNK_VISITS: usize = 1 << 15;
/// How many bytes of events and the like a chunk holds.
const CHUNK_SCRIPT: usize = 1 << 20;
/// How many recently used pages are found without a search. A power of two.
const RECENT: usize = 1 << 12;
/// Zstandard's level: it is read more often than written.
const LEVEL: i32 = 3;

/// Writes a reduced trace, piece by piece.
pub struct ReducedWriter<W> {
    to: W,
    packer: Packer,
    columns: Columns,
    /// How many visits a chunk holds, or a few more.
    chunk_visits: usize,
    /// The chunk's pages and their numbers.
    pages: BTreeMap<u64, u32>,
    recent: Vec<(u64, u32)>,
    last_page: u64,
    totals: Sums,
    kept: u64,
    /// Chunks so far.
    chunks: u32,
}

impl<W: Write> ReducedWriter<W> {
    /// Begins a reduced trace: writes its head.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(mut to: W, header: &ReducedHeader) -> Result<Self, WriteError> {
        to.write_all(&header.to_bytes())?;
        Ok(Self {
            to,
            packer: Packer::new(LEVEL)?,
            columns: Columns::default(),
            chunk_visits: CHUNK_VISITS,
            pages: BTreeMap::new(),
            recent: vec![(u64::MAX, 0); RECENT],
            last_page: 0,
            totals: Sums::default(),
            kept: 0,
            chunks: 0,
        })
    }

    /// The same for what is soon read again, by this process alone: in shorter chunks, so that little memory is in use at a time and several threads find
    /// work at once, and packed faster.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn soon_read(mut self) -> Result<Self, WriteError> {
        self.chunk_visits = SHORT_CHUNK_VISITS;
        self.packer.set_level(DEFAULT_LEVEL)?;
        Ok(self)
    }

    /// Appends visits without an event between them: those that may change something, and what they and those that do not come to.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn visits(&mut self, visits: &[Kept], sums: &Sums) -> Result<(), WriteError> {
        if self.columns.low.len() >= self.chunk_visits {
            self.flush()?;
        }
        if visits.len() > MOST_VISITS - CHUNK_VISITS {
            return Err(WriteError::TooLarge("a piece has too many visits"));
        }
        if sums.loads.max(sums.stores).max(sums.instructions) > MOST_OF_A_PIECE {
            return Err(WriteError::TooLarge("a piece comes to more than 2^52"));
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
    /// Where it cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        if self.columns.script.len() >= CHUNK_SCRIPT {
            self.flush()?;
        }
        self.columns.put_event(event).map_err(WriteError::Event)
    }

    /// Appends all pieces of another reduced trace, which `whole` holds. Its chunks are copied as
    /// they are packed, under new numbers.
    ///
    /// # Errors
    /// If `whole` is no whole reduced trace, or the copy cannot be written.
    pub fn append(&mut self, whole: &[u8]) -> Result<(), WriteError> {
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

    /// Writes what is left, and the end. Answers what it was written to, and how many visits were.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> Result<(W, u64), WriteError> {
        self.end()?;
        Ok((self.to, self.kept))
    }

    /// The same, and begins another reduced trace with the memory of this one.
    ///
    /// # Errors
    /// Where either cannot be written.
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
