//! Contracts of every replacement rule and every organisation of the catalogues.

use broadleaf_tlb::{
    Composed, Design, IndexFunction, Lookup, ORGANISATIONS, Organisation, REPLACEMENTS,
    Replacement, Structure, Translation,
};
use broadleaf_units::{Asid, PageNumber, PageSize};

fn design(organisation: &'static Organisation, replacement: &'static Replacement) -> Design {
    let index = IndexFunction::parse("va[13:12]").expect("an index");
    let structure = Structure {
        name: "dtlb".to_string(),
        level: 1,
        entries: 16,
        ways: 4,
        pages: vec![(PageSize::SIZE_4K, index)],
        organisation,
        replacement: replacement.into(),
    };
    Design::new(vec![structure]).expect("a design")
}

/// A translation of a base page, with a frame of its own and no neighbours.
fn translation(page: u64) -> Translation {
    Translation {
        tag: Asid::ZERO,
        first: PageNumber(page),
        size: PageSize::SIZE_4K,
        frame: Some(page ^ 0x5555),
        placed: 0,
    }
}

/// Refers to a page. Returns true if the lookup hits.
fn refer(tlb: &mut Composed, page: u64) -> bool {
    let found = tlb.lookup(Asid::ZERO, PageNumber(page), |_| {});
    if found == Lookup::Miss {
        tlb.fill(&translation(page), |_| {});
    }
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
                let found = tlb.lookup(tag, PageNumber(page), |_| {});
                assert_eq!(found, Lookup::Miss, "{organisation:?}, {replacement:?}");
            }
            assert!(tlb.occupied() <= 16);
        }
    }
}

#[test]
fn pages_that_fit_stay_and_stale_pages_go() {
    for (organisation, replacement) in pairs() {
        let mut tlb = Composed::new(&design(organisation, replacement));
        (0..16).for_each(|page| assert!(!refer(&mut tlb, page)));
        (0..16).for_each(|page| assert!(refer(&mut tlb, page), "{replacement:?}"));
        tlb.drop_stale(|entry| entry.first.0 % 3 == 0);
        let kept = (0..16)
            .filter(|page| tlb.lookup(Asid::ZERO, PageNumber(*page), |_| {}) != Lookup::Miss);
        assert!(
            kept.eq((0..16).filter(|page| page % 3 != 0)),
            "{organisation:?}"
        );
    }
}

#[test]
fn a_full_set_loses_one_page_to_a_new_one() {
    for (organisation, replacement) in pairs() {
        let mut tlb = Composed::new(&design(organisation, replacement));
        let in_set = |page: u64| page * 4;
        (0..4).for_each(|page| assert!(!refer(&mut tlb, in_set(page))));
        let mut lost = Vec::new();
        for page in 4..50 {
            let page = PageNumber(in_set(page));
            let found = tlb.lookup(Asid::ZERO, page, |_| {});
            assert_eq!(found, Lookup::Miss, "{replacement:?}");
            tlb.fill(&translation(page.0), |gone| lost.push(gone.page));
        }
        assert_eq!(lost.len(), 46, "{organisation:?}, {replacement:?}");
        assert_eq!(tlb.occupied(), 4);
    }
}
