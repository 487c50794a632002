//! Contracts of every replacement rule and every organisation of the catalogues.

use broadleaf_tlb::{
    Composed, Design, IndexFunction, Lookup, ORGANISATIONS, Organisation, OrganisationChoice,
    REPLACEMENTS, Replacement, ReplacementChoice, ReplacementState, Role, RuleShape, Structure,
    StructureValue, TlbRequest, Translation, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize};

/// A number of ways that the rule does not refuse.
fn ways(replacement: &Replacement) -> usize {
    let fits = |ways: &usize| (replacement.refuses)(*ways).is_none();
    (4..=64).find(fits).expect("ways that the rule can have")
}

/// Four sets.
fn design(organisation: &'static Organisation, replacement: &'static Replacement) -> Design {
    let mut choice = OrganisationChoice::from(organisation);
    let parameters = organisation.parameters.iter();
    let mut sizes = parameters.filter(|one| one.default == StructureValue::Size(None));
    let bits = match sizes.next() {
        // A block of two pages is in one set.
        Some(block) => {
            choice.set(block.name, "8k").expect("a size");
            "va[14:13]"
        }
        None => "va[13:12]",
    };
    let index = IndexFunction::parse(bits).expect("an index");
    let structure = Structure {
        name: "dtlb".to_string(),
        level: 1,
        entries: 4 * ways(replacement),
        ways: ways(replacement),
        pages: vec![(PageSize::SIZE_4K, index)],
        organisation: choice,
        replacement: replacement.into(),
        role: Role::default(),
        wired: 0,
        walk_entries: Vec::new(),
    };
    Design::new(vec![structure]).expect("a design")
}

/// Returns true if a new translation takes an unused way if there is one.
fn fills_unused_first(replacement: &'static Replacement) -> bool {
    let (sets, ways) = (4, ways(replacement));
    let choice = &ReplacementChoice::from(replacement);
    let rule = (replacement.build)(&RuleShape {
        sets,
        ways,
        wired: 0,
        choice,
    });
    rule.fills_unused_first()
}

/// The walk for a base page, with a frame of its own and no neighbours.
fn walk(page: u64) -> Walk<'static> {
    let plain = Walk::plain(Asid::ZERO, PageNumber(page), PageSize::SIZE_4K);
    let frame = Some(page ^ 0x5555);
    Walk {
        translation: Translation {
            frame,
            ..plain.translation
        },
        ..plain
    }
}

fn request(tag: Asid, page: u64) -> TlbRequest {
    TlbRequest::load(tag, PageNumber(page))
}

/// Refers to a page. Returns true if the lookup hits.
fn refer(tlb: &mut Composed, page: u64) -> bool {
    let found = tlb.lookup(&request(Asid::ZERO, page));
    if found == Lookup::Miss {
        tlb.load(&walk(page));
    }
    tlb.check();
    found != Lookup::Miss
}

/// Every pair of the catalogues.
fn pairs() -> impl Iterator<Item = (&'static Organisation, &'static Replacement)> {
    let organisations = ORGANISATIONS.iter();
    organisations.flat_map(|organisation| {
        let replacements = REPLACEMENTS.iter();
        replacements.map(move |replacement| (*organisation, *replacement))
    })
}

#[test]
fn names_are_unique_and_found() {
    for (organisation, replacement) in pairs() {
        let name = organisation.described.name;
        assert_eq!(Organisation::named(name), Some(organisation));
        let name = replacement.described.name;
        assert_eq!(Replacement::named(name), Some(replacement));
    }
    assert_eq!(Organisation::named("pentagonal"), None);
    assert_eq!(Replacement::named("alphabetical"), None);
}

#[test]
fn a_page_hits_after_its_miss_and_no_other_page_does() {
    for (organisation, replacement) in pairs() {
        let mut tlb = Composed::new(&design(organisation, replacement));
        for page in (0..10_000).map(|step| step * 2_654_435_761 % 4093) {
            refer(&mut tlb, page);
            assert!(refer(&mut tlb, page), "{organisation:?}, {replacement:?}");
            // The spaces differ, and no page of this one lies so high.
            for (tag, page) in [(Asid::wrapping(1), page), (Asid::ZERO, page + 5000)] {
                let found = tlb.lookup(&request(tag, page));
                assert_eq!(found, Lookup::Miss, "{organisation:?}, {replacement:?}");
            }
            assert!(tlb.occupied() <= 4 * ways(replacement));
        }
    }
}

#[test]
fn pages_that_fit_stay_and_stale_pages_go() {
    for (organisation, replacement) in pairs() {
        let mut tlb = Composed::new(&design(organisation, replacement));
        let pages = 0..4 * ways(replacement) as u64;
        let is_held = |tlb: &mut Composed, page: &u64| {
            tlb.lookup(&request(Asid::ZERO, *page)) != Lookup::Miss
        };
        pages
            .clone()
            .for_each(|page| assert!(!refer(&mut tlb, page)));
        let held: Vec<u64> = pages
            .clone()
            .filter(|page| is_held(&mut tlb, page))
            .collect();
        // Only a rule that replaces translations beside unused ways may lose a page.
        let all_held = held.len() == pages.end as usize;
        assert!(
            all_held || !fills_unused_first(replacement),
            "{replacement:?}"
        );
        tlb.drop_stale(|entry| entry.first.0 % 3 == 0);
        let kept = pages.filter(|page| is_held(&mut tlb, page));
        assert!(
            kept.eq(held.into_iter().filter(|page| page % 3 != 0)),
            "{organisation:?}"
        );
    }
}

#[test]
fn a_full_set_loses_one_page_to_a_new_one() {
    for (organisation, replacement) in pairs() {
        let mut tlb = Composed::new(&design(organisation, replacement));
        let (in_set, ways) = (|page: u64| page * 8, ways(replacement));
        // A rule that replaces translations beside unused ways takes longer to fill a set.
        let is_full = |tlb: &Composed| tlb.occupied() == ways;
        for page in 0..1000 {
            assert!(is_full(&tlb) || !refer(&mut tlb, in_set(100 + page)));
            let wanted = ways.min(page as usize + 1);
            assert!(tlb.occupied() == wanted || !fills_unused_first(replacement));
        }
        let mut lost = Vec::new();
        for page in 4..50 {
            let page = in_set(page);
            let found = tlb.lookup(&request(Asid::ZERO, page));
            assert_eq!(found, Lookup::Miss, "{replacement:?}");
            tlb.load_evicting(&walk(page), |gone| lost.push(gone.page));
        }
        assert_eq!(lost.len(), 46, "{organisation:?}, {replacement:?}");
        assert_eq!(tlb.occupied(), ways);
    }
}

#[test]
fn a_locked_way_makes_no_room_unless_all_ways_are_locked() {
    for replacement in REPLACEMENTS {
        let (design, ways) = (
            design(Organisation::set_associative(), replacement),
            ways(replacement),
        );
        // Every set of locked ways.
        for locks in 0..1_u32 << ways {
            let is_locked = |way: usize| locks >> way & 1 == 1;
            let mut state = ReplacementState::new(&design.structures()[0]);
            (0..ways).for_each(|way| state.fill(1, way));
            (0..ways)
                .filter(|way| is_locked(*way))
                .for_each(|way| state.lock(1, way));
            for step in 0..40 {
                let way = state.choose(1);
                let all = (0..ways).all(is_locked);
                assert_eq!(
                    all && way == ways - 1,
                    is_locked(way),
                    "{replacement:?}, {locks:b}"
                );
                state.fill(1, way);
                state.hit(1, step * 7 % ways);
            }
            // An unlocked way makes room again.
            (0..ways).for_each(|way| state.unlock(1, way, true));
            for free in 0..ways {
                let others = || (0..ways).filter(|way| *way != free);
                others().for_each(|way| state.lock(1, way));
                assert_eq!(state.choose(1), free, "{replacement:?}");
                state.fill(1, free);
                others().for_each(|way| state.unlock(1, way, true));
            }
        }
    }
}

#[test]
fn a_parameter_has_a_range_and_a_default() {
    for replacement in REPLACEMENTS {
        let mut choice = ReplacementChoice::from(*replacement);
        assert!(choice.set("colour", "1").is_err());
        for (at, parameter) in replacement.parameters.iter().enumerate() {
            assert_eq!(choice.values()[at], parameter.default);
            let (least, most) = parameter.range().expect("a number");
            let default = parameter.default.number().expect("a number");
            assert!((least..=most).contains(&default));
            for value in [least, most] {
                assert_eq!(choice.set(parameter.name, &value.to_string()), Ok(()));
                let given = format!("{}={value}", parameter.name);
                assert!(choice.to_string().contains(&given), "{choice}");
            }
            let outside = least.checked_sub(1).or(most.checked_add(1));
            assert!(
                outside.is_none_or(|value| choice.set(parameter.name, &value.to_string()).is_err())
            );
        }
    }
}
