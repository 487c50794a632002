//! Version 2 of the format: chunks of visits that name what they repeat, laid out to be read quickly.
//!
//! Version 1 is written while a program runs, and follows its blocks. This one is made of a trace that is there ([`Recoder`]), and follows its visits. A chunk has a
//! *vocabulary*, its distinct visits, each a *word* with a number, and *codes* of two bytes, each of which stands for a word or for a *phrase*: up to
//! [`LONGEST`] words that stood together before. Each code but the first makes a phrase of what it and the one before stand for, so phrases need not be told: they
//! grow from what repeats (Miller and Wegman 1985, "Variations on a theme by Ziv and Lempel", section 5, names the scheme). Reading a code is copying so many words at once, whatever they are,
//! without a branch that depends on them.

mod read;
mod recode;
mod search;
pub(crate) mod spare;
mod split;
#[cfg(test)]
mod tests;
mod vocabulary;
mod write;

use crate::visit::Visit;
pub(crate) use read::{Found, PhraseReader};
pub use recode::{RecodeError, Recoded, Recoder};
pub(crate) use split::PHRASE_SECTIONS;

/// Most visits of a chunk. A phrase is looked for among those of its chunk, so a longer one is smaller, up to where what was read before leaves the processor's caches.
const MOST_VISITS: usize = 1 << 19;
/// Most words of a chunk: half of the codes are left for phrases.
const MOST_WORDS: usize = 1 << 14;
/// Most words of a phrase: as many as are copied in one go.
const LONGEST: usize = 32;
/// How many codes there are: as many as a reader has at hand in a processor's caches beside the words. More make no recording smaller.
const CODES: usize = 1 << 15;

/// Visits, in order, each by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phrased<'a> {
    /// The distinct visits of the chunk, those to one unit side by side, units ascending.
    pub vocabulary: &'a [Visit],
    /// Which of them is made, one after the other. Each is below the vocabulary's length.
    pub words: &'a [u16],
}

/// The effort of reading chunks of version 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Visits in the chunks.
    pub visits: u64,
    /// Codes that encode these visits.
    pub codes: u64,
    /// Words of their vocabularies.
    pub words: u64,
}

impl Effort {
    /// Adds another effort.
    pub fn add(&mut self, other: Self) {
        self.visits += other.visits;
        self.codes += other.codes;
        self.words += other.words;
    }

    /// Codes and words that are read for each visit. Visits that repeat have few; visits at random
    /// have two.
    pub fn for_each_visit(&self) -> f64 {
        (self.codes + self.words) as f64 / self.visits.max(1) as f64
    }
}

impl Phrased<'_> {
    /// The visits as they are.
    pub fn visits(&self) -> impl Iterator<Item = Visit> {
        self.words
            .iter()
            .map(|&word| self.vocabulary[usize::from(word)])
    }
}
