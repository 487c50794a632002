//! Closed forms: how many pages each design holds, and what touching more of them costs.

use super::rig::{FRAMES, Rig, fully_associative, sets};

const ENTRIES: u64 = 6;

fn of(sizes: &[&str], keys: &str) -> Rig {
    Rig::new(&fully_associative(ENTRIES as usize, sizes, keys))
}

fn organisation(name: &str, keys: &str) -> Rig {
    of(
        &["4k"],
        &format!("organisation = \"{name}\"\nblock = \"16k\"\n{keys}"),
    )
}

/// Asserts that a design holds `held` of the pages `at(0)`, `at(1)`, ... and not one more.
fn holds(rig: &mut Rig, held: u64, at: impl Fn(u64) -> u64 + Copy) {
    assert_eq!(rig.steady((0..held).map(at)), 0, "{held} pages fit");
    let missed = rig.steady((0..=held).map(at));
    assert_eq!(missed, held + 1, "{} pages do not fit", held + 1);
}

#[test]
fn a_chase_of_n_pages_hits_and_of_one_more_misses() {
    for rule in ["lru", "fifo", "gods", "clock"] {
        let table = fully_associative(ENTRIES as usize, &["4k", "16k"], "modified-faults = true\n");
        let table = table.replace("\"lru\"", &format!("\"{rule}\""));
        for pages in [1, 4] {
            let mut rig = Rig::new(&table);
            (0..=ENTRIES).for_each(|page| {
                rig.map(page * pages, pages, FRAMES + page * pages);
            });
            holds(&mut rig, ENTRIES, |page| page * pages);
        }
    }
}

#[test]
fn a_chase_of_one_page_a_block_finds_the_entries() {
    for (name, keys) in [
        ("complete-subblock", "preload = false\n"),
        ("complete-subblock", "preload = true\n"),
        ("partial-subblock", "preload = false\n"),
        ("partial-subblock", "preload = true\n"),
        ("coalesced", ""),
    ] {
        let mut rig = organisation(name, keys);
        rig.map_placed(0..4 * (ENTRIES + 1));
        holds(&mut rig, ENTRIES, |block| 4 * block + block % 4);
    }
}

#[test]
fn all_pages_of_as_many_blocks_as_entries_fit() {
    let pages = 4 * ENTRIES;
    for (name, preload, cold) in [
        ("complete-subblock", "preload = false\n", pages),
        ("complete-subblock", "preload = true\n", ENTRIES),
        ("partial-subblock", "preload = false\n", pages),
        ("partial-subblock", "preload = true\n", ENTRIES),
        ("coalesced", "", ENTRIES),
    ] {
        let mut rig = organisation(name, preload);
        rig.map_placed(0..pages + 4);
        assert_eq!(rig.load_all(0..pages), cold, "{name} {preload}");
        let counts = rig.counts();
        assert_eq!(counts.subblock_misses, cold - ENTRIES, "{name} {preload}");
        let reads = if cold == ENTRIES { 3 * ENTRIES } else { 0 };
        assert_eq!(counts.table_reads, reads, "{name} {preload}");
        assert_eq!(rig.occupied(), ENTRIES as usize);
        assert_eq!(rig.steady(0..pages), 0);
        // One block more: each block is gone before its turn.
        let misses = if cold == ENTRIES {
            ENTRIES + 1
        } else {
            pages + 4
        };
        assert_eq!(rig.steady(0..pages + 4), misses, "{name} {preload}");
    }
}

#[test]
fn pages_that_are_not_placed_take_an_entry_each() {
    for (name, keys, each) in [
        ("complete-subblock", "preload = true\n", false),
        ("partial-subblock", "preload = false\n", true),
        ("partial-subblock", "preload = true\n", true),
        ("coalesced", "", true),
    ] {
        let mut rig = organisation(name, keys);
        (0..4 * ENTRIES).for_each(|page| {
            rig.map(page, 1, FRAMES + 5 * page + 1);
        });
        // Frame 5 * page + 1 is placed nowhere: (5 * page + 1) % 4 is (page + 1) % 4.
        if each {
            holds(&mut rig, ENTRIES, |page| page);
            assert_eq!(rig.counts().table_reads, 0, "nothing could share an entry");
        } else {
            assert_eq!(rig.steady(0..4 * ENTRIES), 0);
        }
    }
}

#[test]
fn indices_of_two_sizes_use_the_sets_of_their_bits() {
    // Eight sets of one way. The pages of one block of 32 KiB are in eight sets by the base-page
    // and the exact index, and in one set by the superpage index.
    for (base, large, held, replicas) in [
        ("va[14:12]", "va[17:15]", 8, 1),
        ("va[17:15]", "va[17:15]", 1, 1),
        ("va[14:12]", "va[14:12]", 8, 8),
    ] {
        let index = [("4k", base), ("32k", large)];
        let table = sets("dtlb", 1, (8, 1), &index) + "replicate = true\n";
        let mut rig = Rig::new(&table);
        rig.map_placed(0..8);
        let misses = if held == 8 { 0 } else { 8 };
        assert_eq!(rig.steady(0..8), misses, "{base} {large}");
        rig.map(64, 8, FRAMES + 64);
        assert_eq!(rig.load_all(64..72), replicas, "{base} {large}");
    }
}

#[test]
fn levels_add_up_only_if_they_are_exclusive() {
    let first = sets("first", 1, (1, 4), &[("4k", "none")]);
    let second = sets("second", 2, (1, 8), &[("4k", "none")]);
    let third = sets("third", 3, (1, 16), &[("4k", "none")]);
    let victims = "fills = \"victims\"\n";
    for (keys, held) in [("", [8, 16]), (victims, [12, 28])] {
        let two = format!("{first}{second}{keys}");
        let three = format!("{two}{third}{keys}");
        for (tables, held) in [two, three].iter().zip(held) {
            let mut rig = Rig::new(tables);
            rig.map_placed(0..=held);
            holds(&mut rig, held, |page| page);
        }
    }
}

#[test]
fn a_sweep_with_a_prefetch_buffer_misses_every_second_page() {
    let table = fully_associative(4, &["4k"], "")
        + &sets("ahead", 1, (1, 2), &[("4k", "none")])
        + "fills = \"prefetches\"\n";
    let mut rig = Rig::new(&table);
    rig.map_placed(0..=100);
    assert_eq!(rig.load_all(0..100), 50);
    let counts = rig.counts();
    assert_eq!((counts.prefetch_hits, counts.table_reads), (50, 50));
}

#[test]
fn structures_that_take_turns_hold_the_pages_of_both_at_each_level() {
    let part = |name: &str, level, ways| {
        sets(name, level, (1, ways), &[("4k", "none")]) + "alternates = true\n"
    };
    let first = part("a", 1, 3) + &part("b", 1, 3);
    let both = first.clone() + &part("c", 2, 6) + &part("d", 2, 6);
    for (tables, held) in [(first, 6), (both, 12)] {
        let mut rig = Rig::new(&tables);
        rig.map_placed(0..=held);
        assert_eq!(rig.steady(0..held), 0, "{held} pages fit\n{tables}");
        assert!(rig.steady(0..=held) > 0);
    }
}
