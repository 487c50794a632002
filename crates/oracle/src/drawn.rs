//! The random numbers that replacement rules draw.

use crate::random::Rng;

/// The random numbers of a structure.
#[derive(Clone, Debug)]
pub(crate) enum DrawnNumbers {
    /// SplitMix64.
    Fractions(Rng),
    /// All words of MT19937 so far: Matsumoto and Nishimura 1998, with the seeds of C++.
    Words(Vec<u32>),
}

impl DrawnNumbers {
    /// SplitMix64 from this seed.
    pub(crate) const fn fractions(seed: u64) -> Self {
        Self::Fractions(Rng::new(seed))
    }

    /// MT19937 from this seed.
    pub(crate) fn words(seed: u32) -> Self {
        let mut words = vec![seed];
        for number in 1..624_u64 {
            let before = u64::from(words[words.len() - 1]);
            let next = 1_812_433_253 * (before ^ (before >> 30)) + number;
            words.push(next as u32);
        }
        Self::Words(words)
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        match self {
            // The integer part of a random fraction of the count.
            Self::Fractions(numbers) => {
                let fraction = u128::from(numbers.next());
                (fraction * count as u128 / (1 << 64)) as usize
            }
            // The remainder of a random word.
            Self::Words(words) => {
                let old = words.len() - 624;
                let joined = words[old] / (1 << 31) * (1 << 31) + words[old + 1] % (1 << 31);
                let twisted = (joined / 2) ^ (joined % 2 * 0x9908_b0df);
                words.push(words[old + 397] ^ twisted);
                tempered(words[words.len() - 1]) as usize % count
            }
        }
    }
}

/// A word of MT19937 as it is drawn.
fn tempered(word: u32) -> u32 {
    let word = word ^ (word >> 11);
    let word = word ^ ((word << 7) & 0x9d2c_5680);
    let word = word ^ ((word << 15) & 0xefc6_0000);
    word ^ (word >> 18)
}
