//! Lookups that are answered without a search answer as those that search, for every rule.

use broadleaf_tlb::{
    Composed, Design, IndexFunction, Lookup, Organisation, REPLACEMENTS, ReferenceKind,
    Replacement, Role, ServedKinds, Structure, TlbRequest, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize};
use proptest::prelude::*;

fn structure(level: usize, sets: &str, served: [bool; 3], rule: &'static Replacement) -> Structure {
    let index = IndexFunction::parse(sets).expect("an index");
    let fits = |ways: &usize| (rule.refuses)(*ways).is_none();
    let ways = (4..=64).find(fits).expect("ways that the rule can have");
    let [fetches, loads, stores] = served;
    Structure {
        name: format!("tlb{level}-{fetches}-{loads}"),
        level,
        entries: index.sets() as usize * ways,
        ways,
        pages: vec![(PageSize::SIZE_4K, index)],
        organisation: Organisation::set_associative().into(),
        replacement: rule.into(),
        role: Role {
            serves: ServedKinds {
                fetches,
                loads,
                stores,
            },
            ..Role::default()
        },
        wired: 0,
        walk_entries: Vec::new(),
    }
}

/// One structure; one for code and one for data; and the same above a shared level.
fn designs(rule: &'static Replacement) -> Vec<Design> {
    let all = [true; 3];
    let code = structure(1, "none", [true, false, false], rule);
    let data = structure(1, "none", [false, true, true], rule);
    let second = structure(2, "va[13:12]", all, rule);
    let designs = [
        vec![structure(1, "none", all, rule)],
        vec![code.clone(), data.clone()],
        vec![code, data, second],
    ];
    let designs = designs.into_iter();
    designs
        .map(|one| Design::new(one).expect("a design"))
        .collect()
}

/// A reference, or the drop of a page.
fn steps() -> impl Strategy<Value = Vec<(u64, u8, bool)>> {
    let step = (0..24_u64, 0..3_u8, prop::bool::weighted(0.03));
    // Half of the references are to the page of the one before.
    let step = (step, any::<bool>());
    prop::collection::vec(step, 1..300).prop_map(|steps| {
        let mut last = 0;
        let page = |((page, kind, drops), again): ((u64, u8, bool), bool)| {
            last = if again { last } else { page };
            (last, kind, drops)
        };
        steps.into_iter().map(page).collect()
    })
}

proptest! {
    #[test]
    fn repeated_lookups_answer_as_searches_do(steps in steps()) {
        for rule in REPLACEMENTS {
            for design in designs(rule) {
                let (mut quick, mut slow) = (Composed::new(&design), Composed::new(&design));
                for (number, (page, kind, drops)) in steps.iter().enumerate() {
                    let kind = match kind {
                        0 => ReferenceKind::Fetch,
                        1 => ReferenceKind::Load,
                        _ => ReferenceKind::Store,
                    };
                    let page = PageNumber(*page);
                    let request = TlbRequest { tag: Asid::ZERO, page, kind };
                    if *drops {
                        for tlb in [&mut quick, &mut slow] {
                            tlb.drop_stale(|entry| entry.first == page);
                        }
                    }
                    if number == 100 {
                        quick = quick.clone();
                    }
                    let found = quick.lookup(&request);
                    prop_assert_eq!(found, slow.lookup_evicting(&request, |_| ()));
                    if found == Lookup::Miss {
                        let plain = Walk::plain(Asid::ZERO, page, PageSize::SIZE_4K);
                        let walk = Walk { request, ..plain };
                        quick.load(&walk);
                        slow.load_evicting(&walk, |_| ());
                    }
                    for tlb in [&mut quick, &mut slow] {
                        tlb.repeat(number as u64 % 3);
                    }
                }
                prop_assert_eq!(quick.counts(), slow.counts());
                quick.check();
            }
        }
    }
}
