//! Decoding one stream chunk.

mod executions;
mod fault;
mod plain;
mod sections;
mod tables;
mod units;
mod visits;

use crate::Item;
use crate::chunk::Totals;
use crate::compress::Unpacker;
use crate::definitions::Definitions;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes::NextEvent;
use crate::read::VisitEnds;
use crate::visit::{Grain, Visit};
pub(crate) use sections::STREAM_SECTIONS;
use sections::StreamSections;
pub(crate) use tables::recent_place;
use tables::{DecodeTables, START};
use units::Special;
use visits::Visits;

/// The maximum number of further units, beyond the first units, that the accesses of one execution
/// reach together.
pub const MOST_REACH: u64 = 65535;

/// The kind of item that [`ChunkReader::next_item`] decoded.
pub(crate) enum ChunkItemKind {
    /// Visits, in [`ChunkReader::visits`].
    Visits,
    /// An event, in [`ChunkReader::event`].
    Event,
    End,
}

/// A decoder of stream chunks. Given its patterns, each chunk can be decoded without the chunks
/// before.
pub struct ChunkReader {
    most_unit: u64,
    fetches: bool,
    unpacker: Unpacker,
    sections: StreamSections,
    tables: DecodeTables,
    visits: Visits,
    /// The totals in the chunk's body.
    totals: Totals,
    /// The totals of the items decoded so far.
    made: Totals,
    /// The sizes of the definitions at the chunk's start.
    sizes: (usize, usize),
    /// The row of the last executed pattern.
    current: u32,
    /// The number of predicted executions still to make.
    run: u64,
    /// The head of the execution after the predicted ones.
    head: Option<u8>,
    specials: Vec<(u16, Special)>,
    next_event: NextEvent,
    event: Event,
    ended: bool,
}

impl ChunkReader {
    /// A decoder of chunks with this grain. With `fetches`, recorded instruction fetches are
    /// separate visits, and data visits carry no instructions. Otherwise the decoder leaves fetches
    /// out, and data visits carry the instructions.
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            most_unit: u64::MAX >> grain.shift(),
            fetches,
            unpacker: Unpacker::new(),
            sections: StreamSections::default(),
            tables: DecodeTables::default(),
            visits: Visits::default(),
            totals: Totals::default(),
            made: Totals::default(),
            sizes: (0, 0),
            current: START,
            run: 0,
            head: None,
            specials: Vec::new(),
            next_event: NextEvent::NONE,
            event: Event::Fork { child: 0 },
            ended: true,
        }
    }

    /// Ends visits there too.
    pub(crate) const fn end_visits(&mut self, ends: VisitEnds) {
        self.visits.ends = ends;
    }

    /// Begins a stream chunk, given its body and the patterns of its process. Returns the chunk's
    /// totals.
    ///
    /// # Errors
    /// Returns an error if the body is not the body of a stream chunk.
    pub fn begin(&mut self, body: &[u8], definitions: &Definitions) -> Result<Totals, Bad> {
        self.ended = true;
        self.made = Totals::default();
        let start = self.sections.unpack(body, &mut self.unpacker)?;
        self.totals = start.totals;
        self.sizes = (definitions.patterns(), definitions.references());
        self.tables.empty(definitions);
        self.current = START;
        self.visits.restart();
        self.run = 0;
        self.head = None;
        self.specials.clear();
        let heads = self.sections.heads.bytes.len();
        self.next_event = NextEvent::first(&mut self.sections.events, heads)?;
        self.ended = false;
        Ok(self.totals)
    }

    /// Returns the next visits or event of the chunk, or `None` at its end. Visits may be empty
    /// after long work. The definitions must be those of the chunk's start.
    ///
    /// # Errors
    /// Returns an error if the chunk's content is invalid. The chunk ends there.
    pub fn next_item(&mut self, definitions: &Definitions) -> Result<Option<Item<'_>>, Bad> {
        Ok(match self.advance(definitions)? {
            ChunkItemKind::Visits => Some(Item::Visits(self.visits())),
            ChunkItemKind::Event => Some(Item::Event(self.event())),
            ChunkItemKind::End => None,
        })
    }

    pub(crate) fn visits(&self) -> &[Visit] {
        self.visits.done()
    }

    pub(crate) const fn event(&self) -> &Event {
        &self.event
    }

    /// The totals of the items decoded so far.
    pub(crate) const fn made(&self) -> Totals {
        self.made
    }

    /// Decodes the next visits or event.
    pub(crate) fn advance(&mut self, definitions: &Definitions) -> Result<ChunkItemKind, Bad> {
        if self.sizes != (definitions.patterns(), definitions.references()) {
            let reason = "the definitions changed after the chunk's start";
            return Err(Bad::new(Section::Patterns, reason));
        }
        let found = self.find(definitions);
        self.ended |= found.is_err();
        found
    }

    fn find(&mut self, definitions: &Definitions) -> Result<ChunkItemKind, Bad> {
        loop {
            if self.ended {
                return Ok(ChunkItemKind::End);
            }
            self.visits.begin();
            self.work(definitions)?;
            let more = self.run > 0 || self.head.is_some();
            if more || !self.visits.done().is_empty() {
                return self.count();
            }
            if self.next_event.is_at(self.sections.heads.at) {
                let event = NextEvent::read(&mut self.sections.events)?;
                if matches!(event, Some(Event::SpaceEnd { .. })) {
                    // The visits of the space come before its end, because no visit may follow the
                    // end.
                    self.visits.put_down();
                    if !self.visits.done().is_empty() {
                        return self.count();
                    }
                }
                let heads = self.sections.heads.bytes.len();
                self.next_event.pass(&mut self.sections.events, heads)?;
                let Some(event) = event else { continue };
                self.event = event;
                return Ok(ChunkItemKind::Event);
            }
            if self.sections.heads.is_empty() {
                self.visits.put_down();
                if !self.visits.done().is_empty() {
                    return self.count();
                }
                self.ended = true;
                self.sections.all_used()?;
                self.compare_totals()?;
            }
        }
    }

    /// Adds the visits of the finished item to the totals. A chunk's totals bound its work:
    /// exceeding the totals is an error.
    fn count(&mut self) -> Result<ChunkItemKind, Bad> {
        let before = self.made;
        self.made.add(self.visits.made());
        if self.made.accesses() > self.totals.accesses() {
            let compared = self.compare_totals();
            // The caller does not get the item.
            self.made = before;
            return compared.map(|()| ChunkItemKind::Visits);
        }
        Ok(ChunkItemKind::Visits)
    }

    fn compare_totals(&self) -> Result<(), Bad> {
        if self.totals == self.made {
            Ok(())
        } else {
            Err(Bad::new(
                Section::Totals,
                "they differ from the sums of the executions",
            ))
        }
    }
}
