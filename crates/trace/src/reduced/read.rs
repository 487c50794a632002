//! Reading a reduced trace.

use std::io::Read;

use super::columns::{ColumnReader, ScriptItem};
use super::scan::scan;
use super::{KeptVisit, ReducedHeader, Sums};
use crate::chunk::{CHECK_BYTES, CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, check_agrees};
use crate::compress::Unpacker;
use crate::error::{Bad, Section, TraceError};
use crate::event::Event;
use crate::input::Input;
use crate::varint::Cursor;

/// A reader of reduced traces, chunk by chunk.
pub struct ReducedReader<R> {
    input: Input<R>,
    header: ReducedHeader,
    totals: Option<Sums>,
    /// The sums of the closed parts.
    made: Sums,
    kept: u64,
    said_kept: u64,
    /// The number of chunks read. Chunks are numbered.
    chunks: u32,
    unpacker: Unpacker,
    /// The memory for scanning events.
    script: Vec<u8>,
    /// The number of base pages that the events of all parts so far populate.
    populated: u64,
    ended: bool,
}

/// A chunk with a valid check and undecoded content.
#[derive(Clone, Debug)]
pub struct ReducedPart {
    offset: u64,
    body: Vec<u8>,
}

impl ReducedPart {
    /// The packed columns.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }
}

impl<R: Read> ReducedReader<R> {
    /// Begins to read a reduced trace: reads its head.
    ///
    /// # Errors
    /// Returns an error if this is not a reduced trace, if another version wrote it, or if its head
    /// is damaged.
    pub fn new(mut from: R) -> Result<Self, TraceError> {
        let (header, length) = ReducedHeader::read(&mut from)?;
        Ok(Self {
            input: Input::new(from, length),
            header,
            totals: None,
            made: Sums::default(),
            kept: 0,
            said_kept: 0,
            chunks: 0,
            unpacker: Unpacker::new(),
            script: Vec::new(),
            populated: 0,
            ended: false,
        })
    }

    /// The metadata of the reduced trace.
    pub const fn header(&self) -> &ReducedHeader {
        &self.header
    }

    /// The number of base pages that system calls populate in all parts so far: see
    /// [`TraceReader::populated`](crate::TraceReader::populated).
    pub const fn populated(&self) -> u64 {
        self.populated
    }

    /// The totals of all parts and the number of their visits, as the end says; zeros before the
    /// end was read.
    pub(super) fn said(&self) -> (Sums, u64) {
        (self.totals.unwrap_or_default(), self.said_kept)
    }

    /// The number of file bytes read and understood so far.
    pub const fn bytes_read(&self) -> u64 {
        self.input.offset()
    }

    /// The underlying reader. Some of its bytes are in the read-ahead buffer.
    pub fn get_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// Records the sums of a part. The caller may close parts in any order.
    pub const fn close(&mut self, part: &ReducedPartReader) {
        self.made.add(&part.made);
        self.kept = self.kept.saturating_add(part.kept);
    }

    /// Compares the sums of all closed parts with the totals in the last chunk.
    ///
    /// # Errors
    /// Returns an error if they differ, or if the last chunk was not read.
    pub fn finish(&self) -> Result<(), TraceError> {
        let said = self.totals.map(|said| (said, self.said_kept));
        let made = Sums {
            data: false,
            ..self.made
        };
        if said == Some((made, self.kept)) {
            return Ok(());
        }
        let reason = "the sums of the items differ from the totals";
        Err(Bad::new(Section::End, reason).at(self.input.offset()))
    }

    /// Returns the next part, or `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the trace is damaged or cut off. No part follows an error.
    pub fn next_part(&mut self) -> Result<Option<ReducedPart>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let part = self.part();
        self.ended |= part.is_err();
        part
    }

    fn part(&mut self) -> Result<Option<ReducedPart>, TraceError> {
        let offset = self.input.offset();
        let truncated = |input: &Input<R>| TraceError::Truncated {
            offset,
            size: offset + input.ahead().len() as u64,
        };
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            return Err(truncated(&self.input));
        }
        let head = match self.input.ahead().first_chunk() {
            Some(bytes) => ChunkHead::parse(bytes).map_err(|bad| bad.at(offset))?,
            None => return Err(truncated(&self.input)),
        };
        let length = head.whole_length();
        if !self.input.fill(length)? {
            return Err(truncated(&self.input));
        }
        let whole = &self.input.ahead()[..length];
        if !check_agrees(whole) {
            return Err(TraceError::BadCheck { offset });
        }
        let body = &whole[CHUNK_HEAD_BYTES..length - CHECK_BYTES];
        if head.process != self.chunks {
            let reason = "chunks are missing before this chunk, or out of order";
            return Err(Bad::new(Section::ChunkHead, reason).at(offset));
        }
        match head.kind {
            ChunkKind::Reduced => {
                let body = body.to_vec();
                let scan = scan(&body, &mut self.unpacker, &mut self.script);
                self.populated = self.populated.saturating_add(scan.populated);
                self.chunks += 1;
                self.input.consume(length);
                Ok(Some(ReducedPart { offset, body }))
            }
            ChunkKind::ReducedEnd => {
                let bad = |reason| Bad::new(Section::End, reason).at(offset);
                let (totals, kept) = end(body).map_err(bad)?;
                (self.totals, self.said_kept) = (Some(totals), kept);
                self.ended = true;
                self.input.consume(length);
                if self.input.fill(1)? {
                    return Err(bad("there are bytes after the last chunk"));
                }
                Ok(None)
            }
            _ => {
                let reason = "a reduced trace has no chunks of this kind";
                Err(Bad::new(Section::ChunkHead, reason).at(offset))
            }
        }
    }
}

fn end(body: &[u8]) -> Result<(Sums, u64), &'static str> {
    let mut from = Cursor::new(body);
    let totals = Sums {
        loads: from.number()?,
        stores: from.number()?,
        instructions: from.number()?,
        data: false,
    };
    let kept = from.number()?;
    if from.is_empty() {
        Ok((totals, kept))
    } else {
        Err("there are bytes after the last number")
    }
}

/// One item of a reduced trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReducedItem<'a> {
    /// Visits that may change state, with no event between them, and the totals of all visits among
    /// them.
    Visits(&'a [KeptVisit], Sums),
    /// A change that takes effect before the next visit.
    Event(&'a Event),
}

/// A decoder of parts of a reduced trace.
pub struct ReducedPartReader {
    unpacker: Unpacker,
    reading: ColumnReader,
    part: Option<ReducedPart>,
    begun: bool,
    /// The sums of the items decoded so far.
    made: Sums,
    kept: u64,
    visits: Vec<KeptVisit>,
    event: Event,
}

impl Default for ReducedPartReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ReducedPartReader {
    /// A decoder without a part.
    pub fn new() -> Self {
        Self {
            unpacker: Unpacker::new(),
            reading: ColumnReader::default(),
            part: None,
            begun: false,
            made: Sums::default(),
            kept: 0,
            visits: Vec::new(),
            event: Event::Fork { child: 0 },
        }
    }

    /// Begins a part. The decoder skips the rest of the part before.
    pub fn begin(&mut self, part: ReducedPart) {
        self.part = Some(part);
        self.begun = false;
        (self.made, self.kept) = (Sums::default(), 0);
    }

    /// Returns the next item of the part; `None` at its end, or if no part was begun.
    ///
    /// # Errors
    /// Returns an error if the part's content is invalid.
    pub fn next_item(&mut self) -> Result<Option<ReducedItem<'_>>, TraceError> {
        let Some(part) = &self.part else {
            return Ok(None);
        };
        let offset = part.offset;
        if !self.begun {
            self.begun = true;
            let begun = self.reading.begin(&part.body, &mut self.unpacker);
            begun.map_err(|bad| bad.at(offset))?;
        }
        let bad = |reason| Bad::new(Section::Columns, reason).at(offset);
        loop {
            match self.reading.step().map_err(bad)? {
                None => {
                    self.part = None;
                    return Ok(None);
                }
                Some(ScriptItem::Unknown) => {}
                Some(ScriptItem::Event(event)) => {
                    self.event = event;
                    return Ok(Some(ReducedItem::Event(&self.event)));
                }
                Some(ScriptItem::Visits(count, sums)) => {
                    let read = (self.reading).visits(count, sums.accesses(), &mut self.visits);
                    read.map_err(bad)?;
                    self.made.add(&sums);
                    self.kept += count as u64;
                    return Ok(Some(ReducedItem::Visits(&self.visits, sums)));
                }
            }
        }
    }
}
