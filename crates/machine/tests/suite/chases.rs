//! The pointer chases by which Zhu 2018 (chapter 4) found out how Skylake's TLBs are built, run
//! against the machine `skylake`. Each has a closed form: a chase that goes round and round misses
//! never or always.

use broadleaf_machine::machine;
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

const SIZES: [PageSize; 2] = [PageSize::SIZE_4K, PageSize::SIZE_2M];

/// Shares of lookups that miss the first level and both levels, in percent, once the chase has gone
/// round a few times.
fn chase(addresses: &[u64], size: PageSize) -> (usize, usize) {
    let design = machine("skylake").unwrap().design;
    let mut tlb = Tlb::new(&design);
    let (mut first, mut second, mut counted) = (0, 0, 0);
    for round in 0..20 {
        for address in addresses {
            let page = PageNumber(address >> 12);
            let found = tlb.lookup(Asid::default(), page);
            if found == Lookup::Miss {
                tlb.load(&Walk::plain(Asid::default(), page, size));
            }
            if round >= 4 {
                counted += 1;
                first += usize::from(found != Lookup::First);
                second += usize::from(found == Lookup::Miss);
            }
        }
        tlb.check();
    }
    assert!(
        (first * 100).is_multiple_of(counted) && (second * 100).is_multiple_of(counted),
        "misses come and go"
    );
    (first * 100 / counted, second * 100 / counted)
}

/// Addresses that differ only in bits above every index.
fn far_apart(count: u64) -> Vec<u64> {
    (0..count).map(|number| number << 40).collect()
}

#[test]
fn replacement_is_exact_lru() {
    for size in SIZES {
        assert_eq!(
            chase(&far_apart(4), size).0,
            0,
            "four fit a first-level set"
        );
        assert_eq!(
            chase(&far_apart(5), size).0,
            100,
            "five drive each other out"
        );
        assert_eq!(
            chase(&far_apart(12), size),
            (100, 0),
            "twelve fit a second-level set"
        );
        assert_eq!(
            chase(&far_apart(13), size),
            (100, 100),
            "thirteen drive each other out"
        );
    }
}

/// Addresses one more than a set's ways: they differ in bits above every index, and some of them in
/// `detection` too. A detection that changes the index spreads them over two sets, which hold them.
fn with_detection(ways: u64, detection: u64) -> Vec<u64> {
    let top = (ways + 1).next_power_of_two() / 2;
    (0..=ways)
        .map(|number| (number % top) << 40 | if number < top { 0 } else { detection })
        .collect()
}

/// The address bits that change the set of a structure with `ways` ways at a level.
fn index_bits(ways: u64, level: usize, size: PageSize) -> Vec<u32> {
    let changes = |bit: &u32| {
        let (first, second) = chase(&with_detection(ways, 1 << bit), size);
        [first, second][level - 1] == 0
    };
    (u32::from(size.shift())..40).filter(changes).collect()
}

#[test]
fn index_bits_are_found_one_at_a_time() {
    assert_eq!(
        index_bits(4, 1, PageSize::SIZE_4K),
        (12..=15).collect::<Vec<_>>()
    );
    assert_eq!(
        index_bits(4, 1, PageSize::SIZE_2M),
        (22..=24).collect::<Vec<_>>()
    );
    assert_eq!(
        index_bits(12, 2, PageSize::SIZE_2M),
        (21..=27).collect::<Vec<_>>()
    );
    // Fourteen bits, though 128 sets need seven: they have to be combined.
    assert_eq!(
        index_bits(12, 2, PageSize::SIZE_4K),
        (12..=25).collect::<Vec<_>>()
    );
}

#[test]
fn seven_pairs_of_bits_are_combined_by_exclusive_or() {
    let mut pairs = Vec::new();
    for high in 12..=25 {
        for low in 12..high {
            if chase(&with_detection(12, 1 << high | 1 << low), PageSize::SIZE_4K).1 == 100 {
                pairs.push((low, high));
            }
        }
    }
    pairs.sort_unstable();
    assert_eq!(
        pairs,
        (12..=18).map(|low| (low, low + 7)).collect::<Vec<_>>()
    );
}

#[test]
fn the_second_level_is_not_inclusive() {
    // Sixteen addresses in four first-level sets of four, all in one second-level set of twelve.
    let mut addresses = Vec::new();
    for set in 0..4u64 {
        for number in 0..4u64 {
            addresses.push(number << 40 | set << 12 | set << 19);
        }
    }
    let design = machine("skylake").unwrap().design;
    let (_, stlb) = design.holding(2, PageSize::SIZE_4K).unwrap();
    let index = stlb.index(PageSize::SIZE_4K).unwrap();
    assert!(
        addresses
            .iter()
            .all(|address| index.set_of(PageNumber(address >> 12)) == 0)
    );
    // What the second level drives out stays in the first.
    assert_eq!(chase(&addresses, PageSize::SIZE_4K), (0, 0));
}

#[test]
fn the_second_level_is_not_exclusive() {
    // A second level that held only what the first lost would hold twelve and four more.
    for size in SIZES {
        assert_eq!(chase(&far_apart(13), size).1, 100);
    }
}
