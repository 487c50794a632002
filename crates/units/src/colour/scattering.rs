//! Scattered superpages: the translation of their addresses.

use super::{ColourRegions, RegionShare};
use crate::PageSize;

/// The places of a scattered superpage: a share of the colour regions in consecutive physical
/// superpages (Chen 2014, section III).
///
/// A scattered superpage has 2^k parts, one in each of 2^k physical superpages. The highest k bits
/// of its offset are the number of the part. In the physical address the regions' fixed bits take
/// their room, below the other bits of the offset that lie above the regions' number. Equation 4
/// is the case of contiguous regions, where nothing lies above. An ordinary superpage has k = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scattering {
    /// The regions of each physical superpage.
    pub regions: ColourRegions,
    /// The share that the superpage uses.
    pub share: RegionShare,
}

impl Scattering {
    /// The base-two logarithm of the number of parts: `Scattered Shift` has this number of bits
    /// (Chen 2014, equation 3).
    pub(super) const fn part_bits(self) -> u8 {
        self.regions.number_bits() - self.share.code()
    }

    /// The number of physical superpages that the superpage lies in: `Scattered_Num` (Chen 2014,
    /// equation 1).
    pub const fn parts(self) -> u64 {
        1 << self.part_bits()
    }

    /// Returns true if the superpage is an ordinary one: it has a physical superpage to itself.
    pub const fn is_ordinary(self) -> bool {
        self.part_bits() == 0
    }

    /// The lowest address bit that the share fixes.
    const fn fixed_bit(self) -> u8 {
        self.regions.bits().0 + self.share.code()
    }

    /// The physical address of an offset in the superpage (Chen 2014, equation 4). `base` is the
    /// number of the first physical superpage. Higher bits of `offset` do not count.
    pub const fn translate(self, base: u64, offset: u64) -> u64 {
        let superpage = self.regions.superpage_bits();
        let offset = offset & ((1 << superpage) - 1);
        let part_shift = superpage - self.part_bits();
        let part = offset >> part_shift;
        let rest = offset & ((1 << part_shift) - 1);
        let low = rest & ((1 << self.fixed_bit()) - 1);
        let above = (rest >> self.fixed_bit()) << self.regions.bits().1;
        let fixed = self.share.entry() << self.regions.bits().0;
        (base + part) << superpage | above | fixed | low
    }

    /// The offset in the superpage of a physical address. `None` if the address does not lie in the
    /// superpage.
    pub const fn offset_of(self, base: u64, address: u64) -> Option<u64> {
        let superpage = self.regions.superpage_bits();
        let part = (address >> superpage).wrapping_sub(base);
        let region = self.regions.region_of(address);
        if part >= self.parts()
            || region >> self.share.code() << self.share.code() != self.share.entry()
        {
            return None;
        }
        let inside = address & ((1 << superpage) - 1);
        let low = inside & ((1 << self.fixed_bit()) - 1);
        let above = (inside >> self.regions.bits().1) << self.fixed_bit();
        Some(part << (superpage - self.part_bits()) | above | low)
    }

    /// The frame of 4 KiB of a page, of a superpage whose first page has the frame `first`. `page`
    /// is the number of the page in the superpage.
    pub const fn frame(self, first: u64, page: u64) -> u64 {
        let shift = PageSize::SIZE_4K.shift();
        let base = first >> (self.regions.superpage_bits() - shift);
        self.translate(base, page << shift) >> shift
    }

    /// The frame of 4 KiB of the first page of a superpage that begins in the physical superpage
    /// `base`.
    pub const fn first_frame(self, base: u64) -> u64 {
        self.translate(base, 0) >> PageSize::SIZE_4K.shift()
    }

    /// The runs of frames of 4 KiB that the share takes of one physical superpage: the first frame
    /// of each, inside the superpage, and the base-two logarithm of the frames of a run.
    pub fn runs(self) -> (impl Iterator<Item = u64>, u8) {
        let shift = PageSize::SIZE_4K.shift();
        let (low, end) = self.regions.bits();
        let runs = 1_u64 << (self.regions.superpage_bits() - end);
        let fixed = self.share.entry() << (low - shift);
        let firsts = (0..runs).map(move |run| run << (end - shift) | fixed);
        (firsts, self.fixed_bit() - shift)
    }
}

#[cfg(test)]
mod tests;
