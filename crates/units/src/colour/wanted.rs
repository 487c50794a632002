//! The shares of a cache that owners ask for.

use super::{ColourError, ColourRegions, RegionShare, divide_regions};
use crate::PageSize;
use alloc::vec::Vec;

/// The parts of a cache that several owners ask for, in the order of the owners: each is one
/// divided by a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedShares {
    /// The base-two logarithm of each divisor.
    codes: [u8; Self::MOST],
    owners: u8,
}

impl WantedShares {
    /// The most owners.
    pub const MOST: usize = 16;
    /// The base-two logarithm of the largest divisor.
    const LARGEST: u8 = 6;

    /// The shares of owners who ask for one divided by these divisors.
    ///
    /// # Errors
    /// [`ColourError::Owners`] if there is no owner or more than [`Self::MOST`], and
    /// [`ColourError::Need`] if a divisor is no power of two up to 64.
    pub const fn new(divisors: &[u64]) -> Result<Self, ColourError> {
        if divisors.is_empty() || divisors.len() > Self::MOST {
            return Err(ColourError::Owners);
        }
        let mut codes = [0; Self::MOST];
        let mut owner = 0;
        while owner < divisors.len() {
            let divisor = divisors[owner];
            if !divisor.is_power_of_two() || divisor > 1 << Self::LARGEST {
                return Err(ColourError::Need);
            }
            codes[owner] = divisor.trailing_zeros() as u8;
            owner += 1;
        }
        let owners = divisors.len() as u8;
        Ok(Self { codes, owners })
    }

    /// The divisors, in the order of the owners.
    pub fn divisors(&self) -> impl Iterator<Item = u64> + '_ {
        let codes = self.codes.iter().take(usize::from(self.owners));
        codes.map(|code| 1 << code)
    }

    /// The number of regions of a superpage: two for each owner, as Chen (2014, section III.A) has
    /// eight for four cores, or more if a share is smaller. `most` bounds the number.
    fn regions(&self, most: u64) -> u64 {
        let of_owners = 2 * u64::from(self.owners).next_power_of_two();
        let regions = self.divisors().fold(of_owners, u64::max);
        regions.min(most)
    }

    /// Divides the colours of a cache, whose ways have the size `way`, among the owners. Returns
    /// the colour regions of a superpage, and the share of each owner.
    ///
    /// The regions are the highest index bits of the cache inside the superpage
    /// ([`ColourRegions::by_index`]). A way as large as the superpage makes regions contiguous. A
    /// share has at least one colour of 4 KiB.
    ///
    /// # Errors
    /// [`ColourError::Owners`] if a way has fewer colours than there are owners, and
    /// [`ColourError::Bits`] if the way is smaller than a page.
    pub fn divide(
        &self,
        superpage: PageSize,
        way: PageSize,
    ) -> Result<(ColourRegions, Vec<RegionShare>), ColourError> {
        let end = way.shift().min(superpage.shift());
        let colours = end.checked_sub(PageSize::SIZE_4K.shift());
        let colours = 1_u64 << colours.ok_or(ColourError::Bits)?;
        let count = self.regions(colours.min(ColourRegions::MOST));
        let low_bit = end - count.trailing_zeros() as u8;
        let regions = ColourRegions::new(superpage, count, low_bit)?;
        let needs: Vec<u64> = self
            .divisors()
            .map(|divisor| (count / divisor).max(1))
            .collect();
        Ok((regions, divide_regions(&needs, regions)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: PageSize = match PageSize::from_bytes(256 << 10) {
        Some(way) => way,
        None => panic!("a power of two"),
    };

    fn divided(divisors: &[u64], way: PageSize) -> (u64, (u8, u8), Vec<(u64, u64)>) {
        let wanted = WantedShares::new(divisors).unwrap();
        let (regions, shares) = wanted.divide(PageSize::SIZE_2M, way).unwrap();
        let shares = shares.iter().map(|share| (share.entry(), share.count()));
        (regions.count(), regions.bits(), shares.collect())
    }

    #[test]
    fn four_cores_have_eight_regions() {
        let shares = alloc::vec![(4, 2), (0, 4), (6, 1), (7, 1)];
        // Both readings of the regions.
        assert_eq!(divided(&[4, 2, 8, 8], WAY), (8, (15, 18), shares.clone()));
        let superpage = PageSize::SIZE_2M;
        assert_eq!(divided(&[4, 2, 8, 8], superpage), (8, (18, 21), shares));
    }

    #[test]
    fn the_regions_follow_the_owners_and_the_smallest_share() {
        assert_eq!(divided(&[1], WAY), (2, (17, 18), alloc::vec![(0, 2)]));
        assert_eq!(divided(&[8], WAY), (8, (15, 18), alloc::vec![(0, 1)]));
        assert_eq!(divided(&[1, 1], WAY).2, [(0, 2), (2, 2)]);
        assert_eq!(divided(&[1; 16], WAY).0, 32);
        assert_eq!(divided(&[64], WAY).0, 64);
        // A way of 16 colours bounds the regions, and a share has a colour at least.
        let small = PageSize::from_bytes(64 << 10).unwrap();
        assert_eq!(divided(&[64; 16], small).0, 16);
    }

    #[test]
    fn shares_that_cannot_be_are_refused() {
        assert_eq!(WantedShares::new(&[]), Err(ColourError::Owners));
        assert_eq!(WantedShares::new(&[2; 17]), Err(ColourError::Owners));
        for wrong in [0, 3, 128, u64::MAX] {
            assert_eq!(WantedShares::new(&[wrong]), Err(ColourError::Need));
        }
        let wanted = WantedShares::new(&[4; 4]).unwrap();
        let way = |bytes| wanted.divide(PageSize::SIZE_2M, PageSize::from_bytes(bytes).unwrap());
        assert_eq!(way(8 << 10), Err(ColourError::Owners));
        assert_eq!(way(2 << 10), Err(ColourError::Bits));
    }
}
