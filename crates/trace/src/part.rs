//! Stream chunks one by one: each can be read without the ones before, so several threads can read several at once.

use std::sync::Arc;

use broadleaf_units::SpaceId;

use crate::Item;
use crate::chunk::Totals;
use crate::decode::{self, ChunkReader};
use crate::definitions::Definitions;
use crate::error::TraceError;
use crate::event::Event;
use crate::index::ChunkInfo;
use crate::visit::Grain;

/// A stream chunk whose check agreed and that was not looked into further, with all that it takes to read it.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) info: ChunkInfo,
    pub(crate) body: Vec<u8>,
    /// Those of its process where it stands.
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) switches: bool,
    /// Bytes of the file.
    pub(crate) length: u64,
}

impl Part {
    /// The process that it is about, the byte of the file at which it begins, and what it says that it comes to.
    pub const fn info(&self) -> &ChunkInfo {
        &self.info
    }

    /// Whether an [`Event::SpaceSwitch`] stands before it. It is the first that a [`PartReader`] answers.
    pub const fn switches(&self) -> bool {
        self.switches
    }
}

/// What reading a part came to. Its [`TraceReader`](crate::TraceReader) wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the reader that handed the part out counts it: see TraceReader::close"]
pub struct Closed {
    /// What the part said that it comes to.
    pub(crate) said: Totals,
    /// What was made of it.
    pub(crate) made: Totals,
    /// Whether that is all, as far as it was read.
    pub(crate) whole: bool,
    /// Bytes of the file.
    pub(crate) length: u64,
}

/// What [`PartReader::advance`] found.
pub(crate) enum Found {
    Visits,
    Event,
    Switch,
    End,
}

/// How far a part was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Body,
    Inside,
    /// Behind its last item.
    End,
    /// Behind an error.
    Damage,
}

/// Reads parts, one after the other. What it keeps is used again for the next, so a thread needs one of these.
pub struct PartReader {
    chunk: ChunkReader,
    part: Option<Part>,
    at: At,
    switch: Event,
}

impl PartReader {
    /// A reader of parts of this grain, which stands in the trace's header. With `fetches`, instruction fetches are visits of
    /// their own where they are told: see [`ReadOptions`](crate::ReadOptions).
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            chunk: ChunkReader::new(grain, fetches),
            part: None,
            at: At::Start,
            switch: Event::SpaceSwitch(SpaceId(0)),
        }
    }

    /// Begins a part. What was left of the one before is passed over.
    pub fn begin(&mut self, part: Part) {
        self.switch = Event::SpaceSwitch(SpaceId(part.info.process));
        self.part = Some(part);
        self.at = At::Start;
    }

    /// The next visits (there may be none in a piece that only took long) or event of the part; `None` at its end, and where
    /// none was begun. Where it [switches](Part::switches), that comes first.
    ///
    /// # Errors
    /// Where the part says what it cannot mean, after all that stands before; there is nothing behind an error.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, TraceError> {
        let found = self.advance()?;
        Ok(self.item(&found))
    }

    /// What was made of the part so far.
    pub fn made(&self) -> Totals {
        match self.at {
            At::Inside | At::End | At::Damage => self.chunk.made(),
            At::Start | At::Body => Totals::default(),
        }
    }

    /// Lets go of the part, and of its definitions. `None` where none was begun.
    pub fn close(&mut self) -> Option<Closed> {
        let made = self.made();
        let part = self.part.take()?;
        let closed = Closed {
            said: part.info.totals,
            made,
            whole: self.at != At::Damage,
            length: part.length,
        };
        self.at = At::Start;
        Some(closed)
    }

    /// What stands in the reader after [`PartReader::advance`] found it.
    pub(crate) fn item(&self, found: &Found) -> Option<Item<'_>> {
        match found {
            Found::Visits => Some(Item::Visits(self.chunk.visits())),
            Found::Event => Some(Item::Event(self.chunk.event())),
            Found::Switch => Some(Item::Event(&self.switch)),
            Found::End => None,
        }
    }

    /// Goes on to the next visits or event.
    pub(crate) fn advance(&mut self) -> Result<Found, TraceError> {
        let Some(part) = &self.part else {
            return Ok(Found::End);
        };
        if self.at == At::Start {
            self.at = At::Body;
            if part.switches {
                return Ok(Found::Switch);
            }
        }
        let found = match self.at {
            At::Start | At::Body => {
                self.at = At::Inside;
                self.chunk
                    .begin(&part.body, &part.definitions)
                    .and_then(|_| self.chunk.advance(&part.definitions))
            }
            At::Inside => self.chunk.advance(&part.definitions),
            At::End | At::Damage => return Ok(Found::End),
        };
        match found {
            Ok(decode::Found::Visits) => Ok(Found::Visits),
            Ok(decode::Found::Event) => Ok(Found::Event),
            Ok(decode::Found::End) => {
                self.at = At::End;
                Ok(Found::End)
            }
            Err(bad) => {
                self.at = At::Damage;
                Err(bad.at(part.info.offset))
            }
        }
    }
}
