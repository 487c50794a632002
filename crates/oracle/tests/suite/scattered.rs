//! The arithmetic of colour regions, compared with lists of frames.

use broadleaf_oracle::scattered_frames;
use broadleaf_units::{ColourRegions, PageSize, RegionShare, Scattering, SplitMix64};

/// Every share of every number of regions, in every place of the regions' bits.
fn all_scatterings() -> Vec<Scattering> {
    let counts = (0..=6).map(|bits| 1_u64 << bits);
    let regions = counts.flat_map(|count| {
        let bits = 12..=21;
        bits.filter_map(move |bit| ColourRegions::new(PageSize::SIZE_2M, count, bit).ok())
    });
    let shares = regions.flat_map(|regions| {
        let shares = RegionShare::all(regions);
        shares.map(move |share| Scattering { regions, share })
    });
    shares.collect()
}

#[test]
fn the_frames_of_a_scattered_superpage_are_those_of_the_list() {
    let mut random = SplitMix64::new(25);
    for scattering in all_scatterings() {
        let base = random.below(1 << 30);
        let (low_bit, _) = scattering.regions.bits();
        let bits = (u32::from(low_bit), scattering.regions.count());
        let share = scattering.share.entry()..scattering.share.entry() + scattering.share.count();
        let listed = scattered_frames(base, bits, share);
        let first = scattering.first_frame(base);
        let frames: Vec<u64> = (0..512).map(|page| scattering.frame(first, page)).collect();
        assert_eq!(frames, listed, "{scattering:?}");
        let superpages = listed.iter().map(|frame| frame / 512);
        assert_eq!(superpages.max(), Some(base + scattering.parts() - 1));
    }
}
