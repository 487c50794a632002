//! Scatterings in two bytes, as entries of page tables and TLBs hold them.

use super::{ColourRegions, RegionShare, Scattering};
use crate::PageSize;
use core::num::NonZeroU16;

/// The bits of a share's number in the tree of shares.
const NODE_BITS: u32 = 7;
/// The bits of the number of bits of a region's number.
const COUNT_BITS: u32 = 3;
/// The most that the lowest bit of a region's number can lie above the offset in a base page.
const MOST_ABOVE: u8 = 63;

/// A scattering in the two bytes that an entry of a page table or a TLB keeps. It is never that of
/// an ordinary superpage. The size of the superpage is known from the entry.
///
/// A machine's entry needs less: its regions are the same for all entries, so the share alone is
/// stored ([`crate::configuration_bits`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackedScattering(NonZeroU16);

impl PackedScattering {
    /// The scattering of a superpage of this size.
    pub fn unpack(self, superpage: PageSize) -> Option<Scattering> {
        let bits = self.0.get();
        let node = bits & ((1 << NODE_BITS) - 1);
        let number_bits = bits >> NODE_BITS & ((1 << COUNT_BITS) - 1);
        let above = (bits >> (NODE_BITS + COUNT_BITS)) as u8;
        let low_bit = above + PageSize::SIZE_4K.shift();
        let regions = ColourRegions::new(superpage, 1 << number_bits, low_bit).ok()?;
        let share = RegionShare::of_node(node as u8, regions)?;
        Some(Scattering { regions, share })
    }
}

impl Scattering {
    /// The scattering in two bytes. `None` if the superpage is an ordinary one.
    pub fn pack(self) -> Option<PackedScattering> {
        let above = self.regions.bits().0 - PageSize::SIZE_4K.shift();
        if self.is_ordinary() || above > MOST_ABOVE {
            return None;
        }
        let node = u16::from(self.share.node(self.regions));
        let count = u16::from(self.regions.number_bits()) << NODE_BITS;
        let above = u16::from(above) << (NODE_BITS + COUNT_BITS);
        NonZeroU16::new(above | count | node).map(PackedScattering)
    }

    /// The frame of 4 KiB of the first page of a superpage whose page of the number `page` has the
    /// frame `frame`.
    pub const fn first_of(self, frame: u64, page: u64) -> u64 {
        let pages = self.regions.superpage_bits() - PageSize::SIZE_4K.shift();
        let part = page >> (pages - self.part_bits());
        self.first_frame((frame >> pages).wrapping_sub(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_scatterings_are_what_they_were() {
        let superpage = PageSize::SIZE_2M;
        for count in (0..=6).map(|bits| 1 << bits) {
            for bit in 12..=20 {
                let Ok(regions) = ColourRegions::new(superpage, count, bit) else {
                    continue;
                };
                for share in RegionShare::all(regions) {
                    let scattering = Scattering { regions, share };
                    let packed = scattering.pack();
                    assert_eq!(packed.is_none(), scattering.is_ordinary());
                    let unpacked = packed.and_then(|packed| packed.unpack(superpage));
                    assert!(packed.is_none() || unpacked == Some(scattering));
                    let first = scattering.first_frame(77);
                    for page in [0, 1, 63, 64, 255, 256, 511] {
                        let frame = scattering.frame(first, page);
                        assert_eq!(scattering.first_of(frame, page), first);
                    }
                }
            }
        }
        assert_eq!(size_of::<Option<PackedScattering>>(), 2);
    }
}
