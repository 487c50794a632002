//! What each mechanism does. Each test fails if its mechanism is switched off.

use super::rig::{FRAMES, Rig, fully_associative, sets};
use broadleaf_tlb::Lookup;
use broadleaf_units::{Asid, PageNumber, PageSize};

fn partial(keys: &str) -> Rig {
    let keys = format!("organisation = \"partial-subblock\"\nblock = \"16k\"\n{keys}");
    Rig::new(&fully_associative(8, &["4k", "8k", "16k", "64k"], &keys))
}

fn complete(keys: &str) -> Rig {
    let keys = format!("organisation = \"complete-subblock\"\nblock = \"16k\"\n{keys}");
    Rig::new(&fully_associative(8, &["4k", "8k", "16k", "64k"], &keys))
}

#[test]
fn a_page_joins_the_entry_of_its_block_if_it_is_checked() {
    for (check, entries) in [("full", 1), ("first-tag", 1), ("never", 4)] {
        let mut rig = partial(&format!("check = \"{check}\"\n"));
        rig.map_placed(0..4);
        assert_eq!(rig.load_all(0..4), 4);
        assert_eq!(rig.occupied(), entries, "{check}");
        assert_eq!(rig.counts().subblock_misses, 3);
    }
}

#[test]
fn the_first_tag_alone_is_compared() {
    for (check, entries) in [("full", 2), ("first-tag", 3)] {
        let mut rig = partial(&format!("check = \"{check}\"\n"));
        rig.map(0, 1, FRAMES + 77);
        rig.map_placed(1..4);
        // Page 0 is in the first entry, with SB clear; page 1 in the second.
        rig.load_all(0..3);
        assert_eq!(rig.occupied(), entries, "{check}");
    }
}

#[test]
fn pages_that_became_resident_after_preloading_are_loaded_without_duplicates() {
    for make in [partial, complete] {
        for (miss, reads) in [("demap", 6), ("load-page", 3)] {
            let keys = format!("preload = true\nsubblock-miss = \"{miss}\"\n");
            let mut rig = make(&keys);
            rig.map_placed(0..3);
            assert!(!rig.load(0) && rig.load(1) && rig.load(2));
            rig.map_placed(3..4);
            // The rig asserts after each reference that no page has two entries.
            assert!(!rig.load(3));
            assert_eq!(rig.load_all(0..4), 0);
            assert_eq!(rig.occupied(), 1, "{miss}");
            let counts = rig.counts();
            assert_eq!(
                (counts.subblock_misses, counts.table_reads),
                (1, reads),
                "{miss}"
            );
        }
    }
}

#[test]
fn a_superpage_replaces_the_base_pages_that_linger() {
    for make in [partial, complete] {
        let mut rig = make("");
        rig.map_placed([1]);
        rig.load(1);
        rig.map(0, 16, FRAMES);
        assert!(rig.load(1) && !rig.load(2) && rig.load(1) && rig.load(15));
        assert_eq!(
            rig.occupied(),
            1,
            "a superpage of four blocks has one entry"
        );
    }
}

#[test]
fn one_modified_bit_for_a_block_marks_all_its_pages() {
    let mut rig = partial("modified = \"block\"\n");
    rig.map_placed(0..4);
    rig.load_all(0..4);
    assert!(rig.store(2) && rig.store(3) && rig.store(0));
    let counts = rig.counts();
    assert_eq!((counts.modified_faults, counts.marked_pages), (1, 3));
    assert_eq!(rig.occupied(), 1);
}

#[test]
fn clean_and_modified_pages_have_two_entries_if_the_bit_is_an_attribute() {
    let mut rig = partial("modified = \"attribute\"\n");
    rig.map_placed(0..4);
    rig.load_all(0..4);
    assert!(rig.store(2));
    assert_eq!(rig.occupied(), 2);
    assert!(rig.store(3) && rig.store(2));
    assert_eq!(rig.occupied(), 2, "page 3 joins page 2");
    let counts = rig.counts();
    assert_eq!((counts.modified_faults, counts.marked_pages), (2, 0));
    assert!(rig.store(0) && rig.store(1));
    assert_eq!(
        rig.occupied(),
        2,
        "page 1 was alone, and its entry becomes a modified one"
    );
}

#[test]
fn each_page_faults_once_if_it_has_its_own_modified_bit() {
    for mut rig in [partial("modified = \"page\"\n"), complete("")] {
        rig.map_placed(0..4);
        rig.load_all(0..4);
        for page in [0, 1, 0, 1, 3] {
            assert!(rig.store(page));
        }
        let counts = rig.counts();
        assert_eq!((counts.modified_faults, counts.marked_pages), (3, 0));
        assert_eq!(rig.occupied(), 1);
    }
}

#[test]
fn a_superpage_has_one_modified_bit() {
    for make in [partial, complete] {
        let mut rig = make("");
        rig.map(0, 2, FRAMES);
        rig.load(0);
        assert!(rig.store(1) && rig.store(0));
        let counts = rig.counts();
        assert_eq!((counts.modified_faults, counts.marked_pages), (1, 0));
    }
}

#[test]
fn stores_to_clean_entries_of_one_page_are_counted_if_asked() {
    for (flag, faults) in [("true", 2), ("false", 0)] {
        let keys = format!("modified-faults = {flag}\n");
        let mut rig = Rig::new(&fully_associative(4, &["4k"], &keys));
        rig.map_placed(0..3);
        rig.load_all([0, 1]);
        for page in [0, 1, 0, 2, 2] {
            rig.store(page);
        }
        assert_eq!(rig.counts().modified_faults, faults);
    }
}

#[test]
fn a_run_has_no_gaps_and_a_vector_may() {
    for (valid, entries) in [("vector", [1, 1, 1]), ("run", [2, 2, 1])] {
        let mut rig = partial(&format!("valid = \"{valid}\"\n"));
        rig.map_placed(0..4);
        rig.load_all([0, 2]);
        assert_eq!(rig.occupied(), entries[0], "{valid}");
        rig.load(1);
        assert_eq!(rig.occupied(), entries[1], "{valid}: page 1 joins page 0");
        let mut rig = partial(&format!("valid = \"{valid}\"\n"));
        rig.map_placed(2..4);
        rig.map(0, 2, FRAMES);
        rig.load_all([2, 0, 3]);
        assert_eq!(
            rig.occupied(),
            entries[2],
            "{valid}: a superpage joins from the left"
        );
    }
}

#[test]
fn shared_high_bits_free_the_low_bits_of_frames() {
    for (frames, entries) in [("placed", 4), ("high-bits", 1)] {
        let mut rig = partial(&format!("frames = \"{frames}\"\n"));
        for (page, frame) in [(0, 3), (1, 0), (2, 1), (3, 2)] {
            rig.map(page, 1, FRAMES + frame);
        }
        rig.load_all(0..4);
        assert_eq!(rig.occupied(), entries, "{frames}");
    }
}

#[test]
fn rights_are_an_attribute_or_a_field_of_each_page() {
    for (rights, entries) in [("shared", 2), ("page", 1)] {
        let mut rig = partial(&format!("rights = \"{rights}\"\n"));
        rig.map_placed(0..4);
        rig.map(1, 1, FRAMES + 1).rights = 1;
        rig.load_all(0..4);
        assert_eq!(rig.occupied(), entries, "{rights}");
    }
}

// Talluri 1995, figure H-2: a superpage of 8 KiB at VPN 11010x with PPN 10100x, where blocks have
// four pages: the virtual offsets are 2 and 3, the physical ones 0 and 1.
#[test]
fn a_small_superpage_that_is_not_aligned_with_the_block_takes_two_entries() {
    for (first, entries) in [(0b11_0110, 2), (0b11_0100, 1)] {
        let mut rig = partial("");
        rig.map(first, 2, 0b10_1000);
        assert!(!rig.load(first));
        assert_eq!(rig.load(first + 1), entries == 1);
        assert_eq!(rig.occupied(), entries);
    }
    let mut rig = complete("");
    rig.map(0b11_0110, 2, 0b10_1000);
    assert_eq!(
        rig.load_all([0b11_0110, 0b11_0111]),
        1,
        "frames are of no matter"
    );
}

#[test]
fn two_superpages_share_an_entry_of_their_block() {
    let mut rig = complete("");
    rig.map(0, 2, FRAMES + 100);
    rig.map(2, 2, FRAMES + 200);
    assert_eq!(rig.load_all(0..4), 2);
    assert_eq!(rig.occupied(), 1);
}

// Talluri 1995, appendix F: 64 KiB with 16 KiB superpages and base pages.
#[test]
fn each_size_can_have_blocks_of_its_own() {
    for (superpages, entries) in [("fill", 4), ("own-blocks", 2)] {
        let keys = format!(
            "organisation = \"complete-subblock\"\nblock = \"16k\"\nsuperpages = \"{superpages}\"\n"
        );
        let mut rig = Rig::new(&fully_associative(8, &["4k", "16k"], &keys));
        rig.map_placed(0..4);
        (1..4).for_each(|block| {
            rig.map(4 * block, 4, FRAMES + 4 * block);
        });
        assert_eq!(rig.load_all(0..16), 4 + 3);
        assert_eq!(rig.occupied(), entries, "{superpages}");
        assert_eq!(rig.load_all(0..16), 0);
    }
}

#[test]
fn coalesced_entries_need_the_whole_block() {
    for (missing, entries) in [(None, 1), (Some(3), 3)] {
        let keys = "organisation = \"coalesced\"\nblock = \"16k\"\n";
        let mut rig = Rig::new(&fully_associative(8, &["4k"], keys));
        rig.map_placed((0..4).filter(|page| Some(*page) != missing));
        rig.load_all(0..3);
        assert_eq!(rig.occupied(), entries);
    }
}

#[test]
fn a_coalesced_entry_that_loses_a_page_loses_all() {
    let keys = "organisation = \"coalesced\"\nblock = \"16k\"\n";
    let mut rig = Rig::new(&fully_associative(8, &["4k"], keys));
    rig.map_placed(0..4);
    assert_eq!(rig.load_all(0..4), 1);
    rig.tlb
        .invalidate(Asid::ZERO, PageNumber(1), PageSize::SIZE_4K);
    assert_eq!(rig.occupied(), 0);
}

// The page table's 8 KiB page is of no size that the structure holds, so page 0 is not loaded anew.
#[test]
fn preloading_drops_the_whole_entry_of_its_block() {
    let keys = "organisation = \"complete-subblock\"\nblock = \"16k\"\npreload = true\n";
    let mut rig = Rig::new(&fully_associative(8, &["4k"], keys));
    rig.map_placed([0]);
    assert_eq!(rig.load_all([0]), 1);
    rig.map(0, 2, FRAMES);
    rig.map_placed([2]);
    assert_eq!(rig.load_all([2]), 1);
    assert_eq!(rig.occupied(), 1, "no two entries have one tag");
}

#[test]
fn rules_of_subblock_entries_hear_of_repeated_and_of_next_uses() {
    for (rule, repeats, next) in [("lfu", 5, [0; 3]), ("opt", 0, [10, 100, 11])] {
        for name in ["complete-subblock", "partial-subblock", "coalesced"] {
            let keys = format!("organisation = \"{name}\"\nblock = \"16k\"\n");
            let table = fully_associative(2, &["4k"], &keys);
            let mut rig = Rig::new(&table.replace("\"lru\"", &format!("\"{rule}\"")));
            rig.map_placed([0, 4, 8]);
            for (page, next) in [0, 4, 8].into_iter().zip(next) {
                rig.tlb.foresee(next);
                rig.load(page);
                rig.tlb.repeat(if page == 0 { repeats } else { 0 });
            }
            assert!(rig.load(0), "{name}, {rule}: page 4 makes room");
        }
    }
}

/// Two levels with blocks of 16 KiB, of one entry and of eight.
fn two_levels_of_blocks(organisation: &str) -> Rig {
    let keys = format!("organisation = \"{organisation}\"\nblock = \"16k\"\n");
    let keys = keys
        + if organisation == "coalesced" {
            ""
        } else {
            "preload = true\n"
        };
    let first = fully_associative(1, &["4k"], &keys);
    let second = first
        .replace("level = 1", "level = 2")
        .replace("dtlb", "stlb");
    let second = second
        .replace("entries = 1", "entries = 8")
        .replace("ways = 1", "ways = 8");
    Rig::new(&(first + &second))
}

#[test]
fn pages_of_a_hit_entry_go_up_together() {
    for organisation in ["coalesced", "partial-subblock"] {
        let mut rig = two_levels_of_blocks(organisation);
        rig.map_placed(0..8);
        assert_eq!([0, 4].map(|page| rig.look(page)), [Lookup::Miss; 2]);
        let reads = rig.counts().table_reads;
        // The second block took the entry of the first level. One hit of the second level brings
        // the first block back.
        let looked = [1, 0, 2, 3].map(|page| rig.look(page));
        let [Lookup::Second, others @ ..] = looked else {
            panic!("{organisation}: {looked:?}");
        };
        assert_eq!(others, [Lookup::First; 3], "{organisation}");
        assert_eq!(rig.counts().table_reads, reads, "no page table was read");
    }
}

#[test]
fn pages_that_the_lower_entry_lacks_do_not_go_up() {
    let mut rig = two_levels_of_blocks("partial-subblock");
    rig.map_placed([0, 1, 4]);
    rig.load_all([0, 4]);
    // Page 2 is mapped later, so neither level holds it.
    rig.map_placed([2]);
    assert_eq!(rig.look(0), Lookup::Second);
    assert_eq!(
        [1, 2].map(|page| rig.look(page)),
        [Lookup::First, Lookup::Miss]
    );
}

/// Larger pages share the entries of several sets with blocks, each in the set of its own index.
#[test]
fn larger_pages_share_the_entries_of_several_sets() {
    let first = fully_associative(1, &["4k", "64k"], "");
    let index = [("4k", "va[15:14]"), ("64k", "va[17:16]")];
    let keys = "organisation = \"coalesced\"\nblock = \"16k\"\n";
    let mut rig = Rig::new(&(first + &sets("stlb", 2, (4, 1), &index) + keys));
    for block in 0..4 {
        rig.map(16 * block, 16, FRAMES + 16 * block);
    }
    rig.map_placed(64..128);
    // Four large pages fill the four sets, and so do the four blocks of 16 KiB.
    assert_eq!(rig.steady([0, 16, 32, 48].into_iter()), 0);
    assert_eq!(rig.steady([64, 68, 72, 76].into_iter()), 0);
    // A large page of set 0 and a block of set 0 share its entry; a block of set 1 is elsewhere.
    assert_eq!(rig.steady([0, 64].into_iter()), 2);
    assert_eq!(rig.steady([0, 68].into_iter()), 0);
}
