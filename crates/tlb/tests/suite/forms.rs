//! Packed sets count as composed structures do, for every design of sets with exact LRU.

use broadleaf_tlb::{
    Composed, Design, Evicted, IndexFunction, Lookup, Organisation, Packed, Replacement, Role,
    Structure, TlbRequest, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize};
use proptest::prelude::*;

const SIZES: [PageSize; 2] = [PageSize::SIZE_4K, PageSize::SIZE_2M];

/// A verb of a TLB.
#[derive(Clone, Copy, Debug)]
enum Verb {
    /// A lookup of a page in a space, and a fill with this size after a miss.
    Refer(u8, u16, bool),
    DropPage(u8, u16, bool),
    DropRange(u8, u16, u16),
    DropSpace(u8),
}

fn verbs() -> impl Strategy<Value = Vec<Verb>> {
    let refer = (0..3_u8, any::<u16>(), any::<bool>());
    let verb = prop_oneof![
        20 => refer.clone().prop_map(|(space, page, large)| Verb::Refer(space, page, large)),
        1 => refer.prop_map(|(space, page, large)| Verb::DropPage(space, page, large)),
        1 => (0..3_u8, any::<u16>(), 1..2000_u16).prop_map(|(a, b, c)| Verb::DropRange(a, b, c)),
        1 => (0..3_u8).prop_map(Verb::DropSpace),
    ];
    prop::collection::vec(verb, 1..400)
}

fn structure(name: &str, level: usize, ways: usize, pages: &[(PageSize, &str)]) -> Structure {
    let index = |text: &str| IndexFunction::parse(text).expect("an index");
    let sets = index(pages[0].1).sets() as usize;
    Structure {
        name: name.to_string(),
        level,
        entries: sets * ways,
        ways,
        pages: (pages.iter())
            .map(|(size, text)| (*size, index(text)))
            .collect(),
        organisation: Organisation::set_associative().into(),
        replacement: Replacement::lru(),
        role: Role::default(),
        wired: 0,
        walk_entries: Vec::new(),
    }
}

/// Designs of one and two levels, with separate and with shared structures.
fn designs(ways: usize) -> [Design; 3] {
    let [small, large] = SIZES;
    let shared = [(small, "va[13:12]"), (large, "va[22:21]")];
    let one = vec![structure(
        "dtlb",
        1,
        ways,
        &[(small, "none"), (large, "none")],
    )];
    let two = vec![
        structure("dtlb-4k", 1, ways, &[(small, "va[12]")]),
        structure("dtlb-2m", 1, 1, &[(large, "none")]),
        structure("stlb", 2, ways + 1, &shared),
    ];
    let first = structure("dtlb", 1, ways, &shared);
    let second = structure("stlb", 2, 2 * ways, &[(small, "va[14:12]")]);
    [one, two, vec![first, second]].map(|of| Design::new(of).expect("a design"))
}

/// Pages in a few blocks, so that sets fill and both sizes meet.
fn page_of(number: u16) -> u64 {
    u64::from(number % 7) << 9 | u64::from(number / 7 % 24)
}

proptest! {
    #[test]
    fn packed_sets_count_as_composed_structures(verbs in verbs(), ways in 1..5_usize) {
        for design in designs(ways) {
            let (mut packed, mut composed) = (Packed::new(&design), Composed::new(&design));
            for verb in &verbs {
                let [mut lost, mut gone]: [Vec<Evicted>; 2] = Default::default();
                match *verb {
                    Verb::Refer(space, number, large) => {
                        let (tag, page) = (Asid::wrapping(space.into()), page_of(number));
                        let page = PageNumber(page);
                        let size = SIZES[usize::from(large)];
                        let found = packed.lookup_evicting(tag, page, |one| lost.push(one));
                        let request = TlbRequest::load(tag, page);
                        let same = composed.lookup_evicting(&request, |one| gone.push(one));
                        prop_assert_eq!(found, same);
                        if found == Lookup::Miss {
                            packed.fill_evicting(tag, page, size, |one| lost.push(one));
                            let walk = Walk::plain(tag, page, size);
                            composed.load_evicting(&walk, |one| gone.push(one));
                        }
                    }
                    Verb::DropPage(space, number, large) => {
                        let tag = Asid::wrapping(space.into());
                        let (page, size) = (page_of(number), SIZES[usize::from(large)]);
                        let first = page & !(size.bytes() / PageSize::SIZE_4K.bytes() - 1);
                        packed.invalidate(tag, PageNumber(page), size);
                        composed.drop_stale(|entry| {
                            (entry.tag, entry.first.0, entry.size) == (tag, first, size)
                        });
                    }
                    Verb::DropRange(space, number, pages) => {
                        let (tag, start) = (Asid::wrapping(space.into()), page_of(number));
                        let pages = u64::from(pages);
                        packed.invalidate_range(tag, PageNumber(start), pages);
                        composed.drop_stale(|entry| {
                            let (first, end) = entry.pages();
                            entry.tag == tag && first < start + pages && start < end
                        });
                    }
                    Verb::DropSpace(space) => {
                        let tag = Asid::wrapping(space.into());
                        packed.invalidate_space(tag);
                        composed.drop_stale(|entry| entry.tag == tag);
                    }
                }
                prop_assert_eq!(lost, gone);
                prop_assert_eq!(packed.occupied(), composed.occupied());
                packed.check();
            }
        }
    }
}
