//! Plans of machines' TLBs.

use broadleaf_machine::{machine, machine_names, tlb_plan};
use broadleaf_price::{EntryBits, TlbPlan};
use broadleaf_tlb::{Organisation, Structure};
use broadleaf_units::Described;

fn structure(machine_name: &str, number: usize) -> Structure {
    let design = machine(machine_name).expect("a machine").design;
    design.structures()[number].clone()
}

/// Every structure of the built-in machines has a finite area and access time.
#[test]
fn every_built_in_structure_has_a_price() {
    for name in machine_names() {
        for structure in machine(name).expect("a machine").design.structures() {
            let plan = tlb_plan(structure).expect("a plan");
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

/// An organisation with the name of a kind has its bits. Another has no price.
#[test]
fn organisations_are_priced_by_name() {
    static COMPLETE: Organisation = named("complete-subblock", 2);
    static UNKNOWN: Organisation = named("unknown", 0);
    let mut structure = structure("skylake", 1);
    structure.organisation = &COMPLETE;
    let bits = tlb_plan(&structure).expect("a plan").bits;
    assert_eq!((bits.data, bits.words, bits.tag()), (4 * 46, 4, 63));
    structure.organisation = &UNKNOWN;
    assert_eq!(tlb_plan(&structure), None);
}

const fn named(name: &'static str, neighbours: u32) -> Organisation {
    Organisation {
        described: Described {
            name,
            summary: "",
            explanation: "",
            source: "",
        },
        build: |structure| (Organisation::set_associative().build)(structure),
        neighbours,
    }
}
