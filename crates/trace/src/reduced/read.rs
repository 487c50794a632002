//! Reading a reduced trace.

use std::io::Read;

use super::columns::{Reading, Step};
use super::scan::scan;
use super::{Kept, ReducedHeader, Sums};
use crate::chunk::{CHECK_BYTES, CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, check_agrees};
use crate::compress::Unpacker;
use crate::error::{Bad, Section, TraceError};
use crate::event::Event;
use crate::input::Input;
use crate::varint::Cursor;

/// Reads a reduced trace, chunk by chunk.
pub struct ReducedReader<R> {
    input: Input<R>,
    header: ReducedHeader,
    totals: Option<Sums>,
    /// What was made of the parts that were closed.
    made: Sums,
    kept: u64,
    said_kept: u64,
    /// How many chunks were read: they are numbered.
    chunks: u32,
    unpacker: Unpacker,
    /// Events that are looked through.
    script: Vec<u8>,
    /// Base pages that the events of all parts so far populate.
    populated: u64,
    ended: bool,
}

/// A chunk whose check agreed and that was not looked into further.
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
    /// Where this is none, one of a later version, or its head is damaged.
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

    /// What it says about itself.
    pub const fn header(&self) -> &ReducedHeader {
        &self.header
    }

    /// Base pages that system calls populate in all parts so far, each as often as it is populated:
    /// as [`TraceReader::populated`](crate::TraceReader::populated).
    pub const fn populated(&self) -> u64 {
        self.populated
    }

    /// The totals of all parts and the number of their visits, as the end says; zeros before the
    /// end was read.
    pub(super) fn said(&self) -> (Sums, u64) {
        (self.totals.unwrap_or_default(), self.said_kept)
    }

    /// The number of bytes that were understood so far.
    pub const fn bytes_read(&self) -> u64 {
        self.input.offset()
    }

    /// What is read from. Some of it was read ahead.
    pub fn get_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// Takes in what was made of a part. Parts may come back in any order.
    pub const fn close(&mut self, part: &ReducedPartReader) {
        self.made.add(&part.made);
        self.kept = self.kept.saturating_add(part.kept);
    }

    /// Sees whether all parts, which were closed, come to what the end says.
    ///
    /// # Errors
    /// Where they do not, or the end was not read.
    pub fn finish(&self) -> Result<(), TraceError> {
        let said = self.totals.map(|said| (said, self.said_kept));
        let made = Sums {
            data: false,
            ..self.made
        };
        if said == Some((made, self.kept)) {
            return Ok(());
        }
        let reason = "its pieces do not come to what it says";
        Err(Bad::new(Section::End, reason).at(self.input.offset()))
    }

    /// The next part, or `None` at the end.
    ///
    /// # Errors
    /// Where it is damaged or cut off. There is nothing behind an error.
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
            let reason = "chunks are missing before it, or out of order";
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
                    return Err(bad("something follows it"));
                }
                Ok(None)
            }
            _ => {
                let reason = "it is of a kind that a reduced trace does not have";
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
        Err("something follows its last number")
    }
}

/// One piece of a reduced trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReducedItem<'a> {
    /// Visits that may change something, with no event between them, and what they and those that do not come to.
    Visits(&'a [Kept], Sums),
    /// Something that takes effect before the next visit.
    Event(&'a Event),
}

/// Reads parts of a reduced trace, one after the other.
pub struct ReducedPartReader {
    unpacker: Unpacker,
    reading: Reading,
    part: Option<ReducedPart>,
    begun: bool,
    /// What was made of the part so far.
    made: Sums,
    kept: u64,
    visits: Vec<Kept>,
    event: Event,
}

impl Default for ReducedPartReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ReducedPartReader {
    /// A reader without a part.
    pub fn new() -> Self {
        Self {
            unpacker: Unpacker::new(),
            reading: Reading::default(),
            part: None,
            begun: false,
            made: Sums::default(),
            kept: 0,
            visits: Vec::new(),
            event: Event::Fork { child: 0 },
        }
    }

    /// Begins a part. What was left of the one before is passed over.
    pub fn begin(&mut self, part: ReducedPart) {
        self.part = Some(part);
        self.begun = false;
        (self.made, self.kept) = (Sums::default(), 0);
    }

    /// The next piece of the part; `None` at its end, and where none was begun.
    ///
    /// # Errors
    /// Where the part says what it cannot mean.
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
                Some(Step::Unknown) => {}
                Some(Step::Event(event)) => {
                    self.event = event;
                    return Ok(Some(ReducedItem::Event(&self.event)));
                }
                Some(Step::Visits(count, sums)) => {
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
