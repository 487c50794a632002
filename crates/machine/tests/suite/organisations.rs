//! Contracts of every organisation of the catalogue: a grid has it, and its structures have a
//! price or a reason for none.

use broadleaf_machine::{grid_kinds, is_grid, machines_of_grid, tlb_plan};
use broadleaf_price::EntryKind;
use broadleaf_tlb::{ORGANISATIONS, Organisation, Structure, StructureValue};

/// A structure of 64 entries, as a grid of that kind describes it.
fn structure(kind: &str, organisation: &Organisation) -> Structure {
    let parameters = organisation.parameters.iter();
    let blocks = parameters.filter(|one| one.default == StructureValue::Size(None));
    let blocks = blocks.map(|block| format!(",{}=16k", block.name));
    let grid = format!("{kind}:entries=64,ways=4{}", blocks.collect::<String>());
    assert!(is_grid(&grid), "{grid}");
    let machines = machines_of_grid(&grid).expect("a grid");
    assert_eq!(machines.len(), 1, "{grid}");
    assert_eq!(machines[0].name, grid);
    machines[0].design.structures()[0].clone()
}

#[test]
fn every_organisation_is_a_kind_of_grid() {
    for organisation in ORGANISATIONS {
        let found = structure(organisation.described.name, organisation);
        assert_eq!(found.organisation.entry(), *organisation);
    }
}

#[test]
fn every_kind_of_grid_has_a_name_of_its_own() {
    let mut names = Vec::new();
    for (kind, organisation) in grid_kinds() {
        let found = structure(kind.name, organisation);
        assert_eq!(found.organisation.entry(), organisation);
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        assert!(kind.name.chars().all(is_word), "{kind:?}");
        assert!(!names.contains(&kind.name), "{kind:?}");
        names.push(kind.name);
    }
}

#[test]
fn every_organisation_has_a_price_or_no_shape_of_an_entry() {
    for organisation in ORGANISATIONS {
        let structure = structure(organisation.described.name, organisation);
        let Some(shape) = (organisation.entry)(&structure) else {
            assert_eq!(tlb_plan(&structure), None, "{organisation:?}");
            continue;
        };
        assert!(EntryKind::named(shape.kind).is_some(), "{shape:?}");
        let plan = tlb_plan(&structure).expect("a price");
        assert_eq!((plan.entries, plan.ways), (64, Some(4)));
        assert!(plan.area() > 0.0 && plan.access_time() > 0.0);
    }
}
