//! Wired entries: they hold pages of the system and never make room.

use super::differential::compare;
use super::families::{TRACES, any_form};
use super::refusals::refused;
use super::rig::{Rig, fully_associative, sets};
use broadleaf_oracle::RuleSpec;
use broadleaf_oracle::random::Rng;

/// A TLB before the first reference to a hundred mapped pages.
fn rig(tables: &str) -> Rig {
    let mut rig = Rig::new(tables);
    rig.map_placed(0..100);
    rig
}

/// Draws a replacement rule that is possible for sets with this number of ways.
fn any_rule(rng: &mut Rng, ways: usize) -> RuleSpec {
    let seed = rng.below(1000);
    let rules = [
        RuleSpec::Lru,
        RuleSpec::Gods,
        RuleSpec::Clock,
        RuleSpec::Fifo,
        RuleSpec::RoundRobin,
        RuleSpec::NotLastUsed,
        RuleSpec::Lfu,
        RuleSpec::Random(seed),
        RuleSpec::TreePlru,
        RuleSpec::BitPlru,
        RuleSpec::BitPlruRandom(seed as u32),
        RuleSpec::Mru3Plru,
        RuleSpec::Lru3Plru,
        RuleSpec::Srrip(2),
    ];
    let fitting: Vec<RuleSpec> = rules.into_iter().filter(|rule| rule.fits(ways)).collect();
    rng.pick(&fitting)
}

#[test]
fn any_design_works_with_wired_entries_under_any_rule() {
    compare("wired", 2 * TRACES, |rng| {
        let mut of = any_form(rng);
        of.wired = rng.below(of.ways as u64) as usize;
        of.rule = any_rule(rng, of.ways);
        vec![("dtlb".to_owned(), of, false)]
    });
}

#[test]
fn wired_entries_take_capacity_and_never_make_room() {
    for rule in [
        "lru",
        "gods",
        "clock",
        "fifo",
        "bit-plru",
        "tree-plru",
        "round-robin",
    ] {
        for wired in 0..8 {
            let table = fully_associative(8, &["4k"], &format!("wired = {wired}\n"));
            let tables = table.replace("\"lru\"", &format!("\"{rule}\""));
            let chase = |pages: u64| rig(&tables).steady(0..pages);
            let free = 8 - wired;
            assert_eq!(chase(free), 0, "{rule}, {wired} wired");
            // Every rule misses somewhere in a chase of one page more.
            assert!(chase(free + 1) > 0, "{rule}, {wired} wired");
            let mut tlb = rig(&tables);
            tlb.load_all(0..100);
            assert_eq!(tlb.occupied() as u64, free, "{rule}, {wired} wired");
        }
    }
}

#[test]
fn each_set_has_its_part_of_the_wired_entries() {
    let table = sets("dtlb", 1, (4, 2), &[("4k", "va[13:12]")]) + "wired = 4\n";
    // One way of each of four sets is left.
    assert_eq!(rig(&table).steady(0..4), 0);
    assert_eq!(rig(&table).steady([0, 4].into_iter()), 2);
}

#[test]
fn bit_plru_clears_bits_when_the_last_free_entry_is_used() {
    let table = fully_associative(8, &["4k"], "wired = 4\n").replace("\"lru\"", "\"bit-plru\"");
    let mut tlb = rig(&table);
    // The last of four fills clears the other bits, so page 0 makes room, then page 1.
    tlb.load_all([0, 1, 2, 3, 4, 5]);
    assert!(tlb.load(2) && tlb.load(3) && tlb.load(4) && tlb.load(5));
    assert!(!tlb.load(0) && !tlb.load(1));
}

#[test]
fn wired_entries_divide_into_the_sets_and_leave_some() {
    let all = fully_associative(8, &["4k"], "wired = 8\n");
    refused(&all, 10, "wired", "8 wired entries of 8 leave none");
    let three = sets("dtlb", 1, (4, 2), &[("4k", "va[13:12]")]) + "wired = 3\n";
    refused(
        &three,
        10,
        "wired",
        "3 wired entries do not divide into 4 sets",
    );
    let negative = fully_associative(8, &["4k"], "wired = -1\n");
    refused(&negative, 10, "wired", "this is -1, which is less than 0");
}

#[test]
fn the_r4000_has_a_wired_entry() {
    let machine = broadleaf_machine::machine("r4000").expect("a machine");
    let wired = machine.design.structures().iter().map(|of| of.wired);
    assert_eq!(wired.collect::<Vec<_>>(), [1]);
}
