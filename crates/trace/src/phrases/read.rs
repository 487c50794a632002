//! Decoding one chunk of phrases.

use super::split::PhraseSections;
use super::unfolding::{Unfolding, adds_up, codes};
use super::{MOST_VISITS, Phrased, vocabulary};
use crate::chunk::Totals;
use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes::NextEvent;
use crate::visit::{Grain, Visit};

/// The kind of item that [`PhraseReader::advance`] decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhraseItemKind {
    /// Words, in [`PhraseReader::phrased`].
    Words,
    /// Visits without fetches, in [`PhraseReader::visits`].
    Visits,
    /// An event, in [`PhraseReader::event`].
    Event,
    End,
}

/// A decoder of chunks of phrases. Chunks can be decoded in any order. The next chunk reuses the
/// memory.
pub(crate) struct PhraseReader {
    unpacker: Unpacker,
    sections: PhraseSections,
    vocabulary: Vec<Visit>,
    /// True if the vocabulary has fetches and the decoder leaves them out.
    leaves_out: bool,
    /// True if entries hold the counts of their words.
    adds_up: bool,
    unfolding: Unfolding,
    /// The number of decoded codes.
    read: usize,
    /// The index of the item's first word.
    from: usize,
    next_event: NextEvent,
    event: Event,
    totals: Totals,
    made: Totals,
    /// The visits of the item, if the caller asked for visits or fetches are left out.
    visits: Vec<Visit>,
    /// The instructions of omitted fetches, which belong to the next visit.
    carried: u64,
    ended: bool,
}

impl PhraseReader {
    /// A decoder without a chunk.
    pub(crate) fn new() -> Self {
        Self {
            unpacker: Unpacker::new(),
            sections: PhraseSections::default(),
            vocabulary: Vec::new(),
            leaves_out: false,
            adds_up: true,
            unfolding: Unfolding::new(),
            read: 0,
            from: 0,
            next_event: NextEvent::NONE,
            event: Event::Fork { child: 0 },
            totals: Totals::default(),
            made: Totals::default(),
            visits: Vec::new(),
            carried: 0,
            ended: true,
        }
    }

    /// Begins a chunk of this grain, given its body. Without `fetches`, the decoder leaves fetches
    /// out.
    pub(crate) fn begin(&mut self, body: &[u8], grain: Grain, fetches: bool) -> Result<(), Bad> {
        self.ended = true;
        self.made = Totals::default();
        self.totals = self.sections.unpack(body, &mut self.unpacker)?.totals;
        let visits = usize::try_from(self.totals.executions).ok();
        let visits = visits.filter(|&visits| visits <= MOST_VISITS);
        let visits = visits.ok_or(Bad::new(
            Section::Totals,
            "it has more visits than a chunk may have",
        ))?;
        if self.sections.low.len() != self.sections.high.len() {
            return Err(codes("some are cut in half"));
        }
        let most_unit = u64::MAX >> grain.shift();
        vocabulary::read(&self.sections, most_unit, &mut self.vocabulary)?;
        self.leaves_out = !fetches && self.vocabulary.iter().any(|visit| visit.fetch);
        self.adds_up = adds_up(&self.vocabulary);
        self.unfolding.begin(&self.vocabulary, visits);
        self.from = self.unfolding.at;
        self.read = 0;
        self.carried = 0;
        self.next_event = NextEvent::first(&mut self.sections.events, self.sections.low.len())?;
        self.ended = false;
        Ok(())
    }

    /// Decodes the next visits or event.
    pub(crate) fn advance(&mut self) -> Result<PhraseItemKind, Bad> {
        let found = self.find();
        self.ended |= found.is_err();
        found
    }

    fn find(&mut self) -> Result<PhraseItemKind, Bad> {
        let codes_in_all = self.sections.low.len();
        loop {
            if self.ended {
                return Ok(PhraseItemKind::End);
            }
            if self.next_event.is_at(self.read) {
                let event = NextEvent::read(&mut self.sections.events)?;
                // The visits of the space come before its end, because no visit may follow the end.
                if matches!(event, Some(Event::SpaceEnd { .. })) && self.put_down() {
                    return Ok(PhraseItemKind::Visits);
                }
                self.next_event
                    .pass(&mut self.sections.events, codes_in_all)?;
                let Some(event) = event else { continue };
                self.event = event;
                return Ok(PhraseItemKind::Event);
            }
            if self.read == codes_in_all {
                if self.put_down() {
                    return Ok(PhraseItemKind::Visits);
                }
                self.ended = true;
                if self.totals != self.made {
                    return Err(Bad::new(
                        Section::Totals,
                        "they differ from the sums of the visits",
                    ));
                }
                return Ok(PhraseItemKind::End);
            }
            let to = codes_in_all.min(self.next_event.position());
            let range = self.read..to;
            self.from = self.unfolding.at;
            let (low, high) = (
                &self.sections.low[range.clone()],
                &self.sections.high[range],
            );
            self.read += self.unfolding.read(low, high, &mut self.made)?;
            if !self.adds_up {
                self.add_up();
            }
            if !self.leaves_out {
                return Ok(PhraseItemKind::Words);
            }
            self.leave_out();
            if !self.visits.is_empty() {
                return Ok(PhraseItemKind::Visits);
            }
        }
    }

    /// The words of the item.
    pub(crate) fn phrased(&self) -> Phrased<'_> {
        Phrased {
            vocabulary: &self.vocabulary,
            words: &self.unfolding.words[self.from..self.unfolding.at],
        }
    }

    /// Converts the item's words into visits.
    pub(crate) fn unfold(&mut self) {
        self.visits.clear();
        let words = &self.unfolding.words[self.from..self.unfolding.at];
        let visits = words.iter().map(|&word| self.vocabulary[usize::from(word)]);
        self.visits.extend(visits);
    }

    pub(crate) fn visits(&self) -> &[Visit] {
        &self.visits
    }

    pub(crate) const fn event(&self) -> &Event {
        &self.event
    }

    /// The totals of the items decoded so far.
    pub(crate) const fn made(&self) -> Totals {
        self.made
    }

    /// Adds the counts of the item's words, one by one.
    fn add_up(&mut self) {
        let mut made = Totals::default();
        for visit in self.phrased().visits() {
            made.loads += u64::from(visit.loads);
            made.stores += u64::from(visit.stores);
            made.instructions += u64::from(visit.instructions);
        }
        self.made.add(&made);
    }

    /// Converts the item's words into visits without fetches. The instructions of a fetch belong to
    /// the next visit.
    fn leave_out(&mut self) {
        self.visits.clear();
        let words = &self.unfolding.words[self.from..self.unfolding.at];
        for &word in words {
            let mut visit = self.vocabulary[usize::from(word)];
            self.carried += u64::from(visit.instructions);
            if visit.fetch {
                continue;
            }
            visit.instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(visit.instructions);
            self.visits.push(visit);
        }
    }

    /// Converts instructions without a following visit into visits. Returns true if there were any.
    fn put_down(&mut self) -> bool {
        self.visits.clear();
        while self.carried > 0 {
            let instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(instructions);
            self.visits.push(Visit {
                instructions,
                ..Visit::default()
            });
        }
        !self.visits.is_empty()
    }
}
