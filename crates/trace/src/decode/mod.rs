//! Reading one stream chunk.

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
use crate::visit::{Grain, Visit};
pub(crate) use sections::STREAM_SECTIONS;
use sections::Sections;
pub(crate) use tables::recent_place;
use tables::{START, Tables};
use units::Special;
use visits::Visits;

/// How many units beyond their first the accesses of one execution reach together, at most.
pub const MOST_REACH: u64 = 65535;

/// What [`ChunkReader::next_item`] found.
pub(crate) enum Found {
    /// They stand in [`ChunkReader::visits`].
    Visits,
    /// It stands in [`ChunkReader::event`].
    Event,
    End,
}

/// Reads stream chunks one at a time, in any order: each can be read without the ones before, once its patterns are known.
pub struct ChunkReader {
    most_unit: u64,
    fetches: bool,
    unpacker: Unpacker,
    sections: Sections,
    tables: Tables,
    visits: Visits,
    /// What the chunk says that it comes to.
    totals: Totals,
    /// What was made of it so far.
    made: Totals,
    /// The sizes of the definitions that the chunk was begun with.
    sizes: (usize, usize),
    /// The row of the pattern that was executed last.
    current: u32,
    /// Executions that are foretold and still to be made.
    run: u64,
    /// The head whose execution follows them.
    head: Option<u8>,
    specials: Vec<(u16, Special)>,
    next_event: NextEvent,
    event: Event,
    ended: bool,
}

impl ChunkReader {
    /// A reader of chunks of this grain. With `fetches`, instruction fetches are visits of their own where they are told, and
    /// data visits carry no instructions there; without, they are left out, and data visits carry them.
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            most_unit: u64::MAX >> grain.shift(),
            fetches,
            unpacker: Unpacker::new(),
            sections: Sections::default(),
            tables: Tables::default(),
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

    /// Begins a stream chunk, given its body and the patterns of its process. Answers what it says that it comes to.
    ///
    /// # Errors
    /// Where the body is not that of a stream chunk.
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

    /// The next visits (there may be none in a piece that only took long) or event of the chunk; `None` at its end. The
    /// definitions are those that the chunk was begun with.
    ///
    /// # Errors
    /// Where the chunk says what it cannot mean. It ends there.
    pub fn next_item(&mut self, definitions: &Definitions) -> Result<Option<Item<'_>>, Bad> {
        Ok(match self.advance(definitions)? {
            Found::Visits => Some(Item::Visits(self.visits())),
            Found::Event => Some(Item::Event(self.event())),
            Found::End => None,
        })
    }

    pub(crate) fn visits(&self) -> &[Visit] {
        self.visits.done()
    }

    pub(crate) const fn event(&self) -> &Event {
        &self.event
    }

    /// What was made of the chunk so far.
    pub(crate) const fn made(&self) -> Totals {
        self.made
    }

    /// Goes on to the next visits or event.
    pub(crate) fn advance(&mut self, definitions: &Definitions) -> Result<Found, Bad> {
        if self.sizes != (definitions.patterns(), definitions.references()) {
            let reason = "it was begun with other definitions";
            return Err(Bad::new(Section::Patterns, reason));
        }
        let found = self.find(definitions);
        self.ended |= found.is_err();
        found
    }

    fn find(&mut self, definitions: &Definitions) -> Result<Found, Bad> {
        loop {
            if self.ended {
                return Ok(Found::End);
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
                    // What the space did is told before its end, since nothing of it may come after.
                    self.visits.put_down();
                    if !self.visits.done().is_empty() {
                        return self.count();
                    }
                }
                let heads = self.sections.heads.bytes.len();
                self.next_event.pass(&mut self.sections.events, heads)?;
                let Some(event) = event else { continue };
                self.event = event;
                return Ok(Found::Event);
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

    /// Adds up the visits of the item, which is complete. A chunk's totals bound its work: more
    /// visits than these are an error.
    fn count(&mut self) -> Result<Found, Bad> {
        let before = self.made;
        self.made.add(self.visits.made());
        if self.made.accesses() > self.totals.accesses() {
            let compared = self.compare_totals();
            // The item is not handed out.
            self.made = before;
            return compared.map(|()| Found::Visits);
        }
        Ok(Found::Visits)
    }

    fn compare_totals(&self) -> Result<(), Bad> {
        if self.totals == self.made {
            Ok(())
        } else {
            Err(Bad::new(
                Section::Totals,
                "they are not what the executions come to",
            ))
        }
    }
}
