//! Packing visits and events of a process into chunks of phrases.

use super::search::PhraseSearch;
use super::split::PhraseSections;
use super::vocabulary::{self, Numbering};
use super::{DecodingEffort, MOST_VISITS, MOST_WORDS};
use crate::chunk::{self, ChunkKind, Totals};
use crate::compress::Packer;
use crate::error::WriteError;
use crate::event::Event;
use crate::event_bytes::EventEncoder;
use crate::visit::Visit;
use crate::write::PackedChunk;

/// A packer of chunks of phrases.
pub(super) struct PhrasePacker {
    packer: Packer,
    numbering: Numbering,
    /// The visits of the chunk, as numbers of [`Numbering`].
    words: Vec<u16>,
    /// The number of visits before each event.
    places: Vec<usize>,
    events: Vec<Event>,
    totals: Totals,
    search: PhraseSearch,
    sections: PhraseSections,
    codes: Vec<u16>,
    effort: DecodingEffort,
    /// The finished chunks.
    packed: Vec<PackedChunk>,
}

impl PhrasePacker {
    pub(super) fn new(level: i32) -> Result<Self, WriteError> {
        Ok(Self {
            packer: Packer::new(level)?,
            numbering: Numbering::new(),
            words: Vec::new(),
            places: Vec::new(),
            events: Vec::new(),
            totals: Totals::default(),
            search: PhraseSearch::default(),
            sections: PhraseSections::default(),
            codes: Vec::new(),
            effort: DecodingEffort::default(),
            packed: Vec::new(),
        })
    }

    /// Discards all unpacked data.
    pub(super) fn clear(&mut self) {
        self.numbering.clear();
        self.words.clear();
        self.places.clear();
        self.events.clear();
        self.totals = Totals::default();
    }

    pub(super) fn visits(&mut self, process: u32, visits: &[Visit]) -> Result<(), WriteError> {
        for visit in visits {
            if self.words.len() == MOST_VISITS || self.numbering.is_full() {
                self.end_chunk(process)?;
            }
            self.words.push(self.numbering.number(visit));
            self.totals.loads += u64::from(visit.loads);
            self.totals.stores += u64::from(visit.stores);
            self.totals.instructions += u64::from(visit.instructions);
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.places.push(self.words.len());
        self.events.push(event.clone());
    }

    /// Ends the last chunk. Returns all chunks, and the effort of reading them.
    pub(super) fn finish(
        &mut self,
        process: u32,
    ) -> Result<(Vec<PackedChunk>, DecodingEffort), WriteError> {
        if !(self.words.is_empty() && self.events.is_empty()) {
            self.end_chunk(process)?;
        }
        let effort = std::mem::take(&mut self.effort);
        Ok((std::mem::take(&mut self.packed), effort))
    }

    fn end_chunk(&mut self, process: u32) -> Result<(), WriteError> {
        let (vocabulary, word) = self.numbering.in_order();
        debug_assert!(
            vocabulary.len() <= MOST_WORDS,
            "there are more words than codes for words"
        );
        for number in &mut self.words {
            *number = word[usize::from(*number)];
        }
        self.codes.clear();
        self.search.codes(
            &self.words,
            vocabulary.len(),
            &mut self.places,
            &mut self.codes,
        );
        self.effort.visits += self.words.len() as u64;
        self.effort.codes += self.codes.len() as u64;
        self.effort.words += vocabulary.len() as u64;
        let sections = &mut self.sections;
        sections.clear();
        vocabulary::write(&vocabulary, sections);
        sections
            .low
            .extend(self.codes.iter().map(|&code| code as u8));
        sections
            .high
            .extend(self.codes.iter().map(|&code| (code >> 8) as u8));
        let mut events = EventEncoder::new();
        for (event, &codes) in self.events.iter().zip(&self.places) {
            events.push(codes as u64, event)?;
        }
        sections.events.bytes.extend_from_slice(events.bytes());

        self.totals.executions = self.words.len() as u64;
        let totals = self.totals;
        let mut bytes = chunk::open(ChunkKind::Phrases, process);
        // The end time of the chunk is unknown.
        totals.put(&mut bytes, 0);
        sections.pack(&mut bytes, &mut self.packer)?;
        self.packed
            .push(PackedChunk::new(ChunkKind::Phrases, process, totals, bytes));
        self.clear();
        Ok(())
    }
}
