//! Shares: the colour regions that one program uses.

use super::{ColourError, ColourRegions};

/// A run of colour regions that one owner uses: the configuration of a scattered superpage (Chen
/// 2014, section III.A, `CR_Entry` and `CR_Num`).
///
/// A share has a power of two of regions and begins at a multiple of itself, so shares are the
/// nodes of a binary tree. The root is the whole superpage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionShare {
    /// The first region.
    entry: u8,
    /// The base-two logarithm of the number of regions.
    code: u8,
}

impl RegionShare {
    /// A share of `count` regions from region `entry` on.
    ///
    /// # Errors
    /// [`ColourError::Share`] if the share is empty or reaches beyond the regions. The number of
    /// its regions is a power of two, and the share begins at a multiple of this number.
    pub const fn new(entry: u64, count: u64, regions: ColourRegions) -> Result<Self, ColourError> {
        let fits = count.is_power_of_two() && entry < regions.count();
        if !fits || !entry.is_multiple_of(count) || count > regions.count() - entry {
            return Err(ColourError::Share);
        }
        Ok(Self {
            entry: entry as u8,
            code: count.trailing_zeros() as u8,
        })
    }

    /// The whole superpage.
    pub const fn whole(regions: ColourRegions) -> Self {
        Self {
            entry: 0,
            code: regions.number_bits(),
        }
    }

    /// All shares of a superpage, in the order of their numbers.
    pub fn all(regions: ColourRegions) -> impl Iterator<Item = Self> {
        (1..2 * regions.count()).filter_map(move |node| Self::of_node(node as u8, regions))
    }

    /// The first region (`CR_Entry`).
    pub const fn entry(self) -> u64 {
        self.entry as u64
    }

    /// The number of regions (`CR_Num`).
    pub const fn count(self) -> u64 {
        1 << self.code
    }

    /// The base-two logarithm of the number of regions: what an entry stores for `CR_Num`.
    pub const fn code(self) -> u8 {
        self.code
    }

    /// The number of the share in the tree of shares: the root has 1, and node n has the halves 2n
    /// and 2n + 1.
    pub const fn node(self, regions: ColourRegions) -> u8 {
        let depth = regions.number_bits() - self.code;
        (1 << depth) + (self.entry >> self.code)
    }

    /// The share with this number in the tree of shares. `None` if there is none.
    pub const fn of_node(node: u8, regions: ColourRegions) -> Option<Self> {
        if node == 0 || node as u64 >= 2 * regions.count() {
            return None;
        }
        let depth = node.ilog2() as u8;
        let code = regions.number_bits() - depth;
        Some(Self {
            entry: (node - (1 << depth)) << code,
            code,
        })
    }

    /// Returns true if both shares have a region.
    pub const fn meets(self, other: Self) -> bool {
        let (from, to) = (self.entry(), other.entry());
        from < to + other.count() && to < from + self.count()
    }

    /// The bits that an entry of a page table or a TLB stores: `CR_Entry` above the code of
    /// `CR_Num`, [`configuration_bits`] in all.
    pub const fn encoded(self, regions: ColourRegions) -> u16 {
        (self.entry as u16) << code_bits(regions) | self.code as u16
    }

    /// The share that stored bits name. `None` if they name none.
    pub const fn decoded(bits: u16, regions: ColourRegions) -> Option<Self> {
        let code = bits & ((1 << code_bits(regions)) - 1);
        let entry = (bits >> code_bits(regions)) as u64;
        if code > regions.number_bits() as u16 {
            return None;
        }
        match Self::new(entry, 1 << code, regions) {
            Ok(share) => Some(share),
            Err(_) => None,
        }
    }
}

/// The bits of the code of `CR_Num`: one value for each power of two up to the number of regions.
const fn code_bits(regions: ColourRegions) -> u32 {
    u8::BITS - regions.number_bits().leading_zeros()
}

/// The bits that a configuration takes: 5 for eight regions (Chen 2014, section III.C). A TLB has
/// them in each entry, or once for each set.
pub const fn configuration_bits(regions: ColourRegions) -> u32 {
    regions.number_bits() as u32 + code_bits(regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageSize;

    const EIGHT: ColourRegions = match ColourRegions::contiguous(PageSize::SIZE_2M, 8) {
        Ok(regions) => regions,
        Err(_) => panic!("eight regions fit"),
    };

    #[test]
    fn eight_regions_have_fifteen_shares_in_five_bits() {
        assert_eq!(RegionShare::all(EIGHT).count(), 15);
        assert_eq!(configuration_bits(EIGHT), 5);
        for (number, share) in (1..).zip(RegionShare::all(EIGHT)) {
            assert_eq!(share.node(EIGHT), number);
            assert_eq!(
                RegionShare::decoded(share.encoded(EIGHT), EIGHT),
                Some(share)
            );
            assert!(share.encoded(EIGHT) < 32);
        }
        let legal = (0..32).filter_map(|bits| RegionShare::decoded(bits, EIGHT));
        assert_eq!(legal.count(), 15);
    }

    /// Chen 2014, section III.C: 32 entries in 8 sets.
    #[test]
    fn the_huge_tlb_has_160_bits_or_40() {
        assert_eq!(32 * configuration_bits(EIGHT), 160);
        assert_eq!(32 / 4 * configuration_bits(EIGHT), 40);
    }

    #[test]
    fn a_share_is_aligned_and_a_power_of_two() {
        for (entry, count) in [
            (0, 0),
            (0, 3),
            (2, 4),
            (8, 1),
            (4, 8),
            (0, 16),
            (u64::MAX, 1),
        ] {
            let share = RegionShare::new(entry, count, EIGHT);
            assert_eq!(share, Err(ColourError::Share), "{entry} {count}");
        }
        assert_eq!(RegionShare::new(0, 8, EIGHT), Ok(RegionShare::whole(EIGHT)));
        assert_eq!(RegionShare::whole(EIGHT).node(EIGHT), 1);
        assert_eq!(RegionShare::of_node(0, EIGHT), None);
        assert_eq!(RegionShare::of_node(16, EIGHT), None);
    }

    #[test]
    fn shares_meet_where_they_have_a_region() {
        let all = || RegionShare::all(EIGHT);
        let regions = |share: RegionShare| share.entry()..share.entry() + share.count();
        for (one, other) in all().flat_map(|one| all().map(move |other| (one, other))) {
            let common = regions(one).any(|region| regions(other).contains(&region));
            assert_eq!(one.meets(other), common);
        }
    }
}
