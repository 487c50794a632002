//! Pointer chases on every structure of every built-in machine. From misses alone they find the
//! ways, the bits of the index and the capacity that the machine's file gives.
//!
//! A chase fits if some round has no miss. That is so for every replacement rule: as many pages as
//! a set has ways settle in it, and one more never does.

use crate::replacement::OneSet;
use broadleaf_machine::{machine, machine_names};
use broadleaf_tlb::{
    Design, Lookup, ReferenceKind, Role, Structure, Tlb, TlbRequest, Translation, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize, Rights};

/// The lowest of the address bits that no index uses.
const ABOVE: u32 = 40;

const KINDS: [ReferenceKind; 3] = [
    ReferenceKind::Fetch,
    ReferenceKind::Load,
    ReferenceKind::Store,
];

/// A memory in which every page is mapped and properly placed, and a TLB.
struct Chased {
    tlb: Tlb,
    size: PageSize,
    kind: ReferenceKind,
    /// The addresses that one entry covers: a page, or a block of pages.
    unit: u64,
    rounds: usize,
}

impl Chased {
    fn new(design: &Design, structure: &Structure, size: PageSize, kind: ReferenceKind) -> Self {
        Self {
            tlb: Tlb::new(design),
            size,
            kind,
            unit: unit(structure, size),
            rounds: rounds(structure),
        }
    }

    /// A structure without the others.
    fn alone(structure: &Structure, size: PageSize) -> Self {
        let mut alone = structure.clone();
        alone.level = 1;
        alone.walk_entries.clear();
        alone.role = Role {
            probes: structure.role.probes,
            ..Role::default()
        };
        let design = Design::new(vec![alone]).expect("a design");
        Self::new(&design, structure, size, ReferenceKind::Load)
    }

    fn translation(&self, page: PageNumber) -> Translation {
        let plain = Translation::plain(Asid::ZERO, page, self.size);
        Translation {
            frame: Some(plain.first.0),
            rights: Rights::READ_WRITE,
            ..plain
        }
    }

    /// Refers to an address, and loads the page after a miss.
    fn refer(&mut self, address: u64) -> Lookup {
        let page = PageNumber(address >> 12);
        let (tag, kind) = (Asid::ZERO, self.kind);
        let request = TlbRequest { tag, page, kind };
        let found = self.tlb.access(&request);
        if found == Lookup::Miss {
            let translation = self.translation(page);
            let size = self.size;
            let read = |page: PageNumber| {
                let plain = Translation::plain(Asid::ZERO, page, size);
                let frame = Some(plain.first.0);
                Some(Translation { frame, ..plain })
            };
            let walk = Walk {
                request,
                translation,
                read: &read,
            };
            self.tlb.load(&walk);
        }
        found
    }

    /// The misses of a round: of the first level, and of all levels. Each unit is referred to once
    /// a page.
    fn round(&mut self, units: &[u64]) -> (usize, usize) {
        let mut misses = (0, 0);
        for first in units {
            let pages = (*first..first + self.unit).step_by(self.size.bytes() as usize);
            for address in pages {
                let found = self.refer(address);
                misses.0 += usize::from(found != Lookup::First);
                misses.1 += usize::from(found == Lookup::Miss);
            }
        }
        misses
    }

    /// Returns whether units come to fit the first level, and all levels.
    fn fits(&mut self, units: &[u64]) -> (bool, bool) {
        let mut fits = (false, false);
        for _ in 0..self.rounds {
            let misses = self.round(units);
            fits = (fits.0 || misses.0 == 0, fits.1 || misses.1 == 0);
            if fits.0 {
                break;
            }
        }
        self.tlb.check();
        fits
    }

    /// Units one after the other.
    fn in_a_row(&self, count: usize) -> Vec<u64> {
        (0..count as u64).map(|number| number * self.unit).collect()
    }
}

/// The addresses that one entry of a structure covers.
fn unit(structure: &Structure, size: PageSize) -> u64 {
    let organisation = &structure.organisation;
    let Some(block) = organisation.size("block") else {
        return size.bytes();
    };
    match organisation.word("superpages") {
        "own-blocks" => size.bytes() * (block.bytes() / structure.pages[0].0.bytes()),
        _ => block.bytes().max(size.bytes()),
    }
}

/// The rounds after which a chase that fits has settled. A random rule needs time to find the last
/// unused entries.
fn rounds(structure: &Structure) -> usize {
    match is_random(structure) {
        true => 600,
        false => 4,
    }
}

fn is_random(structure: &Structure) -> bool {
    structure.replacement.entry().described.name == "random"
}

/// Every structure of every machine with every size, in words and as values.
fn each(mut check: impl FnMut(&str, &Structure, PageSize)) {
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for structure in design.structures() {
            for (size, _) in &structure.pages {
                let words = format!("{name}, {}, {}", structure.name, size.short_name());
                check(&words, structure, *size);
            }
        }
    }
}

/// Units one more than the ways: they differ in bits above every index, and some in `detection`.
fn with_detection(ways: usize, detection: u64) -> Vec<u64> {
    let top = (ways as u64 + 1).next_power_of_two() / 2;
    let unit = |number| (number % top) << ABOVE | if number < top { 0 } else { detection };
    (0..=ways as u64).map(unit).collect()
}

/// Units that differ only in bits above every index.
fn far_apart(count: usize) -> Vec<u64> {
    (0..count as u64).map(|number| number << ABOVE).collect()
}

/// The ranges of bits of an index, from its text: the lowest bit and the highest.
fn ranges(index: &str) -> Vec<(u32, u32)> {
    let fields = index.split('^').filter_map(|field| {
        let inside = field.trim().strip_prefix("va[")?.strip_suffix(']')?;
        let (high, low) = inside.split_once(':')?;
        Some((low.parse().ok()?, high.parse().ok()?))
    });
    fields.collect()
}

#[test]
fn ways_are_found() {
    each(|words, structure, size| {
        let fits = |count| {
            let mut chased = Chased::alone(structure, size);
            chased.fits(&far_apart(count)).0
        };
        let ways = structure.ways - structure.wired_ways();
        assert!(fits(ways), "{words}");
        assert!(!fits(ways + 1), "{words}");
    });
}

#[test]
fn index_bits_and_their_pairs_are_found() {
    each(|words, structure, size| {
        let spreads = |detection| {
            let mut chased = Chased::alone(structure, size);
            let ways = structure.ways - structure.wired_ways();
            chased.fits(&with_detection(ways, detection)).0
        };
        let lowest = unit(structure, size).trailing_zeros();
        let bits: Vec<u32> = (lowest..ABOVE).filter(|bit| spreads(1 << bit)).collect();
        let index = structure.index(size).expect("an index").to_string();
        let ranges = ranges(&index);
        let of_ranges = ranges.iter().flat_map(|(low, high)| *low..=*high);
        let mut wanted: Vec<u32> = of_ranges.collect();
        wanted.sort_unstable();
        assert_eq!(bits, wanted, "{words}: {index}");
        // Two bits that are combined change nothing together.
        let mut pairs = Vec::new();
        for (at, high) in bits.iter().enumerate() {
            let lower = bits[..at].iter();
            let lower = lower.filter(|low| !spreads(1 << *low | 1 << high));
            pairs.extend(lower.map(|low| (*low, *high)));
        }
        let combined = ranges.iter().enumerate().flat_map(|(at, one)| {
            let others = ranges[at + 1..].iter();
            others.flat_map(move |other| (one.0..=one.1).zip(other.0..=other.1))
        });
        let mut combined: Vec<(u32, u32)> = combined.collect();
        combined.sort_unstable_by_key(|(_, high)| *high);
        assert_eq!(pairs, combined, "{words}: {index}");
        let sets = 1 << (bits.len() - pairs.len());
        assert_eq!(structure.entries, structure.ways * sets, "{words}");
    });
}

#[test]
fn capacities_are_found() {
    each(|words, structure, size| {
        let fits = |count| {
            let mut chased = Chased::alone(structure, size);
            let units = chased.in_a_row(count);
            chased.fits(&units).0
        };
        let entries = structure.entries - structure.wired;
        assert!(fits(entries), "{words}");
        assert!(!fits(entries + 1), "{words}");
    });
}

/// The entries of a level for a kind of reference and a size.
fn reach(design: &Design, level: usize, size: PageSize, kind: ReferenceKind) -> usize {
    let holds =
        |of: &&Structure| of.level == level && of.index(size).is_some() && of.role.serves.has(kind);
    let structures = design.structures().iter().filter(holds);
    structures.map(|of| of.entries - of.wired).sum()
}

#[test]
fn capacities_are_found_through_all_levels() {
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for kind in KINDS {
            for size in design.sizes() {
                let first = reach(&design, 1, *size, kind);
                let most = (1..=3).map(|level| reach(&design, level, *size, kind));
                let most = most.max().expect("a level");
                let of_level =
                    |of: &&Structure| of.index(*size).is_some() && of.role.serves.has(kind);
                let Some(structure) = design.structures().iter().find(of_level) else {
                    continue;
                };
                let fits = |count: usize| {
                    let mut chased = Chased::new(&design, structure, *size, kind);
                    let units = chased.in_a_row(count);
                    chased.fits(&units)
                };
                let words = format!("{name}, {kind:?}, {}", size.short_name());
                if first > 0 {
                    assert!(fits(first).0, "{words}");
                    assert!(!fits(first + 1).0, "{words}");
                }
                assert!(fits(most).1, "{words}");
                assert!(!fits(most + 1).1, "{words}");
            }
        }
    }
}

#[test]
fn a_set_answers_chases_as_its_rule_does() {
    each(|words, structure, size| {
        if is_random(structure) || structure.organisation.size("block").is_some() {
            return;
        }
        let ways = structure.ways - structure.wired_ways();
        let mut chased = Chased::alone(structure, size);
        let units = far_apart(ways + 1);
        let misses: usize = (0..64).map(|_| chased.round(&units).0).sum();
        let mut set = OneSet::new(structure.replacement.entry().described.name, ways);
        let pages: Vec<u64> = (0..=ways as u64).collect();
        let wanted = set.steady(&pages, 64, 64);
        let found = misses as f64 / (64 * units.len()) as f64;
        assert!((found - wanted).abs() < 1e-12, "{words}: {found}, {wanted}");
    });
}

/// Random replacement: the ratio of misses of a chase over `pages` pages gives the entries. A page
/// is still there if none of the misses between its uses took its entry.
fn entries_of_ratio(ratio: f64, pages: usize) -> f64 {
    let between = ratio * (pages - 1) as f64;
    1.0 / (1.0 - (1.0 - ratio).powf(1.0 / between))
}

#[test]
fn the_miss_ratio_curve_of_a_random_rule_gives_the_capacity() {
    let mut found = 0;
    each(|words, structure, size| {
        // All sizes of a structure are alike.
        let is_first = structure.pages[0].0 == size;
        if !is_random(structure) || structure.sets() > 1 || !is_first {
            return;
        }
        found += 1;
        for more in [1.25, 1.5, 2.0] {
            let wanted = (structure.entries - structure.wired) as f64;
            let count = (wanted * more) as usize;
            let mut chased = Chased::alone(structure, size);
            let units = far_apart(count);
            // One page of each unit.
            chased.unit = size.bytes();
            for _ in 0..100 {
                chased.round(&units);
            }
            let misses: usize = (0..1000).map(|_| chased.round(&units).0).sum();
            let ratio = misses as f64 / (1000 * count) as f64;
            let entries = entries_of_ratio(ratio, count);
            assert!(
                (entries - wanted).abs() < 1.0,
                "{words}: {entries} at {count}"
            );
        }
    });
    assert!(found > 0, "no machine has a random rule");
}
