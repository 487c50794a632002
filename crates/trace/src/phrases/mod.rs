//! Version 2 of the format: chunks of visits that name repeated visits, for fast decoding.
//!
//! A recorder writes version 1 while a program runs, in terms of the program's blocks. A
//! [`Recoder`] makes version 2 from a finished trace, in terms of visits.
//!
//! A chunk has a *vocabulary* and *codes*. The vocabulary lists the distinct visits of the chunk;
//! each is a *word* with a number. A code has two bytes and names a word or a *phrase*: at most
//! [`LONGEST`] words that occurred together before.
//!
//! Each code except the first defines a phrase: the words of the code before, then its own words.
//! Phrases therefore need no encoding and grow from repetition (Miller and Wegman 1985, "Variations
//! on a theme by Ziv and Lempel", section 5, names the scheme). Decoding a code copies a constant
//! number of words, without a data-dependent branch.

mod read;
mod recode;
mod search;
pub(crate) mod spare;
mod split;
#[cfg(test)]
mod tests;
mod unfolding;
mod vocabulary;
mod write;

use crate::visit::Visit;
pub(crate) use read::{PhraseItemKind, PhraseReader};
pub use recode::{RecodeError, Recoded, Recoder};
pub(crate) use split::PHRASE_SECTIONS;

/// The maximum number of visits of a chunk. Phrases refer to their own chunk, so longer chunks are
/// smaller, until the decoded words exceed the processor's caches.
const MOST_VISITS: usize = 1 << 19;
/// The maximum number of words of a chunk. Half of the codes remain for phrases.
const MOST_WORDS: usize = 1 << 14;
/// The maximum number of words of a phrase: the number of words in one copy.
const LONGEST: usize = 32;
/// The number of codes. Their table fits the processor's caches beside the words; more codes make
/// no recording smaller.
const CODES: usize = 1 << 15;

/// Visits as words of a vocabulary, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phrased<'a> {
    /// The distinct visits of the chunk. Visits to one unit are adjacent; units ascend.
    pub vocabulary: &'a [Visit],
    /// The indices of the visits in the vocabulary, in order.
    pub words: &'a [u16],
}

/// The effort of reading chunks of version 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodingEffort {
    /// Visits in the chunks.
    pub visits: u64,
    /// Codes that encode these visits.
    pub codes: u64,
    /// Words of their vocabularies.
    pub words: u64,
}

impl DecodingEffort {
    /// Adds another effort.
    pub fn add(&mut self, other: Self) {
        self.visits += other.visits;
        self.codes += other.codes;
        self.words += other.words;
    }

    /// The number of codes and words read for each visit. Repeated visits have few; random visits
    /// have two.
    pub fn for_each_visit(&self) -> f64 {
        (self.codes + self.words) as f64 / self.visits.max(1) as f64
    }
}

impl Phrased<'_> {
    /// The visits, in order.
    pub fn visits(&self) -> impl Iterator<Item = Visit> {
        self.words
            .iter()
            .map(|&word| self.vocabulary[usize::from(word)])
    }
}
