//! Reading a trace from its start to its end.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use crate::Item;
use crate::chunk::{
    CHECK_BYTES, CHUNK, CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, END, TRAILER_BYTES, Totals,
    check_agrees,
};
use crate::compress::Unpacker;
use crate::definitions::Definitions;
use crate::error::{Bad, Section, TraceError};
use crate::event_scan::EventScan;
use crate::head::{self, Head};
use crate::header::Header;
use crate::index::{self, ChunkInfo, StreamStart};
use crate::input::Input;
use crate::part::{Closed, Found, Part, PartReader};

/// Most patterns, references and fetches, taken together, of all processes that have not ended.
pub const MOST_DEFINED: usize = 1 << 26;

/// How many bytes of possible chunks are checked behind damage before the rest is given up.
const MOST_SEARCHED: u64 = 1 << 34;

/// How a trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadOptions {
    /// Read on behind damage, and end quietly where the file was cut off. [`TraceReader::lost`] says what was lost.
    pub keep_going: bool,
    /// Instruction fetches are visits of their own where the trace tells them. Without this they are left out, and the
    /// data visits carry the instruction counts.
    pub fetches: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            keep_going: false,
            fetches: true,
        }
    }
}

/// What could not be read of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lost {
    /// Bytes that were passed over.
    pub bytes: u64,
    /// In how many places.
    pub places: u64,
    /// What they would have come to, as a chunk's own totals or the index say; `None` where that cannot be known.
    pub totals: Option<Totals>,
}

/// Reads a trace, chunk by chunk: either item by item, or in parts that other threads can read.
pub struct TraceReader<R> {
    input: Input<R>,
    header: Header,
    version: u16,
    options: ReadOptions,
    /// Parts that were handed out keep theirs when more are added here.
    definitions: BTreeMap<u32, Arc<Definitions>>,
    /// What a process has that has none.
    none: Arc<Definitions>,
    /// The size of all definitions.
    defined: usize,
    /// What [`TraceReader::next_item`] reads parts with.
    own: PartReader,
    unpacker: Unpacker,
    /// Events that are looked through.
    events: Vec<u8>,
    /// Base pages that the events of all parts so far populate.
    populated: u64,
    process: Option<u32>,
    /// Every whole chunk so far.
    chunks: Vec<ChunkInfo>,
    /// Of parts that were closed.
    totals: Totals,
    /// Parts that were handed out and not closed.
    open: usize,
    /// The index was met.
    complete: bool,
    ended: bool,
    lost: Lost,
    lost_totals: Option<Totals>,
    /// Bytes that were looked through for a chunk behind damage.
    searched: u64,
}

impl<R: Read> TraceReader<R> {
    /// Begins to read a trace: reads its head. What follows is read strictly, and fetches are told.
    ///
    /// # Errors
    /// Where this is no trace, one of a later version, or its head is damaged.
    pub fn new(from: R) -> Result<Self, TraceError> {
        Self::with_options(from, ReadOptions::default())
    }

    /// Begins to read a trace in this manner.
    ///
    /// # Errors
    /// Where this is no trace, one of a later version, or its head is damaged.
    pub fn with_options(mut from: R, options: ReadOptions) -> Result<Self, TraceError> {
        let Head {
            header,
            version,
            length,
        } = head::read(&mut from)?;
        Ok(Self {
            input: Input::new(from, length),
            none: Arc::new(Definitions::new(header.options.instruction_pages)),
            own: PartReader::new(header.grain, options.fetches),
            unpacker: Unpacker::new(),
            events: Vec::new(),
            populated: 0,
            header,
            version,
            options,
            definitions: BTreeMap::new(),
            defined: 0,
            process: None,
            chunks: Vec::new(),
            totals: Totals::default(),
            open: 0,
            complete: false,
            ended: false,
            lost: Lost::default(),
            lost_totals: Some(Totals::default()),
            searched: 0,
        })
    }

    /// What the trace says about itself.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The version of the format that its head names, from 1 to [`VERSION`](crate::VERSION).
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// What was read so far comes to: parts that were closed, and what [`TraceReader::next_item`] told of the present one.
    pub fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals.add(&self.own.made());
        totals
    }

    /// Base pages that system calls populate in all parts so far, each as often as it is populated.
    /// A chunk of few bytes may populate any number, so a reader that replays them has to bound
    /// them.
    pub const fn populated(&self) -> u64 {
        self.populated
    }

    /// How many bytes of the file were understood so far.
    pub const fn bytes_read(&self) -> u64 {
        self.input.offset()
    }

    /// Whether the trace was read to its end, and has one: what a killed recording left has none. Parts were read when they
    /// were closed.
    pub const fn complete(&self) -> bool {
        self.complete && self.open == 0
    }

    /// What could not be read so far; only with [`ReadOptions::keep_going`] can anything be.
    pub fn lost(&self) -> Lost {
        Lost {
            totals: self.lost_totals,
            ..self.lost
        }
    }

    /// What the trace is read from. Some of it was read ahead.
    pub fn get_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// The next visits (there may be none in a piece that only took long) or event, or `None` at the end. Before the first piece of
    /// another process than the one before, and before the very first, stands a [`Event::SpaceSwitch`].
    ///
    /// # Errors
    /// Where the trace is damaged or cut off, after all that stands before; there is nothing behind an error.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, TraceError> {
        loop {
            match self.own.advance() {
                Ok(Found::End) => {}
                Ok(found) => {
                    self.own.unfold(found);
                    return Ok(self.own.item(found));
                }
                Err(_) if self.options.keep_going => {}
                Err(error) => {
                    self.close_own();
                    return Err(error);
                }
            }
            self.close_own();
            match self.next_part()? {
                Some(part) => self.own.begin(part),
                None => return Ok(None),
            }
        }
    }

    fn close_own(&mut self) {
        if let Some(closed) = self.own.close() {
            self.close(closed);
        }
    }

    /// The next part, for a [`PartReader`]; `None` at the end. The items of all parts, in the order of the parts, are those that
    /// [`TraceReader::next_item`] would answer: use the one or the other. Each part has to come back to
    /// [`TraceReader::close`], in any order, but for those behind one that is damaged; until it does, what the trace comes to
    /// and whether it is complete is not known. With [`ReadOptions::keep_going`] it has to come back before the next is asked for,
    /// since what is lost decides what the index has to say.
    ///
    /// # Errors
    /// Where the trace is damaged or cut off between parts. That stands behind what the parts before hold, errors included;
    /// there is nothing behind it.
    pub fn next_part(&mut self) -> Result<Option<Part>, TraceError> {
        while !self.ended {
            match self.next_chunk() {
                Ok(None) => {}
                Ok(part) => return Ok(part),
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Takes in what a part came to that this reader handed out. Behind a part that was damaged nothing more is read, unless
    /// [`ReadOptions::keep_going`] says so.
    pub fn close(&mut self, part: Closed) {
        self.open = self.open.saturating_sub(1);
        self.totals.add(&part.made);
        if part.whole {
            return;
        }
        if self.options.keep_going {
            self.lose(part.length, Some(part.said.less(&part.made)));
        } else {
            self.ended = true;
            self.complete = false;
        }
    }

    /// Reads the next chunk. Answers what is a part.
    fn next_chunk(&mut self) -> Result<Option<Part>, TraceError> {
        let offset = self.input.offset();
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            let rest = self.input.ahead().len() as u64;
            if rest == 0 {
                self.ended = true;
                return Ok(None);
            }
            return self.damage(TraceError::Truncated {
                offset,
                size: offset + rest,
            });
        }
        let head = match self.chunk_head() {
            Ok(head) => head,
            Err(bad) => return self.damage(bad.at(offset)),
        };
        let length = head.whole_length();
        if !self.input.fill(length)? {
            let size = offset + self.input.ahead().len() as u64;
            return self.damage(TraceError::Truncated { offset, size });
        }
        let whole = &self.input.ahead()[..length];
        if !check_agrees(whole) {
            return self.damage(TraceError::BadCheck { offset });
        }
        let body = &whole[CHUNK_HEAD_BYTES..length - CHECK_BYTES];
        let mut info = ChunkInfo {
            kind: head.kind,
            process: head.process,
            offset,
            totals: Totals::default(),
        };
        let understood = match head.kind {
            ChunkKind::Definitions => {
                let of = self.definitions.entry(head.process);
                let of = Arc::make_mut(of.or_insert_with(|| Arc::clone(&self.none)));
                self.defined -= of.size();
                let added = of.add(body, self.options.keep_going);
                self.defined += of.size();
                if self.defined > MOST_DEFINED {
                    let reason = "more is defined than a reader can keep";
                    return Err(Bad::new(Section::Definitions, reason).at(offset));
                }
                added.map(|()| None)
            }
            ChunkKind::Stream | ChunkKind::Phrases => StreamStart::parse(body)
                .map(|start| Some((start.totals, body.to_vec())))
                .map_err(|reason| Bad::new(Section::Totals, reason)),
            ChunkKind::Index => {
                let chunks = index::from_body(body);
                return match chunks {
                    Ok(chunks) => self.end(offset, length, &chunks),
                    Err(bad) => self.pass_over(length, bad.at(offset)),
                };
            }
            ChunkKind::Reduced | ChunkKind::ReducedEnd | ChunkKind::Other(_) => Ok(None),
        };
        let stream = match understood {
            Ok(stream) => stream,
            Err(bad) => return self.pass_over(length, bad.at(offset)),
        };
        self.input.consume(length);
        if let Some((totals, _)) = stream {
            info.totals = totals;
        }
        self.chunks.push(info);
        Ok(stream.map(|(_, body)| self.part(info, length, body)))
    }

    /// A part, handed out.
    fn part(&mut self, info: ChunkInfo, length: usize, body: Vec<u8>) -> Part {
        let scan = EventScan::of_chunk(info.kind, &body, &mut self.unpacker, &mut self.events);
        self.populated = self.populated.saturating_add(scan.populated);
        let definitions = if info.kind == ChunkKind::Stream && scan.ends_space {
            // Should the space go on, it begins anew.
            let of = self.definitions.remove(&info.process);
            self.defined -= of.as_ref().map_or(0, |of| of.size());
            of
        } else {
            self.definitions.get(&info.process).map(Arc::clone)
        };
        let switches = self.process != Some(info.process);
        self.process = Some(info.process);
        self.open += 1;
        Part {
            info,
            body,
            definitions: definitions.unwrap_or_else(|| Arc::clone(&self.none)),
            switches,
            length: length as u64,
        }
    }

    /// The head of the chunk that begins where what is ahead does.
    fn chunk_head(&self) -> Result<ChunkHead, Bad> {
        match self.input.ahead().first_chunk() {
            Some(bytes) => ChunkHead::parse(bytes),
            None => Err(Bad::new(Section::ChunkHead, "it is too short")),
        }
    }

    /// The index was met: what it says has to be what was read, and the file has to end behind it.
    fn end(
        &mut self,
        offset: u64,
        length: usize,
        said: &[ChunkInfo],
    ) -> Result<Option<Part>, TraceError> {
        if self.lost.places > 0 {
            let mut all = Totals::default();
            for chunk in said {
                all.add(&chunk.totals);
            }
            self.lost_totals = Some(all.less(&self.totals));
        } else if said != self.chunks {
            let bad = Bad::new(Section::Index, "it does not name the chunks that are there");
            return self.pass_over(length, bad.at(offset));
        }
        self.input.consume(length);
        self.complete = true;
        self.ended = true;
        let at = self.input.offset();
        let whole = self.input.fill(TRAILER_BYTES)?;
        let more = self.input.fill(TRAILER_BYTES + 1)?;
        let rest = self.input.ahead();
        if whole && !more && rest[..8] == offset.to_le_bytes() && rest[8..] == END {
            self.input.consume(TRAILER_BYTES);
            return Ok(None);
        }
        if self.options.keep_going {
            self.ended = false;
            self.search()?;
            return Ok(None);
        }
        if !whole {
            let size = at + rest.len() as u64;
            return Err(TraceError::Truncated { offset: at, size });
        }
        let reason = if more {
            "something follows it"
        } else {
            "the last bytes do not point to the index"
        };
        Err(Bad::new(Section::End, reason).at(at))
    }

    // ---- damage ----

    /// What stands ahead is no whole chunk.
    fn damage(&mut self, error: TraceError) -> Result<Option<Part>, TraceError> {
        if !self.options.keep_going {
            return Err(error);
        }
        self.search()?;
        Ok(None)
    }

    /// The chunk ahead is whole, and means nothing.
    fn pass_over(&mut self, length: usize, error: TraceError) -> Result<Option<Part>, TraceError> {
        if !self.options.keep_going {
            return Err(error);
        }
        self.input.consume(length);
        self.lose(length as u64, None);
        Ok(None)
    }

    fn lose(&mut self, bytes: u64, totals: Option<Totals>) {
        self.lost.bytes += bytes;
        self.lost.places += 1;
        self.lost_totals = match (self.lost_totals, totals) {
            (Some(mut sum), Some(more)) => {
                sum.add(&more);
                Some(sum)
            }
            _ => None,
        };
    }

    /// Looks for the next whole chunk behind the byte ahead.
    fn search(&mut self) -> Result<(), TraceError> {
        let from = self.input.offset();
        if !self.input.ahead().is_empty() {
            self.input.consume(1);
        }
        while self.input.fill(CHUNK_HEAD_BYTES)? && self.searched < MOST_SEARCHED {
            let ahead = self.input.ahead();
            let found = ahead.windows(CHUNK.len()).position(|four| four == CHUNK);
            let Some(at) = found else {
                let passed = ahead.len() + 1 - CHUNK.len();
                self.input.consume(passed);
                continue;
            };
            self.input.consume(at);
            if self.whole_chunk_ahead()? {
                break;
            }
            self.input.consume(1);
        }
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            self.input.consume(self.input.ahead().len());
        }
        if self.searched >= MOST_SEARCHED {
            // Made to be searched for ever. What is left is lost, as far as it was looked at.
            self.input.consume(self.input.ahead().len());
            self.ended = true;
        }
        self.lose(self.input.offset() - from, None);
        Ok(())
    }

    fn whole_chunk_ahead(&mut self) -> Result<bool, TraceError> {
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            return Ok(false);
        }
        let Ok(head) = self.chunk_head() else {
            return Ok(false);
        };
        let length = head.whole_length();
        self.searched += length as u64;
        if !self.input.fill(length)? {
            return Ok(false);
        }
        Ok(check_agrees(&self.input.ahead()[..length]))
    }
}
