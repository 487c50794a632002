//! Colour regions: the configurable groups of colours in a superpage.

use super::CacheIndex;
use crate::PageSize;
use core::fmt;

/// The reason why colours or regions cannot be as a description says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourError {
    /// The size of a cache's way or line is no power of two, or a way is smaller than a line.
    Ways,
    /// The number of regions is no power of two from 1 to [`ColourRegions::MOST`].
    Count,
    /// The address bits of the regions do not lie between the offset in a base page and the end of
    /// the superpage.
    Bits,
    /// The share is no power of two of regions, or does not begin at a multiple of itself.
    Share,
    /// There are more owners than regions.
    Owners,
    /// An owner needs no region, or a number that is no power of two.
    Need,
}

impl fmt::Display for ColourError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ways => "the ways and lines of a cache have sizes that are powers of two",
            Self::Count => "the number of colour regions is a power of two from 1 to 64",
            Self::Bits => {
                "the address bits of colour regions lie above the offset in a base page and \
                 inside the superpage"
            }
            Self::Share => {
                "a share is a power of two of colour regions, and begins at a multiple of itself"
            }
            Self::Owners => "there are more owners than colour regions",
            Self::Need => "an owner needs a power of two of colour regions",
        })
    }
}

impl core::error::Error for ColourError {}

/// The colour regions of a superpage (Chen 2014, section III.A).
///
/// Consecutive address bits inside the superpage number the regions. In Chen's text a region is a
/// run of base pages, so the bits are the highest of the superpage ([`Self::contiguous`]). In a
/// cache whose ways are smaller than a superpage, these bits choose no set, and regions isolate
/// nothing. The highest index bits of the cache do ([`Self::by_index`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColourRegions {
    /// The low address bits inside a superpage.
    superpage_bits: u8,
    /// The lowest address bit of a region's number.
    low_bit: u8,
    /// The number of bits of a region's number.
    number_bits: u8,
}

impl ColourRegions {
    /// The most regions of a superpage: 32 cores with two each.
    pub const MOST: u64 = 64;

    /// Regions whose number is in the address bits from `low_bit` on.
    ///
    /// # Errors
    /// If `count` is no power of two up to [`Self::MOST`], or the bits do not lie above the offset
    /// in a base page of 4 KiB and inside the superpage.
    pub const fn new(superpage: PageSize, count: u64, low_bit: u8) -> Result<Self, ColourError> {
        if !count.is_power_of_two() || count > Self::MOST {
            return Err(ColourError::Count);
        }
        let number_bits = count.trailing_zeros() as u8;
        let fits = low_bit.saturating_add(number_bits) <= superpage.shift();
        if low_bit < PageSize::SIZE_4K.shift() || !fits {
            return Err(ColourError::Bits);
        }
        Ok(Self {
            superpage_bits: superpage.shift(),
            low_bit,
            number_bits,
        })
    }

    /// Regions that are runs of base pages: the highest address bits inside the superpage.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub const fn contiguous(superpage: PageSize, count: u64) -> Result<Self, ColourError> {
        Self::below(superpage, count, superpage.shift())
    }

    /// Regions that have sets of their own: the highest index bits of a cache inside the superpage.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub const fn by_index(
        superpage: PageSize,
        count: u64,
        cache: CacheIndex,
    ) -> Result<Self, ColourError> {
        let (_, end) = cache.bits();
        let shift = superpage.shift();
        Self::below(superpage, count, if end < shift { end } else { shift })
    }

    /// Regions whose number ends below an address bit.
    const fn below(superpage: PageSize, count: u64, end: u8) -> Result<Self, ColourError> {
        if !count.is_power_of_two() || count > Self::MOST {
            return Err(ColourError::Count);
        }
        Self::new(
            superpage,
            count,
            end.saturating_sub(count.trailing_zeros() as u8),
        )
    }

    /// The number of regions of a superpage.
    pub const fn count(self) -> u64 {
        1 << self.number_bits
    }

    /// The number of bits of a region's number.
    pub const fn number_bits(self) -> u8 {
        self.number_bits
    }

    /// The lowest address bit of a region's number, and the bit after the highest.
    pub const fn bits(self) -> (u8, u8) {
        (self.low_bit, self.low_bit + self.number_bits)
    }

    /// The number of address bits inside a superpage.
    pub const fn superpage_bits(self) -> u8 {
        self.superpage_bits
    }

    /// The region of a physical address.
    pub const fn region_of(self, address: u64) -> u64 {
        address >> self.low_bit & (self.count() - 1)
    }

    /// Returns true if two regions share no set of a cache: all bits of a region's number choose
    /// the set.
    pub const fn isolate(self, cache: CacheIndex) -> bool {
        let (low, end) = self.bits();
        let (first, after) = cache.bits();
        first <= low && end <= after
    }
}
