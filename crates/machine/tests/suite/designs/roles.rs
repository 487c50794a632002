//! The effects of a structure's role: its level, its fills, the kinds of references that it serves
//! and its probe order. Each test fails if its mechanism is switched off.

use super::rig::{FRAMES, Rig, fully_associative, sets};
use broadleaf_tlb::Lookup;
use broadleaf_units::{Asid, PageNumber, PageSize};

#[test]
fn a_store_hit_of_a_second_level_leaves_no_clean_copy() {
    let tables = fully_associative(1, &["4k"], "modified-faults = true\n")
        + &sets("second", 2, (1, 4), &[("4k", "none")])
        + "organisation = \"complete-subblock\"\nblock = \"16k\"\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed([0, 1]);
    rig.load_all([0, 1]);
    assert!(rig.store(0) && rig.store(0));
    assert_eq!(rig.counts().modified_faults, 1);
}

#[test]
fn a_store_faults_once_whichever_level_has_the_page() {
    let faults = "modified-faults = true\n";
    let second = sets("second", 2, (1, 8), &[("4k", "none")]);
    for (keys, of_second) in [(faults, ""), (faults, faults)] {
        // The store hits the second level after the first level lost the page, or before.
        for stores in [[true, false], [false, true], [true, true]] {
            let tables = fully_associative(1, &["4k"], keys) + &second + of_second;
            let mut rig = Rig::new(&tables);
            rig.map_placed([0, 1]);
            rig.load_all([0]);
            for store in stores {
                if store {
                    assert!(rig.store(0));
                }
                rig.load_all([1]);
            }
            assert!(rig.store(0) && rig.store(0));
            assert_eq!(
                rig.counts().modified_faults,
                1 - u64::from(of_second.is_empty() && !stores[0])
            );
        }
    }
}

#[test]
fn what_leaves_an_inclusive_level_leaves_the_levels_above() {
    for (inclusive, hit) in [("false", true), ("true", false)] {
        let tables = fully_associative(2, &["4k"], "")
            + &sets("second", 2, (1, 4), &[("4k", "none")])
            + &format!("inclusive = {inclusive}\n");
        let mut rig = Rig::new(&tables);
        rig.map_placed(0..6);
        // The second level sees page 0 once.
        for page in 1..5 {
            rig.load_all([0, page]);
        }
        assert_eq!(rig.load(0), hit, "inclusive = {inclusive}");
    }
}

#[test]
fn a_loss_of_one_side_does_not_leave_the_other_side() {
    let none = [("4k", "none")];
    let code = "serves = [\"fetches\"]\n";
    let inclusive = "inclusive = true\n";
    let tables = sets("data", 1, (1, 4), &none)
        + &sets("code", 1, (1, 4), &none)
        + code
        + &sets("data-2", 2, (1, 2), &none)
        + inclusive
        + &sets("code-2", 2, (1, 2), &none)
        + code
        + inclusive;
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..4);
    assert!(!rig.fetch(0));
    assert_eq!(rig.load_all(0..4), 4);
    assert!(!rig.load(0), "data-2 lost the page");
    assert!(rig.fetch(0), "code-2 holds the page");
}

#[test]
fn structures_of_a_level_have_probe_orders_of_their_own() {
    let tables = sets("large-first", 1, (1, 2), &[("4k", "none"), ("16k", "none")])
        + "probes = \"largest-first\"\n"
        + &sets("small-first", 1, (1, 2), &[("8k", "none"), ("32k", "none")])
        + "probes = \"smallest-first\"\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed([0]);
    rig.map(8, 2, FRAMES + 8);
    rig.load_all([0, 8]);
    let before = rig.counts().extra_probes;
    rig.load_all([0]);
    let base = rig.counts().extra_probes - before;
    assert_eq!(
        base, 2,
        "the page is found second; the other structure is probed twice"
    );
    rig.load_all([8]);
    let other = rig.counts().extra_probes - before - base;
    assert_eq!(
        other, 1,
        "the page is found first; the other structure is probed twice"
    );
}

#[test]
fn a_run_that_breaks_in_an_inclusive_level_leaves_the_levels_above() {
    let tables = fully_associative(8, &["4k"], "")
        + &sets("second", 2, (1, 4), &[("4k", "none")])
        + "inclusive = true\norganisation = \"partial-subblock\"\nblock = \"16k\"\n\
           valid = \"run\"\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..3);
    rig.load_all(0..3);

    rig.tlb
        .invalidate(Asid::ZERO, PageNumber(1), PageSize::SIZE_4K);
    assert_eq!(
        rig.load_all([0, 2]),
        2,
        "the run lost its middle, and so its ends"
    );
}

#[test]
fn a_victim_buffer_receives_what_the_level_above_loses() {
    let tables = fully_associative(2, &["4k"], "")
        + &sets("victims", 2, (1, 2), &[("4k", "none")])
        + "fills = \"victims\"\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..5);
    assert_eq!(rig.load_all(0..4), 4);
    assert_eq!(rig.look(0), Lookup::Second, "0 and 1 are in the buffer");
    assert_eq!(rig.occupied(), 4, "0 moved up, and 2 down");
    assert_eq!(rig.look(0), Lookup::First);
    assert_eq!(rig.load_all([1, 2, 3]), 0);
    assert_eq!(rig.counts().victim_hits, 4);
}

#[test]
fn split_victim_buffers_receive_from_their_own_side() {
    let none = [("4k", "none")];
    let tables = sets("data", 1, (1, 1), &none)
        + &sets("code", 1, (1, 1), &none)
        + "serves = [\"fetches\"]\n"
        + &sets("data-2", 2, (1, 1), &none)
        + "fills = \"victims\"\n"
        + &sets("code-2", 2, (1, 1), &none)
        + "fills = \"victims\"\nserves = [\"fetches\"]\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..8);
    assert!(!rig.fetch(4) && !rig.fetch(5));
    assert_eq!(rig.load_all(0..2), 2);
    assert_eq!(rig.occupied(), 4);
    assert!(rig.fetch(4), "loads did not push it out");
    assert!(rig.load(0), "fetches did not push it out");
}

#[test]
fn loads_stores_and_fetches_can_have_structures_of_their_own() {
    let none = [("4k", "none")];
    let tables = sets("loads", 1, (1, 2), &none)
        + "serves = [\"loads\"]\n"
        + &sets("stores", 1, (1, 1), &none)
        + "serves = [\"stores\"]\n"
        + &sets("code", 1, (1, 1), &none)
        + "serves = [\"fetches\"]\n";
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..3);
    assert_eq!(rig.load_all([0, 1]), 2);
    assert!(!rig.store(0) && !rig.fetch(0) && rig.store(0) && rig.fetch(0));
    assert!(!rig.store(1) && !rig.store(0), "one entry for stores");
    assert_eq!(rig.load_all([0, 1]), 0);
}

#[test]
fn probes_after_the_first_are_counted() {
    for (probes, base, large, missing) in [
        ("parallel", 0, 0, 0),
        ("largest-first", 1, 0, 1),
        ("smallest-first", 0, 1, 1),
    ] {
        let index = [("4k", "va[13:12]"), ("32k", "va[16:15]")];
        let tables = sets("dtlb", 1, (4, 2), &index) + &format!("probes = \"{probes}\"\n");
        let mut rig = Rig::new(&tables);
        rig.map_placed([0]);
        rig.map(8, 8, FRAMES + 8);
        assert_eq!(rig.load_all([0, 8]), 2);
        assert_eq!(rig.counts().extra_probes, 2 * missing, "{probes}");
        rig.load_all([0]);
        assert_eq!(rig.counts().extra_probes, 2 * missing + base, "{probes}");
        rig.load_all([9]);
        assert_eq!(
            rig.counts().extra_probes,
            2 * missing + base + large,
            "{probes}"
        );
    }
}

#[test]
fn a_fill_from_a_lower_level_reads_no_page_table() {
    let block = "organisation = \"complete-subblock\"\nblock = \"16k\"\npreload = true\n";
    let tables = fully_associative(1, &["4k"], block)
        + &sets("second", 2, (1, 8), &[("4k", "none")])
        + block;
    let mut rig = Rig::new(&tables);
    rig.map_placed(0..8);
    rig.load_all([0, 4]);
    let reads = rig.counts().table_reads;
    for page in [0, 1, 2, 3] {
        assert_eq!(rig.look(page), Lookup::Second);
    }
    for page in [0, 1, 2, 3] {
        assert_eq!(rig.look(page), Lookup::First, "the pages share the entry");
    }
    assert_eq!(rig.counts().table_reads, reads);
}
