//! One bit for each base page of a block.

use crate::PAGES_PER_BLOCK;
use std::ops::Range;

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = PAGES_PER_BLOCK / WORD_BITS;

/// One bit for each base page of a block, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageMap([u64; WORDS]);

impl PageMap {
    /// All bits set.
    pub const FULL: Self = Self([u64::MAX; WORDS]);
    /// No bit set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The bits of these offsets. Offsets past the block are left out.
    pub fn of(range: Range<usize>) -> Self {
        let mut map = Self::EMPTY;
        for (number, word) in map.0.iter_mut().enumerate() {
            let first = number * WORD_BITS;
            let from = range.start.clamp(first, first + WORD_BITS) - first;
            let to = range.end.clamp(first, first + WORD_BITS) - first;
            if from < to {
                *word = (u64::MAX >> (WORD_BITS - (to - from))) << from;
            }
        }
        map
    }

    /// Returns true if a page's bit is set.
    ///
    /// # Panics
    /// Panics if `offset` is not below 512, as do all methods with an offset.
    #[inline]
    pub fn get(&self, offset: usize) -> bool {
        self.0[offset / WORD_BITS] >> (offset % WORD_BITS) & 1 != 0
    }

    /// Sets a page's bit. Returns true if the bit was clear.
    #[inline]
    pub fn set(&mut self, offset: usize) -> bool {
        let (word, bit) = (&mut self.0[offset / WORD_BITS], 1 << (offset % WORD_BITS));
        let was_clear = *word & bit == 0;
        *word |= bit;
        was_clear
    }

    /// The number of set bits.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if no bit is set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The bits that are set in both.
    pub fn and(mut self, other: &Self) -> Self {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, other)| *word &= other);
        self
    }

    /// The bits that are set in either.
    pub fn or(mut self, other: &Self) -> Self {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, other)| *word |= other);
        self
    }

    /// The bits that are set here and not there.
    pub fn without(mut self, other: &Self) -> Self {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, other)| *word &= !other);
        self
    }

    /// Returns true if the other map contains every bit that is set here.
    pub fn is_within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
    }

    /// The offsets whose bits are set, in order.
    pub fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        (0..PAGES_PER_BLOCK).filter(|offset| self.get(*offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_at_the_edges_of_words() {
        for (from, to) in [
            (0, 0),
            (0, 1),
            (63, 64),
            (63, 65),
            (64, 128),
            (1, 511),
            (0, 512),
            (511, 512),
            (300, 200),
        ] {
            let map = PageMap::of(from..to);
            assert!(map.offsets().eq(from..to), "{from}..{to}");
            assert_eq!(map.count() as usize, to.saturating_sub(from));
        }
        assert_eq!(PageMap::of(0..9999), PageMap::FULL);
    }

    #[test]
    fn sets_as_sets() {
        let (a, b) = (PageMap::of(10..100), PageMap::of(90..200));
        assert_eq!(a.and(&b), PageMap::of(90..100));
        assert_eq!(a.or(&b), PageMap::of(10..200));
        assert_eq!(a.without(&b), PageMap::of(10..90));
        assert!(PageMap::of(20..30).is_within(&a) && !b.is_within(&a));
        let mut map = PageMap::EMPTY;
        assert!(map.set(77) && !map.set(77) && map.get(77) && !map.get(78));
    }
}
