//! Reading one chunk of phrases.

use super::split::Sections;
use super::{CODES, LONGEST, MOST_VISITS, MOST_WORDS, Phrased, vocabulary};
use crate::chunk::Totals;
use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::event::Event;
use crate::event_bytes::NextEvent;
use crate::visit::{Grain, Visit};
use pulp::{Arch, NullaryFnOnce};

/// Most words that are read at a time: few enough that they are still at hand when they are used.
const STEP: usize = 2048;

/// What a code stands for, and what that comes to: loads, stores and instructions behind the place. The place says how many words there are, and, from the bit
/// [`START`] on, where they stand in the chunk.
///
/// Four numbers side by side are added with one instruction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Entry([u32; 4]);

const START: u32 = 6;
const LENGTH: u32 = (1 << START) - 1;
const _: () = assert!(LONGEST <= LENGTH as usize);
const _: () = assert!(MOST_VISITS + MOST_WORDS <= 1 << (u32::BITS - START));

/// Most loads, stores and instructions of a word, so that those of a step fit.
const MOST_OF_WORD: u32 = u32::MAX / STEP as u32;

impl Entry {
    const fn start(self) -> usize {
        (self.0[0] >> START) as usize
    }

    const fn length(self) -> usize {
        (self.0[0] & LENGTH) as usize
    }

    /// The same, wherever it stands.
    #[inline]
    fn anywhere(self) -> Self {
        let [place, loads, stores, instructions] = self.0;
        Self([place & LENGTH, loads, stores, instructions])
    }

    #[inline]
    fn at(self, start: usize) -> Self {
        self.and(Self([(start as u32) << START, 0, 0, 0]))
    }

    /// What both come to, where the first stands.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| {
            self.0[at].wrapping_add(other.0[at])
        }))
    }
}

/// What no phrase can be made with.
const NOTHING_BEFORE: Entry = Entry([LONGEST as u32, 0, 0, 0]);

/// The words of a chunk as far as they were read, behind each word of its vocabulary once.
#[derive(Debug)]
struct Unfolding {
    entries: Box<[Entry; CODES]>,
    words: Vec<u16>,
    vocabulary: usize,
    /// How many words there are to be.
    end: usize,
    /// Where the next word goes.
    at: usize,
    /// What the code before stands for; as long as a phrase can be where there is none.
    before: Entry,
    /// The code of the next phrase.
    next: usize,
    /// How many codes stand for something.
    known: usize,
    /// Which vector instructions the processor has.
    vectors: Arch,
}

/// What [`Unfolding::read`] is asked. It is compiled several times over, and what runs is what was compiled for the widest vectors that the processor has, which is found out when
/// the program runs: a phrase is one of them, or two, or four of those that every processor has.
struct Reading<'a> {
    unfolding: &'a mut Unfolding,
    low: &'a [u8],
    high: &'a [u8],
    made: &'a mut Totals,
}

impl NullaryFnOnce for Reading<'_> {
    type Output = Result<usize, Bad>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.unfolding.read_in_line(self.low, self.high, self.made)
    }
}

impl Unfolding {
    fn new() -> Self {
        let entries = vec![Entry::default(); CODES].into_boxed_slice();
        Self {
            entries: entries
                .try_into()
                .unwrap_or_else(|_| unreachable!("as many as there are")),
            words: Vec::new(),
            vocabulary: 0,
            end: 0,
            at: 0,
            before: NOTHING_BEFORE,
            next: 0,
            known: 0,
            vectors: Arch::new(),
        }
    }

    /// Begins a chunk of so many visits with this vocabulary.
    fn begin(&mut self, vocabulary: &[Visit], visits: usize) {
        self.vocabulary = vocabulary.len();
        self.end = self.vocabulary + visits;
        self.at = self.vocabulary;
        self.before = NOTHING_BEFORE;
        self.next = self.vocabulary;
        self.known = self.vocabulary;
        // What a step reads beyond the end goes behind it.
        let room = self.end + STEP;
        if self.words.len() < room {
            self.words.resize(room, 0);
        }
        let adds_up = adds_up(vocabulary);
        for (word, visit) in vocabulary.iter().enumerate() {
            self.words[word] = word as u16;
            let comes_to = match adds_up {
                true => [1, visit.loads, visit.stores, visit.instructions],
                false => [1, 0, 0, 0],
            };
            self.entries[word] = Entry(comes_to).at(word);
        }
    }

    /// Reads codes, whose low and high bytes are given, until there are none left or a step is made. Answers how many were read, and adds to `made` what their words
    /// come to. Of a step with a code that stands for nothing, nothing is.
    fn read(&mut self, low: &[u8], high: &[u8], made: &mut Totals) -> Result<usize, Bad> {
        self.vectors.dispatch(Reading {
            unfolding: self,
            low,
            high,
            made,
        })
    }

    #[inline(always)]
    fn read_in_line(&mut self, low: &[u8], high: &[u8], made: &mut Totals) -> Result<usize, Bad> {
        let limit = self.at + STEP - LONGEST;
        let (mut at, mut before, mut next) = (self.at, self.before, self.next);
        let (words, entries) = (self.words.as_mut_slice(), &mut *self.entries);
        let (mut read, mut is_known) = (0, true);
        let mut known = self.known;
        let mut sum = Entry::default();
        for (&low, &high) in low.iter().zip(high) {
            if at > limit {
                break;
            }
            let code = usize::from(u16::from_le_bytes([low, high]));
            // What it stood for in another chunk would be read, if it stands for nothing; nothing comes of that.
            is_known &= code < known;
            let entry = entries[code % CODES];
            let (start, length) = (entry.start(), entry.length());
            // So many in any case: how many are meant cannot be foreseen.
            words.copy_within(start..start + LONGEST, at);
            read += 1;

            // What both stand for together, where that is no longer than a phrase may be, is a phrase from now on.
            let entry = entry.anywhere();
            sum = sum.and(entry);
            let is_phrase = before.length() + length <= LONGEST;
            if is_phrase {
                entries[next] = before.and(entry);
                next += 1;
                known = known.max(next);
                if next == CODES {
                    next = self.vocabulary;
                }
            }
            before = entry.at(at);
            at += length;
        }
        if !is_known {
            return Err(codes("one stands for a phrase that was not there before"));
        }
        if at > self.end {
            return Err(codes("they stand for more visits than the chunk has"));
        }
        let [_, loads, stores, instructions] = sum.0.map(u64::from);
        made.add(&Totals {
            executions: (at - self.at) as u64,
            loads,
            stores,
            instructions,
        });
        (self.at, self.before, self.next, self.known) = (at, before, next, known);
        Ok(read)
    }
}

/// Whether what a phrase of these words comes to can be told with it.
fn adds_up(vocabulary: &[Visit]) -> bool {
    vocabulary
        .iter()
        .all(|visit| visit.loads.max(visit.stores).max(visit.instructions) <= MOST_OF_WORD)
}

const fn codes(reason: &'static str) -> Bad {
    Bad::new(Section::Codes, reason)
}

/// What [`PhraseReader::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// They stand in [`PhraseReader::phrased`].
    Words,
    /// They stand in [`PhraseReader::visits`]: fetches were left out.
    Visits,
    /// It stands in [`PhraseReader::event`].
    Event,
    End,
}

/// Reads chunks of phrases one at a time, in any order. What it keeps is used again for the next.
pub(crate) struct PhraseReader {
    unpacker: Unpacker,
    sections: Sections,
    vocabulary: Vec<Visit>,
    /// Some words are fetches, which are left out.
    leaves_out: bool,
    /// What words come to is told with their phrases.
    adds_up: bool,
    unfolding: Unfolding,
    /// Codes read so far.
    read: usize,
    /// Where the words of the item begin.
    from: usize,
    next_event: NextEvent,
    event: Event,
    totals: Totals,
    made: Totals,
    /// Visits of the item, where they were asked for or fetches are left out.
    visits: Vec<Visit>,
    /// Instructions of fetches that were left out, and belong to the next visit.
    carried: u64,
    ended: bool,
}

impl PhraseReader {
    /// A reader that has begun no chunk.
    pub(crate) fn new() -> Self {
        Self {
            unpacker: Unpacker::new(),
            sections: Sections::default(),
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

    /// Begins a chunk of this grain, given its body. Without `fetches`, those are left out.
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

    /// Goes on to the next visits or event.
    pub(crate) fn advance(&mut self) -> Result<Found, Bad> {
        let found = self.find();
        self.ended |= found.is_err();
        found
    }

    fn find(&mut self) -> Result<Found, Bad> {
        let codes_in_all = self.sections.low.len();
        loop {
            if self.ended {
                return Ok(Found::End);
            }
            if self.next_event.is_at(self.read) {
                let event = NextEvent::read(&mut self.sections.events)?;
                // What the space did is told before its end, since nothing of it may come after.
                if matches!(event, Some(Event::SpaceEnd { .. })) && self.put_down() {
                    return Ok(Found::Visits);
                }
                self.next_event
                    .pass(&mut self.sections.events, codes_in_all)?;
                let Some(event) = event else { continue };
                self.event = event;
                return Ok(Found::Event);
            }
            if self.read == codes_in_all {
                if self.put_down() {
                    return Ok(Found::Visits);
                }
                self.ended = true;
                if self.totals != self.made {
                    return Err(Bad::new(
                        Section::Totals,
                        "they are not what the visits come to",
                    ));
                }
                return Ok(Found::End);
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
                return Ok(Found::Words);
            }
            self.leave_out();
            if !self.visits.is_empty() {
                return Ok(Found::Visits);
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

    /// Makes the item's words visits.
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

    /// What was made of the chunk so far.
    pub(crate) const fn made(&self) -> Totals {
        self.made
    }

    /// Adds up what the item's words come to, one by one.
    fn add_up(&mut self) {
        let mut made = Totals::default();
        for visit in self.phrased().visits() {
            made.loads += u64::from(visit.loads);
            made.stores += u64::from(visit.stores);
            made.instructions += u64::from(visit.instructions);
        }
        self.made.add(&made);
    }

    /// Makes the item's words visits but for fetches, whose instructions belong to the next visit.
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

    /// Makes a visit of its own of instructions that no visit followed. Whether there were any.
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

/// The words that codes stand for, of which there are so many.
#[cfg(test)]
pub(super) fn unfolded(codes: &[u16], vocabulary: usize, words: usize) -> Vec<u16> {
    let low: Vec<u8> = codes.iter().map(|code| *code as u8).collect();
    let high: Vec<u8> = codes.iter().map(|code| (code >> 8) as u8).collect();
    // With what the processor has, and as if it had nothing.
    let [some, portable] = [Arch::new(), Arch::Scalar].map(|vectors| {
        let mut unfolding = Unfolding::new();
        unfolding.vectors = vectors;
        unfolding.begin(&vec![Visit::default(); vocabulary], words);
        let mut read = 0;
        while read < codes.len() {
            let (low, high) = (&low[read..], &high[read..]);
            let known = unfolding.read(low, high, &mut Totals::default());
            read += known.expect("codes that stand for something");
        }
        unfolding.words[vocabulary..unfolding.at].to_vec()
    });
    assert_eq!(some, portable);
    some
}
