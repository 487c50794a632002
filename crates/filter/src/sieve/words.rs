//! The words of a part, and the state that shows which words change nothing now.

use crate::{Made, Recency, RecencyPlace, RecencyPlaces};
use broadleaf_trace::Visit;
use broadleaf_units::PageNumber;

/// The maximum number of words at a time, so that their sums fit in [`Sums`].
pub(super) const STRETCH: usize = 2048;

/// Loads, stores and instructions side by side in one number, from bit 0, [`STORES`] and
/// [`INSTRUCTIONS`] on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums(u64);

const STORES: u32 = 21;
const INSTRUCTIONS: u32 = 42;
const MOST_ACCESSES: u32 = (1 << STORES) / STRETCH as u32 - 1;
const MOST_INSTRUCTIONS: u32 = (1 << (u64::BITS - INSTRUCTIONS)) / STRETCH as u32 - 1;

impl Sums {
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

/// The state of a page in its recorded place, which is the state's lowest bits. Its lookups can be
/// left out.
const STANDS: u32 = 1 << 8;
/// The page was stored to since the last event.
const STORED: u32 = 1 << 9;
/// A bit that no state has.
const NEVER: u32 = 1 << 10;

/// The sums of a word, its page, and the condition under which the word changes nothing.
#[derive(Clone, Copy, Debug)]
struct Word {
    sums: Sums,
    /// The index of the word's page among the pages of the part.
    page: u32,
    /// The bits that the page's state needs so that the word changes nothing.
    needs: u32,
}

/// No page.
const NONE: u32 = u32::MAX;

/// The words of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    words: Vec<Word>,
    /// The address of the words' vocabulary in memory.
    of: usize,
    /// The pages that words go to, and the state of each.
    pages: Vec<PageNumber>,
    states: Vec<u32>,
    /// The page whose state names each place.
    owners: Vec<u32>,
}

/// A page of the part, for [`Words`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u32);

impl Words {
    /// Takes in the vocabulary of a part, unless this was done. `shift` is the number of a unit's
    /// low bits that lie inside a base page.
    pub(super) fn prepare(&mut self, vocabulary: &[Visit], shift: u32) {
        let of = vocabulary.as_ptr().addr();
        if (self.of, self.words.len()) == (of, vocabulary.len()) {
            return;
        }
        self.clear();
        self.of = of;
        self.owners.resize(Recency::PLACES, NONE);
        for visit in vocabulary {
            // Units ascend, so those of a page are adjacent.
            let page = PageNumber(visit.unit >> shift);
            if self.pages.last() != Some(&page) {
                self.pages.push(page);
                self.states.push(0);
            }
            let sums = Sums::of(visit);
            let is_plain =
                !visit.fetch && visit.accesses() > 0 && visit.lead == broadleaf_trace::Lead::None;
            self.words.push(Word {
                sums: sums.unwrap_or_default(),
                page: self.states.len() as u32 - 1,
                needs: match (is_plain && sums.is_some(), visit.stores > 0) {
                    (false, _) => NEVER,
                    (true, false) => STANDS,
                    (true, true) => STANDS | STORED,
                },
            });
        }
    }

    /// Removes the vocabulary.
    pub(super) fn clear(&mut self) {
        self.of = 0;
        self.words.clear();
        self.pages.clear();
        self.states.clear();
        self.owners.clear();
    }

    /// Skips words up to the first that may change something. Returns the number of skipped words
    /// and their sums.
    pub(super) fn pass(&self, words: &[u16], recency: &mut Recency) -> (usize, Sums) {
        self.pass_each(words, recency, |_, _| {})
    }

    /// Like [`Self::pass`], but reports the page of each word and the number of accesses before it.
    pub(super) fn pass_followed(
        &self,
        words: &[u16],
        recency: &mut Recency,
        mut follow: impl FnMut(PageNumber, u64),
    ) -> (usize, Sums) {
        self.pass_each(words, recency, |page, sums| {
            let [loads, stores, _] = sums.split();
            follow(self.pages[page as usize], loads + stores);
        })
    }

    #[inline]
    fn pass_each(
        &self,
        words: &[u16],
        recency: &mut Recency,
        mut each: impl FnMut(u32, Sums),
    ) -> (usize, Sums) {
        let mut leaving_out = recency.leaving_out();
        let mut sums = Sums::default();
        for (at, &word) in words.iter().enumerate() {
            let word = &self.words[usize::from(word)];
            let state = self.states[word.page as usize];
            if word.needs & !state != 0 {
                return (at, sums);
            }
            each(word.page, sums);
            leaving_out.leave_out(RecencyPlace::from_index(state as usize));
            sums.0 += word.sums.0;
        }
        (words.len(), sums)
    }

    /// The page that a word goes to.
    pub(super) fn slot(&self, word: u16) -> Slot {
        Slot(self.words[usize::from(word)].page)
    }

    /// The place of the page, or `None` if its lookups must be made.
    pub(super) fn stands(&self, slot: Slot) -> Option<RecencyPlace> {
        let state = self.states[slot.0 as usize];
        (state & STANDS != 0).then_some(RecencyPlace::from_index(state as usize))
    }

    /// Returns true if the page was stored to.
    pub(super) fn was_stored_to(&self, slot: Slot) -> bool {
        self.states[slot.0 as usize] & STORED != 0
    }

    pub(super) fn store(&mut self, slot: Slot) {
        self.states[slot.0 as usize] |= STORED;
    }

    /// Notes a lookup of the page that was made.
    pub(super) fn make(&mut self, slot: Slot, made: Made) {
        let Some(place) = made.place else { return };
        let before = std::mem::replace(&mut self.owners[place.index()], slot.0);
        if before != slot.0 && before != NONE {
            self.states[before as usize] &= STORED;
        }
        let state = &mut self.states[slot.0 as usize];
        *state = *state & STORED | STANDS | place.index() as u32;
        self.fall(made.fallen);
    }

    /// Marks pages that are no longer in their recorded places.
    pub(super) fn fall(&mut self, fallen: RecencyPlaces) {
        for place in fallen {
            let owner = self.owners[place.index()];
            if owner != NONE {
                self.states[owner as usize] &= !STANDS;
            }
        }
    }

    /// Forgets the states of all pages.
    pub(super) fn forget(&mut self) {
        self.states.fill(0);
        self.owners.fill(NONE);
    }
}
