//! TLBs for scattered superpages: against lists, by closed forms, and the bits that they take.

use super::machine_of;
use broadleaf_machine::machine;
use broadleaf_oracle::design::{SlowConfiguration, SlowScattered};
use broadleaf_oracle::random::Rng;
use broadleaf_tlb::{Lookup, Tlb, TlbRequest, Translation, Walk};
use broadleaf_units::{Asid, ColourRegions, PageNumber, PageSize, RegionShare, Scattering};
use std::num::NonZeroU8;

const PAGES: u64 = 512;

/// A TLB of superpages, with pages of 4 KiB beside them.
fn table(sets: usize, ways: usize, more: &str) -> String {
    let index = match sets {
        1 => "none".to_owned(),
        2 => "va[21]".to_owned(),
        _ => format!("va[{}:21]", 20 + sets.ilog2()),
    };
    format!(
        "[[tlb]]\nname = \"base\"\nlevel = 1\nentries = 4\nways = 4\nindex = {{ 4k = \"none\" }}\n\
         replacement = \"lru\"\n[[tlb]]\nname = \"huge\"\nlevel = 1\nentries = {}\nways = {ways}\n\
         index = {{ 2m = \"{index}\" }}\nreplacement = \"lru\"\norganisation = \"scattered\"\n{more}",
        sets * ways
    )
}

fn tlb(sets: usize, ways: usize, configuration: &str) -> Tlb {
    let more = format!("configuration = \"{configuration}\"\n");
    let text = table(sets, ways, &more) + "\n[walk-cycles]\n4k = 30\n2m = 20\n";
    let text = format!("name = \"scattered\"\nsummary = \"scattered\"\n{text}");
    let machine = broadleaf_machine::Machine::from_toml(&text);
    Tlb::new(
        &machine
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
            .design,
    )
}

/// Refers to a superpage, whose share has this number in the tree of shares.
fn refer(tlb: &mut Tlb, superpage: u64, share: u8, times: u64) -> bool {
    let page = PageNumber(superpage * PAGES + 7);
    let request = TlbRequest::load(Asid::ZERO, page);
    let found = tlb.access(&request);
    if found == Lookup::Miss {
        let plain = Translation::plain(Asid::ZERO, page, PageSize::SIZE_2M);
        let translation = Translation {
            frame: Some(superpage * PAGES * 8),
            share: NonZeroU8::new(share).filter(|share| share.get() > 1),
            ..plain
        };
        tlb.load(&Walk::alone(request, translation));
    }
    tlb.repeat(times - 1);
    tlb.check();
    found != Lookup::Miss
}

#[test]
fn hits_misses_and_cycles_are_those_of_lists() {
    for seed in 0..64 {
        let mut rng = Rng::new(seed);
        let (sets, ways) = (rng.pick(&[1, 2, 4]), 1 + rng.below(4) as usize);
        let (name, of) = rng.pick(&[
            ("set", SlowConfiguration::Set),
            ("entry", SlowConfiguration::Entry),
        ]);
        let shares: Vec<u8> = (0..3).map(|_| 1 + rng.below(15) as u8).collect();
        let mut model = tlb(sets, ways, name);
        let mut list = SlowScattered::new(sets, ways, of);
        // A superpage keeps its share until it is unmapped.
        let mut of_pages = [1_u8; 12];
        for step in 0..200 {
            let superpage = rng.below(12);
            if rng.one_in(8) {
                let first = PageNumber(superpage * PAGES);
                model.invalidate(Asid::ZERO, first, PageSize::SIZE_2M);
                list.forget(superpage);
                of_pages[superpage as usize] = rng.pick(&shares);
                continue;
            }
            let (share, times) = (of_pages[superpage as usize], 1 + rng.below(3));
            let hit = refer(&mut model, superpage, share, times);
            let listed = list.refer(superpage, share, times);
            assert_eq!(hit, listed, "seed {seed}, step {step}");
            let cycles = model.counts().scatter_cycles;
            assert_eq!(cycles, list.cycles, "seed {seed}, step {step}");
        }
        assert!(list.misses > 0);
    }
}

#[test]
fn sets_hold_pages_of_one_share_and_entries_of_any() {
    // Two superpages of one set and of two shares, in turn.
    let misses = |configuration: &str, shares: [u8; 2]| {
        let mut tlb = tlb(2, 4, configuration);
        let mut misses = 0;
        for _ in 0..10 {
            for (superpage, share) in [(0, shares[0]), (2, shares[1])] {
                misses += u64::from(!refer(&mut tlb, superpage, share, 5));
            }
        }
        (misses, tlb.counts().scatter_cycles)
    };
    assert_eq!(misses("entry", [2, 3]), (2, 100));
    assert_eq!(misses("set", [2, 3]), (20, 0));
    assert_eq!(misses("set", [2, 2]), (2, 0));
    // Ordinary superpages have a configuration too, and need no addition.
    assert_eq!(misses("entry", [1, 3]), (2, 50));
    assert_eq!(misses("set", [1, 3]), (20, 0));
    assert_eq!(misses("entry", [1, 1]), (2, 0));
}

/// Chen 2014, section III.C: 32 entries in sets of 4.
#[test]
fn configurations_take_160_bits_or_40() {
    for (name, bits) in [("chen2014-scattered", 160), ("chen2014-scattered-sets", 40)] {
        let machine = machine(name).expect("a machine");
        let structures = machine.design.structures().iter();
        let of: Vec<u64> = structures
            .filter_map(|of| of.configuration_bits())
            .collect();
        assert_eq!(of, [bits], "{name}");
    }
}

/// Chen 2014, section III.B, by an entry of the machine's TLB: decision 12's bits 17 to 15.
#[test]
fn an_entry_translates_by_equation_4() {
    let machine = machine("chen2014-scattered").expect("a machine");
    let mut structures = machine.design.structures().iter();
    let regions = structures
        .find_map(|of| of.colour_regions())
        .expect("regions");
    let contiguous = ColourRegions::contiguous(PageSize::SIZE_2M, 8).expect("regions");
    for (regions, expected) in [
        (regions, [0xa06_3456_u64, 0xa26_3456]),
        (contiguous, [0xa12_3456, 0xa32_3456]),
    ] {
        let share = RegionShare::new(4, 4, regions).expect("a share");
        let first = Scattering { regions, share }.first_frame(0x50);
        let virtual_base = 3 * PageSize::SIZE_2M.bytes();
        let entry = Translation {
            frame: Some(first),
            share: NonZeroU8::new(share.node(regions)),
            ..Translation::plain(
                Asid::ZERO,
                PageNumber(virtual_base >> 12),
                PageSize::SIZE_2M,
            )
        };
        for (offset, address) in [0x02_3456_u64, 0x12_3456].into_iter().zip(expected) {
            let page = PageNumber((virtual_base + offset) >> 12);
            let frame = entry.translated(page, regions).expect("a frame");
            assert_eq!(frame << 12 | offset & 0xfff, address);
            assert_eq!(entry.frame_of(page), None, "no concatenation");
        }
    }
}

#[test]
fn what_the_organisation_cannot_have_is_refused() {
    for (more, wrong) in [
        (
            "regions = \"64\"\nregion-bit = 16\n",
            "64 colour regions do not fit",
        ),
        ("region-bit = 11\n", "region-bit is 12 to 20"),
        ("regions = \"3\"\n", "regions is one of 8, 2, 4"),
        (
            "configuration = \"way\"\n",
            "configuration is one of entry, set",
        ),
    ] {
        let text = format!(
            "name = \"x\"\nsummary = \"x\"\n{}\n[walk-cycles]\n4k = 30\n2m = 20\n",
            table(2, 4, more)
        );
        let error = broadleaf_machine::Machine::from_toml(&text).expect_err(more);
        assert!(error.to_string().contains(wrong), "{error}");
    }
    let base = table(2, 4, "region-bit = 18\n").replace("2m = \"va[21]\"", "4k = \"va[12]\"");
    let base = base.replace("name = \"base\"\nlevel = 1", "name = \"base\"\nlevel = 2");
    let error = machine_of(&base).expect_err("no page of 2m");
    assert!(error.to_string().contains("pages of 2m"), "{error}");
}
