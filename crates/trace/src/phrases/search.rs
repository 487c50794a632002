//! Which codes stand for some words: at each place the longest phrase that is known there.

use super::{CODES, LONGEST};

/// No phrase.
const NONE: u32 = u32::MAX;
/// How many buckets the phrases of a class have.
const BUCKETS: usize = 1 << 16;
/// Phrases are found by their first words, the more of them the longer they are.
const FIRST: [usize; 3] = [2, 4, 8];
/// How many phrases of a bucket are looked at: more find longer ones, and take longer.
const TRIES: usize = 16;
/// Words behind the last, so that several can be compared at a time.
const PAD: usize = LONGEST + 8;

/// Words that stood together.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    length: u32,
}

/// Finds codes. What it keeps is used again for the next chunk.
#[derive(Debug, Default)]
pub(super) struct Search {
    words: Vec<u16>,
    phrases: Vec<Span>,
    /// For each phrase the one before in its bucket.
    older: Vec<u32>,
    /// For each class and bucket the newest phrase.
    newest: [Vec<u32>; FIRST.len()],
    /// Phrases made so far.
    made: usize,
}

/// What a code stands for: where it begins, and how many words it is.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: usize,
    length: usize,
}

impl Search {
    /// Appends the codes that stand for some words of a vocabulary of so many. No code reaches over one of the `breaks`, which ascend; for each is noted in
    /// `breaks` how many codes stand before it.
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
        let mut before: Option<Step> = None;
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
            before = Some(Step { at, length });
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

    /// The longest phrase found that stands at `at` and ends by `end`, and its length.
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
                let Some(&Span { start, length }) = self.phrases.get(phrase as usize) else {
                    break;
                };
                // One that took the place of another belongs to some other bucket.
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

    /// Four words.
    #[inline]
    fn four(&self, at: usize) -> u64 {
        self.words[at..at + 4]
            .iter()
            .rev()
            .fold(0, |four, &word| four << 16 | u64::from(word))
    }

    #[inline]
    fn are_equal(&self, one: usize, other: usize, length: usize) -> bool {
        // Phrases of a bucket begin alike, so they differ at their end if anywhere.
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

    /// Makes a phrase. The oldest is forgotten for it where there is no room.
    fn make(&mut self, start: usize, length: usize, room: usize) {
        let phrase = self.made % room;
        self.made += 1;
        let class = FIRST.iter().rposition(|&first| first <= length);
        let class = class.unwrap_or_default();
        let bucket = self.bucket(class, start);
        let older = std::mem::replace(&mut self.newest[class][bucket], phrase as u32);
        let span = Span {
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
    use crate::phrases::read::unfolded;
    use proptest::prelude::*;

    fn codes(words: &[u16], vocabulary: usize, breaks: &mut [usize]) -> Vec<u16> {
        let mut codes = Vec::new();
        Search::default().codes(words, vocabulary, breaks, &mut codes);
        codes
    }

    #[test]
    fn what_repeats_doubles_until_it_is_as_long_as_a_phrase_can_be() {
        // 0, 0, then phrases of 2, 3 (the last two), 5, 8, 13, 21, and 32 or less from there on.
        let codes = codes(&[0; 400], 1, &mut []);
        assert_eq!(codes[..4], [0, 0, 1, 2]);
        assert!(codes.len() < 30, "{codes:?}");
    }

    proptest! {
        #[test]
        fn codes_stand_for_the_words(
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
            let mut breaks: Vec<usize> = breaks.drain(..).map(|at| at.index(words.len() + 1)).collect();
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

    /// More phrases than there are codes: the oldest give way, on both sides alike.
    #[test]
    fn phrases_that_give_way_are_not_named_again() {
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
