//! Stream chunks one by one: each can be read without the ones before, so several threads can read several at once.

use std::sync::Arc;

use broadleaf_units::SpaceId;

use crate::Item;
use crate::chunk::{ChunkKind, Totals};
use crate::decode::{self, ChunkReader};
use crate::definitions::Definitions;
use crate::error::TraceError;
use crate::event::Event;
use crate::index::ChunkInfo;
use crate::phrases::{self, PhraseReader, Phrased, spare};
use crate::visit::{Grain, Visit};

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

/// One piece of a part, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartItem<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// The same, from a chunk that names what repeats.
    Phrased(Phrased<'a>),
    /// Something that takes effect before the next visit.
    Event(&'a Event),
}

/// What [`PartReader::advance`] found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Visits,
    /// Visits by their words.
    Words,
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

/// Reads parts, one after the other. What it keeps is used again for the next; what is large of it, by whatever reader its thread goes on with.
pub struct PartReader {
    chunk: ChunkReader,
    /// Its thread's, while a chunk of phrases is being read; whichever thread reads that to its end keeps it.
    phrases: Option<Box<PhraseReader>>,
    grain: Grain,
    fetches: bool,
    part: Option<Part>,
    at: At,
    /// What was made of the part, once it was read.
    made: Totals,
    switch: Event,
}

impl PartReader {
    /// A reader of parts of this grain, which stands in the trace's header. With `fetches`, instruction fetches are visits of
    /// their own where they are told: see [`ReadOptions`](crate::ReadOptions).
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            chunk: ChunkReader::new(grain, fetches),
            phrases: None,
            grain,
            fetches,
            part: None,
            at: At::Start,
            made: Totals::default(),
            switch: Event::SpaceSwitch(SpaceId(0)),
        }
    }

    /// Begins a part. What was left of the one before is passed over.
    pub fn begin(&mut self, part: Part) {
        self.put_back();
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
        self.unfold(found);
        Ok(self.item(found))
    }

    /// The same, with visits as they stand in the part where that names what repeats: for who can make use of that.
    ///
    /// # Errors
    /// As [`PartReader::next_item`].
    pub fn next_part_item(&mut self) -> Result<Option<PartItem<'_>>, TraceError> {
        let found = self.advance()?;
        if let (Found::Words, Some(phrases)) = (found, &self.phrases) {
            return Ok(Some(PartItem::Phrased(phrases.phrased())));
        }
        Ok(self.item(found).map(|item| match item {
            Item::Visits(visits) => PartItem::Visits(visits),
            Item::Event(event) => PartItem::Event(event),
        }))
    }

    /// What was made of the part so far.
    pub fn made(&self) -> Totals {
        match self.at {
            At::Inside => match self.phrases() {
                Some(phrases) => phrases.made(),
                None => self.chunk.made(),
            },
            At::End | At::Damage => self.made,
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
        self.put_back();
        Some(closed)
    }

    /// Reads no further.
    fn rest(&mut self, at: At) {
        self.made = self.made();
        self.at = at;
        self.put_back();
    }

    /// Another part's reader may need what this one read with.
    fn put_back(&mut self) {
        if let Some(phrases) = self.phrases.take() {
            spare::put(phrases);
        }
    }

    /// The reader of the part, where that is a chunk of phrases.
    fn phrases(&self) -> Option<&PhraseReader> {
        let part = self.part.as_ref()?;
        let phrases = self.phrases.as_deref();
        phrases.filter(|_| part.info.kind == ChunkKind::Phrases)
    }

    /// Makes words visits, where that is what was found.
    pub(crate) fn unfold(&mut self, found: Found) {
        if let (Found::Words, Some(phrases)) = (found, &mut self.phrases) {
            phrases.unfold();
        }
    }

    /// What stands in the reader after [`PartReader::advance`] found it; words, after [`PartReader::unfold`] made them visits.
    pub(crate) fn item(&self, found: Found) -> Option<Item<'_>> {
        let visits = match self.phrases() {
            Some(phrases) => phrases.visits(),
            None => self.chunk.visits(),
        };
        match found {
            Found::Visits | Found::Words => Some(Item::Visits(visits)),
            Found::Event => Some(Item::Event(match self.phrases() {
                Some(phrases) => phrases.event(),
                None => self.chunk.event(),
            })),
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
        if matches!(self.at, At::End | At::Damage) {
            return Ok(Found::End);
        }
        let begins = self.at != At::Inside;
        self.at = At::Inside;
        let found = if part.info.kind == ChunkKind::Phrases {
            let phrases = self.phrases.get_or_insert_with(spare::take);
            let begun = if begins {
                phrases.begin(&part.body, self.grain, self.fetches)
            } else {
                Ok(())
            };
            begun.and_then(|()| phrases.advance()).map(Found::from)
        } else {
            let chunk = &mut self.chunk;
            let begun = match begins {
                true => chunk.begin(&part.body, &part.definitions).map(|_| ()),
                false => Ok(()),
            };
            begun
                .and_then(|()| chunk.advance(&part.definitions))
                .map(Found::from)
        };
        let found = found.map_err(|bad| bad.at(part.info.offset));
        match found {
            Ok(Found::End) => self.rest(At::End),
            Ok(_) => {}
            Err(_) => self.rest(At::Damage),
        }
        found
    }
}

impl From<decode::Found> for Found {
    fn from(found: decode::Found) -> Self {
        match found {
            decode::Found::Visits => Self::Visits,
            decode::Found::Event => Self::Event,
            decode::Found::End => Self::End,
        }
    }
}

impl From<phrases::Found> for Found {
    fn from(found: phrases::Found) -> Self {
        match found {
            phrases::Found::Words => Self::Words,
            phrases::Found::Visits => Self::Visits,
            phrases::Found::Event => Self::Event,
            phrases::Found::End => Self::End,
        }
    }
}
