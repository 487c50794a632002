//! The index of a physically indexed cache.

use super::ColourError;
use crate::PageSize;

/// The index of a physically indexed cache: which address bits choose a set.
///
/// The bits are consecutive and begin above the bits inside a line, as in the caches that Chen
/// (2014, section I) describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheIndex {
    /// The low address bits inside a line.
    line_bits: u8,
    /// The number of index bits.
    index_bits: u8,
}

impl CacheIndex {
    /// The index of a cache of `bytes` bytes with `ways` ways and lines of `line` bytes.
    ///
    /// # Errors
    /// If the size of a way or of a line is no power of two, or a way is smaller than a line.
    pub const fn new(bytes: u64, ways: u64, line: u64) -> Result<Self, ColourError> {
        if ways == 0 || !bytes.is_multiple_of(ways) {
            return Err(ColourError::Ways);
        }
        let way = bytes / ways;
        if !way.is_power_of_two() || !line.is_power_of_two() || way < line {
            return Err(ColourError::Ways);
        }
        Ok(Self {
            line_bits: line.trailing_zeros() as u8,
            index_bits: (way.trailing_zeros() - line.trailing_zeros()) as u8,
        })
    }

    /// The lowest index bit, and the bit after the highest.
    pub const fn bits(self) -> (u8, u8) {
        (self.line_bits, self.line_bits + self.index_bits)
    }

    /// The number of sets.
    pub const fn sets(self) -> u64 {
        1 << self.index_bits
    }

    /// The set of a physical address.
    pub const fn set_of(self, address: u64) -> u64 {
        address >> self.line_bits & (self.sets() - 1)
    }

    /// The number of index bits above the bits inside a page: those that the frame decides.
    const fn colour_bits(self, page: PageSize) -> u8 {
        (self.line_bits + self.index_bits).saturating_sub(page.shift())
    }

    /// The number of colours of pages of a size: the size of a way divided by the size of a page.
    /// A page that is larger than a way has one colour.
    pub const fn colours(self, page: PageSize) -> u64 {
        1 << self.colour_bits(page)
    }

    /// The colour of the page of a size that holds a physical address.
    pub const fn colour_of(self, address: u64, page: PageSize) -> u64 {
        address >> page.shift() & (self.colours(page) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Chen 2014, sections I and IV.
    #[test]
    fn the_published_caches_have_the_published_colours() {
        let of = |bytes, ways| CacheIndex::new(bytes, ways, 64).unwrap();
        let evaluated = of(4 * MIB, 16);
        assert_eq!((evaluated.sets(), evaluated.bits()), (4096, (6, 18)));
        assert_eq!(evaluated.colours(PageSize::SIZE_4K), 64);
        let typical = of(8 * MIB, 16);
        assert_eq!(typical.bits(), (6, 19));
        assert_eq!(typical.colours(PageSize::SIZE_2M), 1, "no bit is left");
        assert_eq!(of(64 * MIB, 16).colours(PageSize::SIZE_2M), 2, "one bit");
        assert_eq!(of(32 * MIB, 16).bits(), (6, 21));
    }

    #[test]
    fn a_colour_is_a_run_of_sets() {
        let cache = CacheIndex::new(4 * MIB, 16, 64).unwrap();
        for address in [0, 0xfff, 0x1000, 0x3_f000, 0x4_0000, 0xdead_beef] {
            let sets_of_a_page = 4096 / 64;
            let colour = cache.colour_of(address, PageSize::SIZE_4K);
            assert_eq!(cache.set_of(address) / sets_of_a_page, colour);
        }
    }

    #[test]
    fn a_cache_without_whole_sets_is_refused() {
        let wrong = [(0, 16, 64), (4 * MIB, 0, 64), (3 * MIB, 16, 64)];
        for (bytes, ways, line) in wrong.into_iter().chain([(64, 2, 64), (4096, 1, 48)]) {
            assert_eq!(CacheIndex::new(bytes, ways, line), Err(ColourError::Ways));
        }
        // Three ways are no power of two, and a way can still be one.
        assert_eq!(CacheIndex::new(3 * MIB, 3, 64).unwrap().sets(), 1 << 14);
    }
}
