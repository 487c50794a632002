//! The words of a part: the sums of each, its page, and when it changes nothing.

use super::states::{IN_PLACE, NEVER, PageSlot, PageStates, STORED, place_in};
use crate::Recency;
use broadleaf_trace::Visit;
use broadleaf_units::PageNumber;

/// The maximum number of words at a time, so that their sums fit in [`PackedSums`].
pub(super) const STRETCH: usize = 2048;

/// Loads, stores and instructions side by side in one number, from bit 0, [`STORES`] and
/// [`INSTRUCTIONS`] on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PackedSums(u64);

const STORES: u32 = 21;
const INSTRUCTIONS: u32 = 42;
const MOST_ACCESSES: u32 = (1 << STORES) / STRETCH as u32 - 1;
const MOST_INSTRUCTIONS: u32 = (1 << (u64::BITS - INSTRUCTIONS)) / STRETCH as u32 - 1;

impl PackedSums {
    /// The sums of one visit; `None` if the sums of a stretch of such visits might not fit.
    fn of(visit: &Visit) -> Option<Self> {
        let fits = visit.loads.max(visit.stores) <= MOST_ACCESSES
            && visit.instructions <= MOST_INSTRUCTIONS;
        fits.then_some(Self(
            u64::from(visit.loads)
                | u64::from(visit.stores) << STORES
                | u64::from(visit.instructions) << INSTRUCTIONS,
        ))
    }

    /// Loads, stores and instructions.
    pub(super) const fn split(self) -> [u64; 3] {
        [
            self.0 & ((1 << STORES) - 1),
            self.0 >> STORES & ((1 << STORES) - 1),
            self.0 >> INSTRUCTIONS,
        ]
    }
}

/// The sums of a word, its page, and the condition under which the word changes nothing.
#[derive(Clone, Copy, Debug)]
struct Word {
    sums: PackedSums,
    /// The index of the word's page among the pages of the part.
    page: u32,
    /// The bits that the page's state needs so that the word changes nothing.
    needs: u32,
}

/// The words of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    words: Vec<Word>,
    /// The address of the words' vocabulary in memory.
    of: usize,
    /// The pages that words go to. Their states have the same indices.
    pages: Vec<PageNumber>,
}

impl Words {
    /// Takes in the vocabulary of a part, unless this was done. `shift` is the number of a unit's
    /// low bits that lie inside a base page. Returns true if it was not done.
    pub(super) fn prepare(&mut self, vocabulary: &[Visit], shift: u32) -> bool {
        let of = vocabulary.as_ptr().addr();
        if (self.of, self.words.len()) == (of, vocabulary.len()) {
            return false;
        }
        self.clear();
        self.of = of;
        for visit in vocabulary {
            // Units ascend, so those of a page are adjacent.
            let page = PageNumber(visit.unit >> shift);
            if self.pages.last() != Some(&page) {
                self.pages.push(page);
            }
            let sums = PackedSums::of(visit);
            let is_plain =
                !visit.fetch && visit.accesses() > 0 && visit.lead == broadleaf_trace::Lead::None;
            self.words.push(Word {
                sums: sums.unwrap_or_default(),
                page: self.pages.len() as u32 - 1,
                needs: match (is_plain && sums.is_some(), visit.stores > 0) {
                    (false, _) => NEVER,
                    (true, false) => IN_PLACE,
                    (true, true) => IN_PLACE | STORED,
                },
            });
        }
        true
    }

    /// The number of pages that words go to. Their slots have the numbers below.
    pub(super) const fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Removes the vocabulary.
    pub(super) fn clear(&mut self) {
        self.of = 0;
        self.words.clear();
        self.pages.clear();
    }

    /// Skips words up to the first that may change something. Returns the number of skipped words
    /// and their sums. A function of its own: inlined, its loop would load each table's address for
    /// each word.
    #[inline(never)]
    pub(super) fn pass(
        &self,
        words: &[u16],
        states: &PageStates,
        recency: &mut Recency,
    ) -> (usize, PackedSums) {
        self.pass_each(words, states, recency, |_, _| {})
    }

    /// Like [`Self::pass`], but reports the page of each word and the number of accesses before it.
    #[inline(never)]
    pub(super) fn pass_followed(
        &self,
        words: &[u16],
        states: &PageStates,
        recency: &mut Recency,
        mut follow: impl FnMut(PageNumber, u64),
    ) -> (usize, PackedSums) {
        self.pass_each(words, states, recency, |page, sums| {
            let [loads, stores, _] = sums.split();
            follow(self.pages[page as usize], loads + stores);
        })
    }

    #[inline]
    fn pass_each(
        &self,
        words: &[u16],
        states: &PageStates,
        recency: &mut Recency,
        mut each: impl FnMut(u32, PackedSums),
    ) -> (usize, PackedSums) {
        let (all, states) = (&self.words[..], states.by_slot());
        let mut leaving_out = recency.leaving_out();
        let mut sums = PackedSums::default();
        for (at, &word) in words.iter().enumerate() {
            let word = &all[usize::from(word)];
            let state = states[word.page as usize];
            if word.needs & !state != 0 {
                return (at, sums);
            }
            each(word.page, sums);
            leaving_out.leave_out(place_in(state));
            sums.0 += word.sums.0;
        }
        (words.len(), sums)
    }

    /// The page that a word goes to.
    pub(super) fn slot(&self, word: u16) -> PageSlot {
        PageSlot(self.words[usize::from(word)].page)
    }
}
