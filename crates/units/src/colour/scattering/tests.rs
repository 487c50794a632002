//! The translation of scattered superpages: bijections, the work's examples, and isolation.

use super::*;
use crate::{CacheIndex, ColourError};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

const SUPERPAGE: PageSize = PageSize::SIZE_2M;
const LINE: u64 = 64;

fn cache(mebibytes: u64) -> CacheIndex {
    CacheIndex::new(mebibytes << 20, 16, LINE).unwrap()
}

/// Both readings of eight regions: the published cache with the top index bits, and runs of pages.
fn readings() -> [ColourRegions; 2] {
    [
        ColourRegions::by_index(SUPERPAGE, 8, cache(4)).unwrap(),
        ColourRegions::contiguous(SUPERPAGE, 8).unwrap(),
    ]
}

fn all_of(regions: ColourRegions) -> impl Iterator<Item = Scattering> {
    RegionShare::all(regions).map(move |share| Scattering { regions, share })
}

#[test]
fn the_readings_have_the_address_bits_of_the_decision() {
    let [by_index, contiguous] = readings();
    assert_eq!(by_index.bits(), (15, 18));
    assert_eq!(contiguous.bits(), (18, 21));
    // A way of 2 MiB makes one of both readings.
    let large = ColourRegions::by_index(SUPERPAGE, 8, cache(32)).unwrap();
    assert_eq!(large, contiguous);
}

/// Chen 2014, section III.B: superpage 0x50, entry 4, four of eight regions.
#[test]
fn the_worked_addresses_are_the_published_ones() {
    let [by_index, contiguous] = readings();
    let of = |regions| Scattering {
        regions,
        share: RegionShare::new(4, 4, regions).unwrap(),
    };
    let translated = |regions| {
        let scattering = of(regions);
        [0x02_3456, 0x12_3456].map(|offset| scattering.translate(0x50, offset))
    };
    assert_eq!(translated(contiguous), [0xa12_3456, 0xa32_3456]);
    assert_eq!(translated(by_index), [0xa06_3456, 0xa26_3456]);
}

#[test]
fn translation_is_a_bijection_onto_the_share() {
    for regions in readings() {
        assert_eq!(all_of(regions).count(), 15);
        for scattering in all_of(regions) {
            let share = scattering.share;
            let mut reached = BTreeSet::new();
            for offset in (0..SUPERPAGE.bytes()).step_by(LINE as usize) {
                let address = scattering.translate(0x50, offset);
                assert!(reached.insert(address), "two offsets have one address");
                assert_eq!(scattering.offset_of(0x50, address), Some(offset));
                let region = regions.region_of(address);
                assert!((share.entry()..share.entry() + share.count()).contains(&region));
            }
            // All lines of the share in the physical superpages, and no other.
            let physical =
                0x50 * SUPERPAGE.bytes()..(0x50 + scattering.parts()) * SUPERPAGE.bytes();
            let lines = physical.step_by(LINE as usize);
            let of_share = lines.filter(|line| scattering.offset_of(0x50, *line).is_some());
            assert!(of_share.eq(reached));
        }
    }
}

#[test]
fn an_ordinary_superpage_is_the_case_of_one_part() {
    for regions in readings() {
        let share = RegionShare::whole(regions);
        let ordinary = Scattering { regions, share };
        assert!(ordinary.is_ordinary());
        for offset in (0..SUPERPAGE.bytes()).step_by(4093) {
            assert_eq!(ordinary.translate(7, offset), 7 << 21 | offset);
        }
        let (mut firsts, order) = ordinary.runs();
        let frames: Vec<u64> = firsts
            .by_ref()
            .flat_map(|at| at..at + (1 << order))
            .collect();
        assert!(frames.into_iter().eq(0..512));
    }
}

#[test]
fn runs_are_the_frames_of_the_pages() {
    for scattering in readings().into_iter().flat_map(all_of) {
        let first = scattering.first_frame(0x50);
        let frames: BTreeSet<u64> = (0..512).map(|page| scattering.frame(first, page)).collect();
        let (firsts, order) = scattering.runs();
        let firsts: Vec<u64> = firsts.collect();
        let parts = (0x50..0x50 + scattering.parts()).map(|superpage| superpage * 512);
        let runs = parts.flat_map(|start| firsts.iter().map(move |first| start + first));
        let in_runs = runs.flat_map(|first| first..first + (1 << order));
        assert!(in_runs.eq(frames), "{scattering:?}");
        assert_eq!(scattering.frame(first, 0), first);
    }
}

/// The sets that a superpage uses.
fn sets_of(scattering: Scattering, cache: CacheIndex) -> BTreeSet<u64> {
    let offsets = (0..SUPERPAGE.bytes()).step_by(LINE as usize);
    let sets = offsets.map(|offset| cache.set_of(scattering.translate(0, offset)));
    sets.collect()
}

/// The pairs of shares without a common region that share a set all the same.
fn pairs_that_conflict(regions: ColourRegions, cache: CacheIndex) -> usize {
    let sets: Vec<_> = all_of(regions)
        .map(|scattering| (scattering.share, sets_of(scattering, cache)))
        .collect();
    let pairs = sets
        .iter()
        .flat_map(|one| sets.iter().map(move |other| (one, other)));
    let disjoint = pairs.filter(|((one, _), (other, _))| !one.meets(*other));
    disjoint
        .filter(|((_, one), (_, other))| !one.is_disjoint(other))
        .count()
}

#[test]
fn disjoint_shares_have_no_set_in_common() {
    let [by_index, contiguous] = readings();
    for (regions, cache) in [(by_index, cache(4)), (contiguous, cache(32))] {
        assert!(regions.isolate(cache));
        assert_eq!(pairs_that_conflict(regions, cache), 0);
        // A share has its part of the sets, and no other.
        for scattering in all_of(regions) {
            let own = cache.sets() / regions.count() * scattering.share.count();
            assert_eq!(sets_of(scattering, cache).len() as u64, own);
        }
    }
}

/// The conflict inside Chen's text: runs of 64 base pages hold each of the 64 colours.
#[test]
fn contiguous_regions_do_not_isolate_in_the_published_cache() {
    let [_, contiguous] = readings();
    assert!(!contiguous.isolate(cache(4)));
    for scattering in all_of(contiguous) {
        assert_eq!(sets_of(scattering, cache(4)).len() as u64, cache(4).sets());
    }
    // No pair of disjoint shares is isolated.
    let pairs = |one: RegionShare| {
        let others = RegionShare::all(contiguous);
        others.filter(move |other| !one.meets(*other)).count()
    };
    let disjoint: usize = RegionShare::all(contiguous).map(pairs).sum();
    assert_eq!(pairs_that_conflict(contiguous, cache(4)), disjoint);
}

#[test]
fn regions_that_do_not_fit_are_refused() {
    let of = |count, bit| ColourRegions::new(SUPERPAGE, count, bit);
    assert_eq!(of(3, 15), Err(ColourError::Count));
    assert_eq!(of(128, 13), Err(ColourError::Count));
    assert_eq!(of(8, 11), Err(ColourError::Bits));
    assert_eq!(of(8, 19), Err(ColourError::Bits));
    assert_eq!(of(8, u8::MAX), Err(ColourError::Bits));
    assert_eq!(of(8, 18), ColourRegions::contiguous(SUPERPAGE, 8));
    // 64 regions in the 32 KiB ways of a small cache would need bits inside a base page.
    let small = CacheIndex::new(512 << 10, 16, 64).unwrap();
    let regions = ColourRegions::by_index(SUPERPAGE, 64, small);
    assert_eq!(regions, Err(ColourError::Bits));
}

#[test]
fn the_regions_follow_the_cores() {
    // Two regions for each core, as in the work's system of four.
    for cores in [2, 4, 8, 16, 32] {
        let regions = ColourRegions::contiguous(SUPERPAGE, 2 * cores).unwrap();
        let shares = crate::divide_regions(&alloc::vec![2; cores as usize], regions).unwrap();
        assert_eq!(shares.len() as u64, cores);
        assert_eq!(RegionShare::all(regions).count() as u64, 4 * cores - 1);
    }
}
