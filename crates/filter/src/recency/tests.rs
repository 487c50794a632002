//! Tests against TLBs that make every lookup.

use super::*;
use crate::testing;
use broadleaf_tlb::{Design, Lookup, Replacement, Tlb, Walk};
use broadleaf_units::{Asid, PageSize};

/// TLBs that make the same lookups, with the numbers of their hits.
struct CountingAll(Vec<Counting>);

impl CountingAll {
    fn new(designs: &[Design]) -> Self {
        let new = |design: &Design| Counting {
            tlb: Tlb::new(design),
            found: [0; 3],
        };
        Self(designs.iter().map(new).collect())
    }

    fn look_up(&mut self, page: PageNumber, promoted: &[bool; 64]) {
        for counting in &mut self.0 {
            counting.look_up(page, promoted);
        }
    }

    fn found(&self) -> Vec<[u64; 3]> {
        self.0.iter().map(|counting| counting.found).collect()
    }

    fn holds_as(&self, other: &Self) -> bool {
        let mut both = self.0.iter().zip(&other.0);
        both.all(|(one, other)| one.tlb.holds_as(&other.tlb))
    }
}

/// Machines whose TLBs are filtered together: structures that differ in sets, in index bits, and in
/// the sizes that they hold.
const TOGETHER: [&[&str]; 5] = [
    &["skylake", "skylake-va23"],
    &["skylake-unified-64", "skylake"],
    &["skylake-va23", "skylake-unified-96", "skylake-unified-64"],
    &["skylake", "skylake-1g"],
    &["neoverse-n1", "skylake"],
];

/// A TLB with the numbers of its hits.
struct Counting {
    tlb: Tlb,
    found: [u64; 3],
}

impl Counting {
    fn look_up(&mut self, page: PageNumber, promoted: &[bool; 64]) {
        let tag = Asid::default();
        let found = self.tlb.lookup(tag, page);
        match found {
            Lookup::First => {}
            Lookup::Second | Lookup::Third => self.found[1] += 1,
            Lookup::Miss => {
                let size = if promoted[(page.0 >> 9) as usize] {
                    PageSize::SIZE_2M
                } else {
                    PageSize::SIZE_4K
                };
                self.found[2] += 1;
                self.tlb.load(&Walk::plain(tag, page, size));
            }
        }
    }
}

/// Random pages of a few blocks, which are promoted and demoted. A filtered TLB misses as often as
/// a TLB that makes every lookup, and holds the same entries after it has caught up.
#[test]
fn what_is_left_out_changes_nothing() {
    let alone = testing::TWO_SIZES.map(|name| vec![name]).into_iter();
    for names in alone.chain(TOGETHER.map(<[&str]>::to_vec)) {
        let designs: Vec<_> = names.iter().map(|name| testing::design(name)).collect();
        let name = names.join(", ");
        let seeds = if names.len() > 1 { 8 } else { 24 };
        for (seed, spread) in (1u64..=seeds).zip([1, 7, 2, 63, 4, 15, 8, 3].into_iter().cycle()) {
            let mut recency = Recency::new(&designs);
            let new = || CountingAll::new(&designs);
            let (mut all, mut some, mut left_out) = (new(), new(), 0);
            let mut promoted = [false; 64];
            let mut random = 88_172_645_463_325_252u64 * seed;
            for step in 0..40_000u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Most lookups are near one of a few places.
                let block = if random.is_multiple_of(16) {
                    random >> 8 & 63
                } else {
                    (random >> 8 & 3) * spread
                };
                let within = if step.is_multiple_of(9) { 511 } else { 0x51 };
                let page = PageNumber((block & 63) << 9 | (random >> 20 & within));
                let mut look_up = |page: PageNumber| some.look_up(page, &promoted);
                let breaks = random >> 40 & 63 == 0;
                if breaks {
                    recency.make(page, &mut look_up);
                    look_up(page);
                } else if recency.has_to_be_made(page, &mut look_up) {
                    look_up(page);
                } else {
                    left_out += 1;
                }
                all.look_up(page, &promoted);
                if breaks {
                    let state = &mut promoted[block as usize & 63];
                    *state = !*state;
                    if !*state {
                        for counting in all.0.iter_mut().chain(&mut some.0) {
                            counting
                                .tlb
                                .invalidate(Asid::default(), page, PageSize::SIZE_2M);
                        }
                        recency.remove_larger(page);
                    }
                }
                assert_eq!(
                    all.found(),
                    some.found(),
                    "{name}, seed {seed}, step {step}"
                );
                if random >> 50 & 255 == 0 {
                    recency.catch_up(&mut |page| some.look_up(page, &promoted));
                    assert!(all.holds_as(&some), "{name}, seed {seed}, step {step}");
                    match random >> 58 {
                        0 => recency.forget(),
                        1..8 => {
                            recency.be_shallow(true);
                        }
                        8..24 => {
                            recency.be_shallow(false);
                        }
                        _ => {}
                    }
                }
            }
            assert!(left_out > 500, "{name}, seed {seed}: {left_out}");
        }
    }
}

/// Sets of rules other than LRU that keep the translations used last, above a level of any rule.
#[test]
fn what_is_left_out_of_other_rules_changes_nothing() {
    for (first, second) in [
        ("tree-plru", "random"),
        ("tree-plru", "gods"),
        ("lru", "mru3-plru"),
    ] {
        let rule = |name: &str| Replacement::named(name).expect("a rule").into();
        let mut structures = testing::skylake().structures().to_vec();
        for structure in &mut structures {
            structure.replacement = rule(if structure.level == 1 { first } else { second });
        }
        let design = Design::new(structures).expect("a design");
        assert!(Recency::covers([&design]) && !design.is_sets_with_lru());
        for (seed, spread) in (1u64..=8).zip([1, 7, 2, 63, 4, 15, 8, 3]) {
            let mut recency = Recency::new([&design]);
            let new = || CountingAll::new(std::slice::from_ref(&design));
            let (mut all, mut some, mut left_out) = (new(), new(), 0);
            let mut promoted = [false; 64];
            let mut random = 88_172_645_463_325_252u64 * seed;
            for step in 0..30_000u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let block = match random.is_multiple_of(16) {
                    true => random >> 8 & 63,
                    false => ((random >> 8 & 3) * spread) & 63,
                };
                let within = if step.is_multiple_of(9) { 511 } else { 0x51 };
                let page = PageNumber(block << 9 | (random >> 20 & within));
                promoted[block as usize] |= random >> 40 & 127 == 0;
                let mut look_up = |page: PageNumber| some.look_up(page, &promoted);
                if recency.has_to_be_made(page, &mut look_up) {
                    look_up(page);
                } else {
                    left_out += 1;
                }
                all.look_up(page, &promoted);
                assert_eq!(
                    all.found(),
                    some.found(),
                    "{first}, seed {seed}, step {step}"
                );
            }
            assert!(left_out > 500, "{first}, seed {seed}: {left_out}");
        }
    }
}

/// Random pages of few sets, so that the order of entries is all that matters. Lookups are filtered
/// by page and by place in turn. Blocks are promoted while entries of their base pages remain.
#[test]
fn what_is_let_be_changes_no_order() {
    let design = crate::testing::skylake();
    let (mut let_be, mut made_up) = (0u64, 0u64);
    for seed in 1..=60u64 {
        let mut recency = Recency::new([&design]);
        let new = || Counting {
            tlb: Tlb::new(&design),
            found: [0; 3],
        };
        let (mut all, mut some) = (new(), new());
        let mut promoted = [false; 64];
        let mut places: std::collections::BTreeMap<PageNumber, RecencyPlace> = Default::default();
        let mut random = 88_172_645_463_325_252u64 * seed;
        let mut hot = [PageNumber(0); 5];
        let mut by_place = false;
        for step in 0..30_000u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Three blocks of one set of superpages, and one of another; pages of two sets.
            let any = PageNumber(
                [0u64, 16, 32, 2][(random >> 8 & 3) as usize] << 9
                    | [0u64, 16, 32, 3][(random >> 10 & 3) as usize],
            );
            if step.is_multiple_of(64) {
                hot = std::array::from_fn(|at| {
                    let bits = random >> (12 + 4 * at);
                    PageNumber(
                        [0u64, 16, 32, 2][(bits & 3) as usize] << 9
                            | [0u64, 16, 3, 4][(bits >> 2 & 3) as usize],
                    )
                });
                by_place = random >> 40 & 1 == 0;
            }
            let page = match random >> 48 & 31 {
                0 => any,
                pick => hot[pick as usize % hot.len()],
            };
            let made = std::cell::Cell::new(0u64);
            let mut look_up = |page: PageNumber| {
                made.set(made.get() + 1);
                some.look_up(page, &promoted);
            };
            let breaks = random >> 54 & 63 == 0;
            let skippable = |places: &std::collections::BTreeMap<PageNumber, RecencyPlace>,
                             recency: &Recency| {
                let place = places.get(&page).copied();
                place.filter(|place| {
                    recency.pages[place.set()].number[place.at()] == page.0
                        && recency.is_skippable(*place)
                })
            };
            if let (true, false, Some(place)) = (by_place, breaks, skippable(&places, &recency)) {
                recency.leaving_out().leave_out(place);
            } else if !by_place && !breaks {
                let left_out: u64 = deferred_pages(&recency);
                if recency.has_to_be_made(page, &mut look_up) {
                    let_be += left_out - made.get();
                    made_up += made.get();
                    look_up(page);
                }
            } else {
                let stood: Vec<_> = places
                    .values()
                    .map(|&place| (place, recency.is_skippable(place)))
                    .collect();
                let left_out = deferred_pages(&recency);
                let done = recency.note_made(page, &mut look_up);
                let_be += left_out - made.get();
                made_up += made.get();
                look_up(page);
                let place = done.place.expect("a place");
                for (other, stood) in stood {
                    let skippable = stood && !done.fallen.has(other);
                    assert!(
                        other == place || recency.is_skippable(other) == skippable,
                        "seed {seed}, step {step}"
                    );
                }
                places.insert(page, place);
            }
            all.look_up(page, &promoted);
            if breaks {
                let block = (page.0 >> 9) as usize;
                promoted[block] = !promoted[block];
                if !promoted[block] {
                    for tlb in [&mut all.tlb, &mut some.tlb] {
                        tlb.invalidate(Asid::default(), page, PageSize::SIZE_2M);
                    }
                    let stood: Vec<_> = (places.values())
                        .map(|&place| (place, recency.is_skippable(place)))
                        .collect();
                    let fallen = recency.remove_larger(page);
                    for (other, stood) in stood {
                        let skippable = stood && !fallen.has(other);
                        assert_eq!(
                            recency.is_skippable(other),
                            skippable,
                            "seed {seed}, step {step}"
                        );
                    }
                }
            }
            assert_eq!(all.found, some.found, "seed {seed}, step {step}");
            if random >> 60 == 0 {
                recency.catch_up(&mut |page| some.look_up(page, &promoted));
                assert!(all.tlb.holds_as(&some.tlb), "seed {seed}, step {step}");
            }
        }
    }
    // Both are common here.
    assert!(let_be > 10_000 && made_up > 10_000, "{let_be} {made_up}");
}

/// A deferred lookup of another superpage in the same set is made first, even if its base page's
/// set is not concerned. Made later, it would move that superpage to the top.
#[test]
fn superpages_of_a_set_stay_in_order() {
    let design = crate::testing::skylake();
    let mut recency = Recency::new([&design]);
    let new = || Counting {
        tlb: Tlb::new(&design),
        found: [0; 3],
    };
    let (mut all, mut some) = (new(), new());
    let mut promoted = [false; 64];
    (promoted[0], promoted[16]) = (true, true);
    let page = |block: u64, offset: u64| PageNumber(block << 9 | offset);
    let (one, other) = (page(0, 0), page(16, 3));
    // The lookups of both pages are deferred, the first page's last. Then lookups of other pages in
    // their base pages' sets follow in turn.
    let lookups = [one, other, one, other, one, page(2, 16), page(2, 3)];
    for page in lookups {
        let mut look_up = |page: PageNumber| some.look_up(page, &promoted);
        if recency.has_to_be_made(page, &mut look_up) {
            look_up(page);
        }
        all.look_up(page, &promoted);
    }
    recency.catch_up(&mut |page| some.look_up(page, &promoted));
    assert!(all.tlb.holds_as(&some.tlb));
}

/// The number of pages whose last lookup is deferred.
fn deferred_pages(recency: &Recency) -> u64 {
    recency.left_out.count() as u64
}
