//! Parts: stream chunks that can be read independently, so that several threads read several parts
//! at once.

use std::sync::Arc;

use broadleaf_units::SpaceId;

use crate::Item;
use crate::chunk::{ChunkKind, Totals};
use crate::decode::{self, ChunkReader};
use crate::definitions::Definitions;
use crate::error::{Bad, Section, TraceError};
use crate::event::Event;
use crate::event_bytes::PermittedEvents;
use crate::index::ChunkInfo;
use crate::phrases::{self, PhraseReader, Phrased, spare};
use crate::read::VisitEnds;
use crate::visit::{Grain, Visit};

/// A part: a stream chunk with a valid check and undecoded content, and all data that decoding
/// needs.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) info: ChunkInfo,
    pub(crate) body: Vec<u8>,
    /// The definitions of its process at its position in the file.
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) switches: bool,
    /// The events that the trace's head permits.
    pub(crate) permitted: PermittedEvents,
    /// The length of the chunk in bytes.
    pub(crate) length: u64,
}

impl Part {
    /// The process of the part, its file offset and its totals.
    pub const fn info(&self) -> &ChunkInfo {
        &self.info
    }

    /// Returns true if a [`PartReader`] returns an [`Event::SpaceSwitch`] before the part's items.
    pub const fn switches(&self) -> bool {
        self.switches
    }
}

/// The result of reading a part. The [`TraceReader`](crate::TraceReader) of the part needs this
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the reader that handed the part out counts it: see TraceReader::close"]
pub struct Closed {
    /// The totals in the part's body.
    pub(crate) said: Totals,
    /// The totals of the decoded items.
    pub(crate) made: Totals,
    /// True if no error ended the reading.
    pub(crate) whole: bool,
    /// The length of the chunk in bytes.
    pub(crate) length: u64,
}

/// One item of a part, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartItem<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// References as words of a vocabulary, in order, with no event between them.
    Phrased(Phrased<'a>),
    /// A change that takes effect before the next visit.
    Event(&'a Event),
}

/// The kind of item that [`PartReader::advance`] decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartItemKind {
    Visits,
    /// Visits as words.
    Words,
    Event,
    Switch,
    End,
}

/// The progress of reading a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartProgress {
    Start,
    Body,
    Inside,
    /// After the last item.
    End,
    /// After an error.
    Damage,
}

/// A reader of parts. It reuses its memory for each part; readers on one thread share the largest
/// buffers.
pub struct PartReader {
    chunk: ChunkReader,
    /// The thread's phrase reader, during a chunk of phrases. The thread that ends the chunk keeps
    /// the phrase reader.
    phrases: Option<Box<PhraseReader>>,
    grain: Grain,
    fetches: bool,
    part: Option<Part>,
    at: PartProgress,
    /// The totals of the decoded items, after the end of the part.
    made: Totals,
    switch: Event,
}

impl PartReader {
    /// A reader of parts with the grain of the trace's header. With `fetches`, recorded instruction
    /// fetches are separate visits: see [`ReadOptions`](crate::ReadOptions).
    pub fn new(grain: Grain, fetches: bool) -> Self {
        Self {
            chunk: ChunkReader::new(grain, fetches),
            phrases: None,
            grain,
            fetches,
            part: None,
            at: PartProgress::Start,
            made: Totals::default(),
            switch: Event::SpaceSwitch(SpaceId(0)),
        }
    }

    /// Ends visits there too.
    pub const fn ending_visits(mut self, ends: VisitEnds) -> Self {
        self.chunk.end_visits(ends);
        self
    }

    /// Begins a part. The reader skips the rest of the part before.
    pub fn begin(&mut self, part: Part) {
        self.put_back();
        self.switch = Event::SpaceSwitch(SpaceId(part.info.process));
        self.part = Some(part);
        self.at = PartProgress::Start;
    }

    /// Returns the next visits or event of the part; `None` at the end, or if no part was begun.
    /// Visits may be empty after long work. A [switch](Part::switches) comes first.
    ///
    /// # Errors
    /// Returns an error if the part's content is invalid, after all items before the error. The
    /// part ends there.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, TraceError> {
        let found = self.advance()?;
        self.unfold(found);
        Ok(self.item(found))
    }

    /// Returns the next item. A part that names repeated visits gives words instead of visits.
    ///
    /// # Errors
    /// As [`PartReader::next_item`].
    pub fn next_part_item(&mut self) -> Result<Option<PartItem<'_>>, TraceError> {
        let found = self.advance()?;
        if let (PartItemKind::Words, Some(phrases)) = (found, &self.phrases) {
            return Ok(Some(PartItem::Phrased(phrases.phrased())));
        }
        Ok(self.item(found).map(|item| match item {
            Item::Visits(visits) => PartItem::Visits(visits),
            Item::Event(event) => PartItem::Event(event),
        }))
    }

    /// The totals of the items decoded so far.
    pub fn made(&self) -> Totals {
        match self.at {
            PartProgress::Inside => match self.phrases() {
                Some(phrases) => phrases.made(),
                None => self.chunk.made(),
            },
            PartProgress::End | PartProgress::Damage => self.made,
            PartProgress::Start | PartProgress::Body => Totals::default(),
        }
    }

    /// Ends the part and releases its definitions. Returns `None` if no part was begun.
    pub fn close(&mut self) -> Option<Closed> {
        let made = self.made();
        let part = self.part.take()?;
        let closed = Closed {
            said: part.info.totals,
            made,
            whole: self.at != PartProgress::Damage,
            length: part.length,
        };
        self.at = PartProgress::Start;
        self.put_back();
        Some(closed)
    }

    /// Passes the rest of the part over without decoding it: the part's own totals count.
    pub fn pass_over(&mut self) {
        let said = self.part.as_ref().map(|part| part.info.totals);
        if let (Some(said), true) = (said, self.at != PartProgress::Damage) {
            self.made = said;
            self.at = PartProgress::End;
            self.put_back();
        }
    }

    /// Stops reading the part.
    fn rest(&mut self, at: PartProgress) {
        self.made = self.made();
        self.at = at;
        self.put_back();
    }

    /// Returns the phrase reader to the thread, for the reader of another part.
    fn put_back(&mut self) {
        if let Some(phrases) = self.phrases.take() {
            spare::put(phrases);
        }
    }

    /// The phrase reader, if the part is a chunk of phrases.
    fn phrases(&self) -> Option<&PhraseReader> {
        let part = self.part.as_ref()?;
        let phrases = self.phrases.as_deref();
        phrases.filter(|_| part.info.kind == ChunkKind::Phrases)
    }

    /// Converts words into visits, if words were decoded.
    pub(crate) fn unfold(&mut self, found: PartItemKind) {
        if let (PartItemKind::Words, Some(phrases)) = (found, &mut self.phrases) {
            phrases.unfold();
        }
    }

    /// The item that [`PartReader::advance`] decoded. [`PartReader::unfold`] must have converted
    /// words.
    pub(crate) fn item(&self, found: PartItemKind) -> Option<Item<'_>> {
        let visits = match self.phrases() {
            Some(phrases) => phrases.visits(),
            None => self.chunk.visits(),
        };
        match found {
            PartItemKind::Visits | PartItemKind::Words => Some(Item::Visits(visits)),
            PartItemKind::Event => Some(Item::Event(match self.phrases() {
                Some(phrases) => phrases.event(),
                None => self.chunk.event(),
            })),
            PartItemKind::Switch => Some(Item::Event(&self.switch)),
            PartItemKind::End => None,
        }
    }

    /// Decodes the next visits or event.
    pub(crate) fn advance(&mut self) -> Result<PartItemKind, TraceError> {
        let Some(part) = &self.part else {
            return Ok(PartItemKind::End);
        };
        if self.at == PartProgress::Start {
            self.at = PartProgress::Body;
            if part.switches {
                return Ok(PartItemKind::Switch);
            }
        }
        if matches!(self.at, PartProgress::End | PartProgress::Damage) {
            return Ok(PartItemKind::End);
        }
        let begins = self.at != PartProgress::Inside;
        self.at = PartProgress::Inside;
        let found = if part.info.kind == ChunkKind::Phrases {
            let phrases = self.phrases.get_or_insert_with(spare::take);
            let begun = if begins {
                phrases.begin(&part.body, self.grain, self.fetches)
            } else {
                Ok(())
            };
            begun
                .and_then(|()| phrases.advance())
                .map(PartItemKind::from)
                .and_then(|found| permitted(part, found, phrases.event()))
        } else {
            let chunk = &mut self.chunk;
            let begun = match begins {
                true => chunk.begin(&part.body, &part.definitions).map(|_| ()),
                false => Ok(()),
            };
            begun
                .and_then(|()| chunk.advance(&part.definitions))
                .map(PartItemKind::from)
                .and_then(|found| permitted(part, found, chunk.event()))
        };
        let found = found.map_err(|bad| bad.at(part.info.offset));
        match found {
            Ok(PartItemKind::End) => self.rest(PartProgress::End),
            Ok(_) => {}
            Err(_) => self.rest(PartProgress::Damage),
        }
        found
    }
}

/// Refuses an event that the head of the part's trace does not announce.
fn permitted(part: &Part, found: PartItemKind, event: &Event) -> Result<PartItemKind, Bad> {
    if found == PartItemKind::Event {
        let checked = part.permitted.check(event);
        checked.map_err(|reason| Bad::new(Section::Events, reason))?;
    }
    Ok(found)
}

impl From<decode::ChunkItemKind> for PartItemKind {
    fn from(found: decode::ChunkItemKind) -> Self {
        match found {
            decode::ChunkItemKind::Visits => Self::Visits,
            decode::ChunkItemKind::Event => Self::Event,
            decode::ChunkItemKind::End => Self::End,
        }
    }
}

impl From<phrases::PhraseItemKind> for PartItemKind {
    fn from(found: phrases::PhraseItemKind) -> Self {
        match found {
            phrases::PhraseItemKind::Words => Self::Words,
            phrases::PhraseItemKind::Visits => Self::Visits,
            phrases::PhraseItemKind::Event => Self::Event,
            phrases::PhraseItemKind::End => Self::End,
        }
    }
}
