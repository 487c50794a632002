//! Cyclic pointer chases over one page more than a set holds, on every structure of every built-in
//! machine. Each set misses as often as its replacement rule says.

use crate::replacement::OneSet;
use broadleaf_machine::{machine, machine_names};
use broadleaf_tlb::{
    Design, Lookup, ReferenceKind, Role, Structure, Tlb, TlbRequest, Translation, Walk,
};
use broadleaf_units::{Asid, PageNumber, PageSize, Rights};

/// The lowest of the address bits that no index uses.
const ABOVE: u32 = 40;

/// A structure without the others.
fn alone(structure: &Structure) -> Tlb {
    let mut alone = structure.clone();
    alone.level = 1;
    alone.walk_entries.clear();
    alone.role = Role {
        probes: structure.role.probes,
        ..Role::default()
    };
    Tlb::new(&Design::new(vec![alone]).expect("a design"))
}

/// Refers to an address, and loads the page after a miss. Returns true if it missed.
fn misses(tlb: &mut Tlb, size: PageSize, address: u64) -> bool {
    let page = PageNumber(address >> 12);
    let (tag, kind) = (Asid::ZERO, ReferenceKind::Load);
    let request = TlbRequest { tag, page, kind };
    let found = tlb.access(&request);
    if found == Lookup::Miss {
        let plain = |page: PageNumber| {
            let plain = Translation::plain(Asid::ZERO, page, size);
            let frame = Some(plain.first.0);
            Translation { frame, ..plain }
        };
        let read = |page: PageNumber| Some(plain(page));
        let translation = Translation {
            rights: Rights::READ_WRITE,
            ..plain(page)
        };
        tlb.load(&Walk {
            request,
            translation,
            read: &read,
        });
    }
    found != Lookup::First
}

/// Checks a structure with a size of pages. Returns false for a random rule, and for blocks of
/// pages, which have no such chase.
fn follows_its_rule(words: &str, structure: &Structure, size: PageSize) -> bool {
    let rule = structure.replacement.entry().described.name;
    if rule == "random" || structure.organisation.size("block").is_some() {
        return false;
    }
    let ways = structure.ways - structure.wired_ways();
    let mut tlb = alone(structure);
    let pages: Vec<u64> = (0..=ways as u64).collect();
    let round = |tlb: &mut Tlb| {
        let each = pages.iter().map(|page| page << ABOVE);
        each.filter(|address| misses(tlb, size, *address)).count()
    };
    let missed: usize = (0..64).map(|_| round(&mut tlb)).sum();
    let found = missed as f64 / (64 * pages.len()) as f64;
    let wanted = OneSet::new(rule, ways).steady(&pages, 64, 64);
    assert!((found - wanted).abs() < 1e-12, "{words}: {found}, {wanted}");
    true
}

#[test]
fn a_set_answers_chases_as_its_rule_does() {
    let mut checked = 0;
    for name in machine_names() {
        let design = machine(name).expect("a machine").design;
        for structure in design.structures() {
            for (size, _) in &structure.pages {
                let words = format!("{name}, {}, {}", structure.name, size.short_name());
                checked += usize::from(follows_its_rule(&words, structure, *size));
            }
        }
    }
    assert!(checked > 100, "{checked}");
}
