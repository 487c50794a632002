//! Reading a trace from its start to its end.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

mod chunks;
mod damage;
mod some;

use crate::Item;
use crate::chunk::Totals;
use crate::code::CodeTable;
use crate::compress::Unpacker;
use crate::definitions::Definitions;
use crate::error::TraceError;
use crate::head::{self, Head};
use crate::header::Header;
use crate::index::ChunkInfo;
use crate::input::Input;
use crate::part::{Closed, Part, PartItemKind, PartReader};
use some::SomeChunks;

/// The maximum number of patterns, references and fetches, together, of all processes that have not
/// ended.
pub const MOST_DEFINED: usize = 1 << 26;

/// The options of reading a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadOptions {
    /// Continue after damage, and end without an error if the file was cut off.
    /// [`TraceReader::lost`] gives the lost data.
    pub keep_going: bool,
    /// Return recorded instruction fetches as separate visits. Otherwise the reader leaves fetches
    /// out, and data visits carry the instruction counts.
    pub fetches: bool,
    /// Where visits end.
    pub ends: VisitEnds,
}

/// Where a visit ends, beside the end of a run of references to one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VisitEnds {
    /// Nowhere else.
    #[default]
    Units,
    /// Where an instruction ends. A visit without instructions then continues the instruction of
    /// the visit before. Traces without instruction counts ([`Options`]) and chunks of phrases do
    /// not show where instructions end. Reading takes several times as long.
    ///
    /// [`Options`]: crate::Options
    Instructions,
    /// Where an instruction or an execution of a pattern ends. Visits say what executes
    /// ([`Visit::execution`]), and the reader keeps the code of blocks ([`TraceReader::code`]).
    ///
    /// [`Visit::execution`]: crate::Visit::execution
    Executions,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            keep_going: false,
            fetches: true,
            ends: VisitEnds::Units,
        }
    }
}

/// The unreadable data of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lost {
    /// The number of bytes skipped.
    pub bytes: u64,
    /// The number of damaged places.
    pub places: u64,
    /// The totals of the lost data, from a chunk's totals or the index; `None` if unknown.
    pub totals: Option<Totals>,
}

/// A reader of traces. Callers read a trace item by item, or take parts that other threads read.
pub struct TraceReader<R> {
    input: Input<R>,
    header: Header,
    version: u16,
    options: ReadOptions,
    /// The definitions of each process. Parts share them; adding definitions copies shared ones.
    definitions: BTreeMap<u32, Arc<Definitions>>,
    /// The definitions of a process without definitions.
    none: Arc<Definitions>,
    /// The size of all definitions, in array elements.
    defined: usize,
    /// The code of all patterns so far.
    code: Arc<CodeTable>,
    /// The part reader of [`TraceReader::next_item`].
    own: PartReader,
    unpacker: Unpacker,
    /// The memory for scanning events.
    events: Vec<u8>,
    /// The number of base pages that the events of all parts so far populate.
    populated: u64,
    process: Option<u32>,
    /// The whole chunks so far.
    chunks: Vec<ChunkInfo>,
    /// The totals of closed parts.
    totals: Totals,
    /// The number of parts taken and not closed.
    open: usize,
    /// True if the reader has read the index.
    complete: bool,
    ended: bool,
    lost: Lost,
    lost_totals: Option<Totals>,
    /// The number of bytes searched for a chunk after damage.
    searched: u64,
    /// The end of reading before the end of the file.
    some: Option<SomeChunks>,
}

impl<R: Read> TraceReader<R> {
    /// Begins to read a trace and reads its head. Reading is strict, and fetches are visits.
    ///
    /// # Errors
    /// Returns an error if this is not a trace, if a later version wrote it, or if its head is
    /// damaged.
    pub fn new(from: R) -> Result<Self, TraceError> {
        Self::with_options(from, ReadOptions::default())
    }

    /// Begins to read a trace with these options.
    ///
    /// # Errors
    /// Returns an error if this is not a trace, if a later version wrote it, or if its head is
    /// damaged.
    pub fn with_options(mut from: R, options: ReadOptions) -> Result<Self, TraceError> {
        let Head {
            header,
            version,
            length,
        } = head::read(&mut from)?;
        Ok(Self::after_head(from, header, version, length, options))
    }

    /// A reader of the bytes after the head, which ends at byte `length` of the file.
    fn after_head(
        from: R,
        header: Header,
        version: u16,
        length: u64,
        options: ReadOptions,
    ) -> Self {
        Self {
            input: Input::new(from, length),
            none: Arc::new(Definitions::new(header.options.instruction_pages)),
            own: PartReader::new(header.grain, options.fetches).ending_visits(options.ends),
            code: Arc::default(),
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
            some: None,
        }
    }

    /// The metadata of the trace.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The code of all patterns so far, if the reader was asked for executions. The table grows
    /// while the trace is read.
    pub const fn code(&self) -> &Arc<CodeTable> {
        &self.code
    }

    /// The format version in the head, from 1 to [`VERSION`](crate::VERSION).
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// The totals so far: of closed parts, and of the items that [`TraceReader::next_item`]
    /// returned from the current part.
    pub fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals.add(&self.own.made());
        totals
    }

    /// The number of base pages that system calls populate in all parts so far. Repeated population
    /// of a page counts each time. A chunk of few bytes may populate any number of pages, so a
    /// replayer must bound this number.
    pub const fn populated(&self) -> u64 {
        self.populated
    }

    /// The number of file bytes read and understood so far.
    pub const fn bytes_read(&self) -> u64 {
        self.input.offset()
    }

    /// Returns true if the trace was read to its end, and has an end. A killed recording has none.
    /// A part counts as read when it was closed.
    pub const fn complete(&self) -> bool {
        self.complete && self.open == 0
    }

    /// The unreadable data so far. Only [`ReadOptions::keep_going`] permits any.
    pub fn lost(&self) -> Lost {
        Lost {
            totals: self.lost_totals,
            ..self.lost
        }
    }

    /// The underlying reader. Some of its bytes are in the read-ahead buffer.
    pub fn get_mut(&mut self) -> &mut R {
        self.input.get_mut()
    }

    /// Returns the next visits or event, or `None` at the end. Visits may be empty after long work.
    /// An [`Event::SpaceSwitch`] precedes the first item, and each first item of another process.
    ///
    /// # Errors
    /// Returns an error if the trace is damaged or cut off, after all items before the damage. No
    /// item follows an error.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, TraceError> {
        loop {
            match self.own.advance() {
                Ok(PartItemKind::End) => {}
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

    /// Returns the next part, for a [`PartReader`], or `None` at the end. The items of all parts in
    /// order are the items of [`TraceReader::next_item`]: callers use one of the two.
    ///
    /// The caller must pass each part to [`TraceReader::close`], in any order; parts after a
    /// damaged part are exempt. Totals and completeness are known after the last close. With
    /// [`ReadOptions::keep_going`], the caller must close a part before taking the next, because
    /// lost data decides how the reader checks the index.
    ///
    /// # Errors
    /// Returns an error if the trace is damaged or cut off between parts. The error follows all
    /// items and errors of the parts before. No part follows an error.
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

    /// Records the result of reading a part from this reader. Reading ends after a damaged part,
    /// unless [`ReadOptions::keep_going`] is set.
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
}
