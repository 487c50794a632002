//! Expanding codes into words.

use super::{CODES, LONGEST, MOST_VISITS, MOST_WORDS};
use crate::chunk::Totals;
use crate::error::{Bad, Section};
use crate::visit::Visit;
use pulp::{Arch, NullaryFnOnce};

/// The maximum number of words decoded at a time. The words are still in the first-level cache when
/// the caller uses them.
const STEP: usize = 2048;

/// The words of a code and their counts: place, loads, stores and instructions. The lower bits of
/// the place hold the number of words. The bits from [`START`] on hold their position in the chunk.
///
/// One instruction adds all four numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct CodeEntry([u32; 4]);

const START: u32 = 6;
const LENGTH: u32 = (1 << START) - 1;
const _: () = assert!(LONGEST <= LENGTH as usize);
const _: () = assert!(MOST_VISITS + MOST_WORDS <= 1 << (u32::BITS - START));

/// The maximum counts of a word, so that the counts of a step fit 32 bits.
const MOST_OF_WORD: u32 = u32::MAX / STEP as u32;

impl CodeEntry {
    const fn start(self) -> usize {
        (self.0[0] >> START) as usize
    }

    const fn length(self) -> usize {
        (self.0[0] & LENGTH) as usize
    }

    /// The entry without its position.
    #[inline]
    fn anywhere(self) -> Self {
        let [place, loads, stores, instructions] = self.0;
        Self([place & LENGTH, loads, stores, instructions])
    }

    #[inline]
    fn at(self, start: usize) -> Self {
        self.and(Self([(start as u32) << START, 0, 0, 0]))
    }

    /// The sums of both entries, at the position of the first.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| {
            self.0[at].wrapping_add(other.0[at])
        }))
    }
}

/// An entry that makes no phrase.
const NOTHING_BEFORE: CodeEntry = CodeEntry([LONGEST as u32, 0, 0, 0]);

/// The decoded words of a chunk, after the words of its vocabulary.
#[derive(Debug)]
pub(super) struct Unfolding {
    entries: Box<[CodeEntry; CODES]>,
    pub(super) words: Vec<u16>,
    vocabulary: usize,
    /// The number of words at the end of the chunk.
    end: usize,
    /// The index of the next word.
    pub(super) at: usize,
    /// The entry of the code before, or [`NOTHING_BEFORE`].
    before: CodeEntry,
    /// The code of the next phrase.
    next: usize,
    /// The number of codes with words.
    known: usize,
    /// The vector instructions of the processor.
    vectors: Arch,
}

/// The arguments of [`Unfolding::read`]. The function is compiled for several vector widths; the
/// program picks the widest that the processor has. A phrase takes one such vector, or two, or four
/// of the smallest.
struct UnfoldRequest<'a> {
    unfolding: &'a mut Unfolding,
    low: &'a [u8],
    high: &'a [u8],
    made: &'a mut Totals,
}

impl NullaryFnOnce for UnfoldRequest<'_> {
    type Output = Result<usize, Bad>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.unfolding.read_in_line(self.low, self.high, self.made)
    }
}

impl Unfolding {
    pub(super) fn new() -> Self {
        let entries = vec![CodeEntry::default(); CODES].into_boxed_slice();
        Self {
            entries: entries
                .try_into()
                .unwrap_or_else(|_| unreachable!("the lengths are equal")),
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

    /// Begins a chunk with this vocabulary and number of visits.
    pub(super) fn begin(&mut self, vocabulary: &[Visit], visits: usize) {
        self.vocabulary = vocabulary.len();
        self.end = self.vocabulary + visits;
        self.at = self.vocabulary;
        self.before = NOTHING_BEFORE;
        self.next = self.vocabulary;
        self.known = self.vocabulary;
        // A step may write beyond the end.
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
            self.entries[word] = CodeEntry(comes_to).at(word);
        }
    }

    /// Decodes codes, given as low and high bytes, until no code is left or a step is full. Returns
    /// the number of decoded codes and adds their counts to `made`. A step with an undefined code
    /// has no effect.
    pub(super) fn read(
        &mut self,
        low: &[u8],
        high: &[u8],
        made: &mut Totals,
    ) -> Result<usize, Bad> {
        self.vectors.dispatch(UnfoldRequest {
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
        let mut sum = CodeEntry::default();
        for (&low, &high) in low.iter().zip(high) {
            if at > limit {
                break;
            }
            let code = usize::from(u16::from_le_bytes([low, high]));
            // An undefined code reads the words of another chunk; the error below discards them.
            is_known &= code < known;
            let entry = entries[code % CODES];
            let (start, length) = (entry.start(), entry.length());
            // The copy has constant length, because the processor cannot predict the length.
            words.copy_within(start..start + LONGEST, at);
            read += 1;

            // The words of both codes are a phrase from now on, if the phrase is not too long.
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
            return Err(codes("a code names a phrase that is not defined yet"));
        }
        if at > self.end {
            return Err(codes("they expand to more visits than the chunk has"));
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

/// Returns true if the counts of any phrase of these words fit an entry.
pub(super) fn adds_up(vocabulary: &[Visit]) -> bool {
    vocabulary
        .iter()
        .all(|visit| visit.loads.max(visit.stores).max(visit.instructions) <= MOST_OF_WORD)
}

pub(super) const fn codes(reason: &'static str) -> Bad {
    Bad::new(Section::Codes, reason)
}

/// Decodes codes into words.
#[cfg(test)]
pub(super) fn unfolded(codes: &[u16], vocabulary: usize, words: usize) -> Vec<u16> {
    let low: Vec<u8> = codes.iter().map(|code| *code as u8).collect();
    let high: Vec<u8> = codes.iter().map(|code| (code >> 8) as u8).collect();
    // The vector code and the scalar code must agree.
    let [some, portable] = [Arch::new(), Arch::Scalar].map(|vectors| {
        let mut unfolding = Unfolding::new();
        unfolding.vectors = vectors;
        unfolding.begin(&vec![Visit::default(); vocabulary], words);
        let mut read = 0;
        while read < codes.len() {
            let (low, high) = (&low[read..], &high[read..]);
            let known = unfolding.read(low, high, &mut Totals::default());
            read += known.expect("defined codes");
        }
        unfolding.words[vocabulary..unfolding.at].to_vec()
    });
    assert_eq!(some, portable);
    some
}
