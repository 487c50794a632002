//! Plans of machines' TLBs.

use broadleaf_machine::{machine, machine_names, tlb_plan};
use broadleaf_price::{EntryBits, TlbPlan};
use broadleaf_tlb::{IndexFunction, Organisation, OrganisationChoice, Structure};
use broadleaf_units::PageSize;

fn structure(machine_name: &str, number: usize) -> Structure {
    let design = machine(machine_name).expect("a machine").design;
    design.structures()[number].clone()
}

/// Every structure of the built-in machines has a finite area and access time, except structures
/// with blocks and pages larger than those.
#[test]
fn every_built_in_structure_has_a_price() {
    for name in machine_names() {
        for structure in machine(name).expect("a machine").design.structures() {
            let block = structure.organisation.size("block");
            let is_larger =
                |(size, _): &(PageSize, IndexFunction)| block.is_some_and(|block| *size > block);
            let Some(plan) = tlb_plan(structure) else {
                let has_larger = structure.pages.iter().any(is_larger);
                assert!(has_larger, "{name} {}", structure.name);
                continue;
            };
            let (area, time) = (plan.area(), plan.access_time());
            assert!(
                area > 130.0 && area < 1e7,
                "{name} {}: {area}",
                structure.name
            );
            assert!(
                time > 1e-9 && time < 1e-7,
                "{name} {}: {time}",
                structure.name
            );
        }
    }
}

/// Twelve sizes from 4 KiB to 8 MiB: SZ has 4 bits, and 11 bits of the tag are don't-care.
#[test]
fn several_sizes_have_dont_care_bits_and_a_size_field() {
    let bits = EntryBits {
        data: 45 + 4,
        words: 1,
        compared: 64,
        dont_care: 11,
        valid: 1,
        status: 1,
    };
    let expected = TlbPlan::fully_associative(32, bits);
    assert_eq!(tlb_plan(&structure("romer1995", 0)), Some(expected));
}

/// Skylake's second structure: 64 entries in 4 ways for pages of 4 KiB alone.
#[test]
fn one_size_has_neither() {
    let bits = EntryBits {
        data: 45,
        words: 1,
        compared: 64,
        dont_care: 0,
        valid: 1,
        status: 1,
    };
    let expected = TlbPlan::set_associative(64, 4, bits);
    assert_eq!(tlb_plan(&structure("skylake", 1)), Some(expected));
}

/// An organisation with the name of a kind has its bits. Fields that a kind lacks have no price.
#[test]
fn subblock_organisations_are_priced_by_name() {
    let bits = |organisation: &str, parameters: &[(&str, &str)]| {
        let organisation = Organisation::named(organisation).expect("an organisation");
        let mut structure = structure("skylake", 1);
        structure.organisation = OrganisationChoice::from(organisation);
        for (name, value) in parameters {
            structure.organisation.set(name, value).expect("a value");
        }
        tlb_plan(&structure).map(|plan| plan.bits)
    };
    let four = ("block", "16k");
    let complete = bits("complete-subblock", &[four]).expect("a price");
    assert_eq!(
        (complete.data, complete.words, complete.tag()),
        (4 * 46, 4, 63)
    );
    let partial = bits("partial-subblock", &[four, ("modified", "attribute")]).expect("a price");
    assert_eq!((partial.data, partial.words, partial.tag()), (46, 1, 66));
    // One page or a block of four: two sizes.
    let coalesced = bits("coalesced", &[four]).expect("a price");
    assert_eq!((coalesced.data, coalesced.dont_care), (46, 2));
    for (name, value) in [
        ("modified", "page"),
        ("valid", "run"),
        ("frames", "high-bits"),
        ("rights", "page"),
    ] {
        assert_eq!(
            bits("partial-subblock", &[four, (name, value)]),
            None,
            "{name}"
        );
    }
    assert_eq!(
        bits("complete-subblock", &[four, ("superpages", "own-blocks")]),
        None
    );
}

/// A page larger than a block has no price.
#[test]
fn larger_pages_than_blocks_have_no_price() {
    let mut structure = structure("skylake", 2);
    let organisation = Organisation::named("complete-subblock").expect("an organisation");
    structure.organisation = OrganisationChoice::from(organisation);
    structure.organisation.set("block", "64k").expect("a value");
    assert_eq!(tlb_plan(&structure), None);
}
