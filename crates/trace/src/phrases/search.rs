//! The choice of codes for words: at each position the longest known phrase.

use super::{CODES, LONGEST};

/// No phrase.
const NONE: u32 = u32::MAX;
/// The number of buckets of a class of phrases.
const BUCKETS: usize = 1 << 16;
/// The number of first words that hash a phrase, by class. Longer phrases hash more words.
const FIRST: [usize; 3] = [2, 4, 8];
/// The number of phrases that a search tries in a bucket. More tries find longer phrases and take
/// longer.
const TRIES: usize = 16;
/// The padding after the last word, so that one comparison reads several words.
const PAD: usize = LONGEST + 8;

/// The words of a phrase, as a range of the chunk's words.
#[derive(Clone, Copy, Debug)]
struct PhraseRange {
    start: u32,
    length: u32,
}

/// A search for phrases. The next chunk reuses its memory.
#[derive(Debug, Default)]
pub(super) struct PhraseSearch {
    words: Vec<u16>,
    phrases: Vec<PhraseRange>,
    /// For each phrase, the phrase before in its bucket.
    older: Vec<u32>,
    /// For each class and bucket, the newest phrase.
    newest: [Vec<u32>; FIRST.len()],
    /// The number of phrases made so far.
    made: usize,
}

/// The words of a code: their position and number.
#[derive(Clone, Copy, Debug)]
struct CodeWords {
    at: usize,
    length: usize,
}

impl PhraseSearch {
    /// Appends the codes of `words`, which belong to a vocabulary of `vocabulary` words. No code
    /// crosses one of the ascending `breaks`. Each element of `breaks` becomes the number of codes
    /// before that break.
    pub(super) fn codes(
        &mut self,
        words: &[u16],
        vocabulary: usize,
        breaks: &mut [usize],
        codes: &mut Vec<u16>,
    ) {
        let room = CODES - vocabulary;
        self.begin(words, room);
        let mut breaks = breaks.iter_mut().peekable();
        let mut before: Option<CodeWords> = None;
        let mut at = 0;
        loop {
            while let Some(stop) = breaks.next_if(|stop| **stop == at) {
                *stop = codes.len();
            }
            if at == words.len() {
                break;
            }
            let end = breaks.peek().map_or(words.len(), |stop| **stop);
            let (code, length) = match self.longest(at, end) {
                Some((phrase, length)) => (vocabulary + phrase, length),
                None => (usize::from(words[at]), 1),
            };
            codes.push(code as u16);
            if let Some(before) = before
                && before.length + length <= LONGEST
            {
                self.make(before.at, before.length + length, room);
            }
            before = Some(CodeWords { at, length });
            at += length;
        }
    }

    fn begin(&mut self, words: &[u16], room: usize) {
        self.words.clear();
        self.words.extend_from_slice(words);
        self.words.resize(words.len() + PAD, 0);
        self.phrases.clear();
        self.older.clear();
        self.phrases.reserve(room);
        self.older.reserve(room);
        for newest in &mut self.newest {
            newest.clear();
            newest.resize(BUCKETS, NONE);
        }
        self.made = 0;
    }

    /// The longest phrase at `at` that ends by `end`, and its length.
    fn longest(&self, at: usize, end: usize) -> Option<(usize, usize)> {
        let most = (end - at).min(LONGEST);
        let mut best = None;
        let mut longest = 1;
        for class in (0..FIRST.len()).rev() {
            if FIRST[class] > most || (class + 1 < FIRST.len() && longest >= FIRST[class + 1]) {
                continue;
            }
            let mut phrase = self.newest[class][self.bucket(class, at)];
            let mut newer = u32::MAX;
            for _ in 0..TRIES {
                let Some(&PhraseRange { start, length }) = self.phrases.get(phrase as usize) else {
                    break;
                };
                // A phrase that replaced another belongs to another bucket.
                if start >= newer {
                    break;
                }
                newer = start;
                let length = length as usize;
                if length > longest && length <= most && self.are_equal(start as usize, at, length)
                {
                    longest = length;
                    best = Some((phrase as usize, length));
                }
                phrase = self.older[phrase as usize];
            }
        }
        best
    }

    /// Packs four words into one number.
    #[inline]
    fn four(&self, at: usize) -> u64 {
        self.words[at..at + 4]
            .iter()
            .rev()
            .fold(0, |four, &word| four << 16 | u64::from(word))
    }

    #[inline]
    fn are_equal(&self, one: usize, other: usize, length: usize) -> bool {
        // Phrases of a bucket share their first words, so their ends differ first.
        if self.words[one + length - 1] != self.words[other + length - 1] {
            return false;
        }
        let whole = length & !3;
        (0..whole)
            .step_by(4)
            .all(|at| self.four(one + at) == self.four(other + at))
            && (whole..length).all(|at| self.words[one + at] == self.words[other + at])
    }

    #[inline]
    fn bucket(&self, class: usize, at: usize) -> usize {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let four = self.four(at);
        let hash = match FIRST[class] {
            2 => (four & 0xffff_ffff).wrapping_mul(MIX),
            4 => four.wrapping_mul(MIX),
            _ => (four.wrapping_mul(MIX).rotate_left(29) ^ self.four(at + 4)).wrapping_mul(MIX),
        };
        (hash >> (u64::BITS - BUCKETS.trailing_zeros())) as usize
    }

    /// Makes a phrase. Without room, the new phrase replaces the oldest.
    fn make(&mut self, start: usize, length: usize, room: usize) {
        let phrase = self.made % room;
        self.made += 1;
        let class = FIRST.iter().rposition(|&first| first <= length);
        let class = class.unwrap_or_default();
        let bucket = self.bucket(class, start);
        let older = std::mem::replace(&mut self.newest[class][bucket], phrase as u32);
        let span = PhraseRange {
            start: start as u32,
            length: length as u32,
        };
        if phrase == self.phrases.len() {
            self.phrases.push(span);
            self.older.push(older);
        } else {
            self.phrases[phrase] = span;
            self.older[phrase] = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::unfolding::unfolded;
    use proptest::prelude::*;

    fn codes(words: &[u16], vocabulary: usize, breaks: &mut [usize]) -> Vec<u16> {
        let mut codes = Vec::new();
        PhraseSearch::default().codes(words, vocabulary, breaks, &mut codes);
        codes
    }

    #[test]
    fn repeated_phrases_double_up_to_the_maximum_length() {
        // 0, 0, then phrases of 2, 3 (the last two), 5, 8, 13, 21, and 32 or less from there on.
        let codes = codes(&[0; 400], 1, &mut []);
        assert_eq!(codes[..4], [0, 0, 1, 2]);
        assert!(codes.len() < 30, "{codes:?}");
    }

    proptest! {
        #[test]
        fn codes_expand_to_the_words(
            seed in prop::collection::vec(0u16..40, 1..300),
            order in prop::collection::vec((0usize..300, 1usize..60), 1..60),
            mut breaks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut words = seed.clone();
            for (from, length) in order {
                let from = from % words.len();
                let to = (from + length).min(words.len());
                words.extend_from_within(from..to);
            }
            let length = words.len() + 1;
            let mut breaks: Vec<usize> = breaks.drain(..).map(|at| at.index(length)).collect();
            breaks.sort_unstable();
            let places = breaks.clone();
            let codes = codes(&words, 40, &mut breaks);
            prop_assert_eq!(&unfolded(&codes, 40, words.len()), &words);
            for (&place, &before) in places.iter().zip(&breaks) {
                let some = unfolded(&codes[..before], 40, place);
                prop_assert_eq!(some, &words[..place]);
            }
        }
    }

    /// A chunk has more phrases than codes: encoder and decoder replace the oldest phrases alike.
    #[test]
    fn replaced_phrases_are_not_named_again() {
        let vocabulary = CODES - 50;
        let mut random = crate::synth::SplitMix64::new(7);
        let mut words: Vec<u16> = (0..500).map(|_| random.below(9) as u16).collect();
        for _ in 0..2000 {
            let from = random.below(words.len() as u64 - 40) as usize;
            words.extend_from_within(from..from + 40);
        }
        let codes = codes(&words, vocabulary, &mut []);
        assert!(codes.iter().any(|&code| usize::from(code) >= vocabulary));
        assert_eq!(unfolded(&codes, vocabulary, words.len()), words);
    }
}
