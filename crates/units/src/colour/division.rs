//! The division of colour regions among owners.

use super::{ColourError, ColourRegions, RegionShare};
use alloc::vec::Vec;

/// Divides the regions of a superpage among owners that need these numbers of regions. Returns a
/// share for each owner, in order. No two shares meet.
///
/// While the needs exceed the regions, the largest need is halved, and of equal needs the first
/// one. The largest share then comes first, so that each share is aligned. Regions that no
/// owner needs stay unused. Chen (2014, section IV) divides by hand.
///
/// # Errors
/// [`ColourError::Need`] if a need is no power of two, and [`ColourError::Owners`] if there are
/// more owners than regions.
pub fn divide_regions(
    needs: &[u64],
    regions: ColourRegions,
) -> Result<Vec<RegionShare>, ColourError> {
    if needs.iter().any(|need| !need.is_power_of_two()) {
        return Err(ColourError::Need);
    }
    let most = needs.iter().map(|need| (*need).min(regions.count()));
    let mut needs: Vec<u64> = most.collect();
    if needs.len() as u64 > regions.count() {
        return Err(ColourError::Owners);
    }
    while needs.iter().sum::<u64>() > regions.count() {
        let Some(largest) = needs.iter().copied().max() else {
            break;
        };
        if let Some(need) = needs.iter_mut().find(|need| **need == largest) {
            *need /= 2;
        }
    }
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|owner| core::cmp::Reverse(needs[*owner]));
    let mut shares = alloc::vec![RegionShare::whole(regions); needs.len()];
    let mut entry = 0;
    for owner in order {
        shares[owner] = RegionShare::new(entry, needs[owner], regions)?;
        entry += needs[owner];
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageSize;

    fn divided(needs: &[u64]) -> Result<Vec<(u64, u64)>, ColourError> {
        let eight = ColourRegions::contiguous(PageSize::SIZE_2M, 8)?;
        let shares = divide_regions(needs, eight)?;
        for (at, share) in shares.iter().enumerate() {
            assert!(!shares[..at].iter().any(|other| other.meets(*share)));
        }
        let as_pairs = shares.iter().map(|share| (share.entry(), share.count()));
        Ok(as_pairs.collect())
    }

    /// Chen 2014, section II: hmmer a quarter, gcc a half, mcf and lbm an eighth each.
    #[test]
    fn the_first_mix_is_divided_as_published() {
        assert_eq!(
            divided(&[2, 4, 1, 1]),
            Ok(alloc::vec![(4, 2), (0, 4), (6, 1), (7, 1)])
        );
    }

    #[test]
    fn needs_that_exceed_the_regions_are_halved() {
        // omnetpp and gcc need a half each, mcf and milc an eighth each.
        assert_eq!(
            divided(&[4, 4, 1, 1]),
            Ok(alloc::vec![(4, 2), (0, 4), (6, 1), (7, 1)])
        );
        assert_eq!(divided(&[8]), Ok(alloc::vec![(0, 8)]));
        assert_eq!(divided(&[64, 64]), Ok(alloc::vec![(0, 4), (4, 4)]));
        assert_eq!(divided(&[]), Ok(alloc::vec![]));
    }

    #[test]
    fn needs_that_cannot_be_met_are_refused() {
        assert_eq!(divided(&[1; 9]), Err(ColourError::Owners));
        assert_eq!(divided(&[3]), Err(ColourError::Need));
        assert_eq!(divided(&[0]), Err(ColourError::Need));
    }
}
