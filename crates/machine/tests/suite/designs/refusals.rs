//! Descriptions that are refused, with the line, the key and the reason.

use super::machine_of;
use super::rig::{fully_associative, sets};

/// Asserts that a description is refused. Tables begin at line 3, with eight lines of all tables.
pub(crate) fn refused(tables: &str, line: usize, key: &str, reason: &str) {
    let error = machine_of(tables).expect_err(tables);
    assert_eq!(
        (error.line, error.key.as_str()),
        (line, key),
        "{error}\n{tables}"
    );
    assert!(error.message.contains(reason), "{error}");
}

fn of_blocks(entries: usize, sizes: &[&str], organisation: &str, keys: &str) -> String {
    let organisation = format!("organisation = \"{organisation}\"\n{keys}");
    fully_associative(entries, sizes, &organisation)
}

#[test]
fn a_block_is_a_power_of_two_and_larger_than_a_page() {
    for name in ["complete-subblock", "partial-subblock", "coalesced"] {
        for text in ["\"12k\"", "\"sixteen\"", "16000", "true"] {
            let tables = of_blocks(8, &["4k"], name, &format!("block = {text}\n"));
            refused(
                &tables,
                11,
                "block",
                "block is a power of two such as \"16k\"",
            );
        }
        let tables = of_blocks(8, &["16k"], name, "block = \"16k\"\n");
        refused(
            &tables,
            11,
            "block",
            "a block of 16k is no larger than a page of 16k",
        );
        refused(
            &of_blocks(8, &["4k"], name, ""),
            10,
            "organisation",
            "needs the size of its block",
        );
    }
}

#[test]
fn more_subblocks_than_an_entry_can_name_are_refused() {
    for (name, keys, fits, too_many, most) in [
        ("complete-subblock", "", "256k", "512k", 64),
        ("partial-subblock", "", "64k", "128k", 16),
        ("partial-subblock", "valid = \"run\"\n", "256k", "512k", 64),
        ("coalesced", "", "32k", "64k", 8),
    ] {
        let of = |block| of_blocks(8, &["4k"], name, &format!("block = \"{block}\"\n{keys}"));
        machine_of(&of(fits)).unwrap_or_else(|error| panic!("{error}"));
        let reason = format!(
            "{} subblocks are more than the {most} of a {name} entry",
            2 * most
        );
        refused(&of(too_many), 11, "block", &reason);
    }
}

#[test]
fn sizes_need_an_index() {
    let table = fully_associative(8, &["4k"], "");
    let line = "index = { 4k = \"none\" }\n";
    refused(
        &table.replace(line, "index = { 4k = \"\" }\n"),
        8,
        "index",
        "is not an index",
    );
    refused(
        &table.replace(line, "index = {}\n"),
        3,
        "[[tlb]]",
        "a tlb holds at least one page size",
    );
    refused(
        &table.replace(line, ""),
        3,
        "[[tlb]]",
        "the key index is missing",
    );
    let two = sets("dtlb", 1, (4, 2), &[("4k", "va[13:12]"), ("16k", "none")]);
    refused(
        &two,
        8,
        "index",
        "none distinguishes 1 sets, but 8 entries in 2 ways make 4",
    );
}

#[test]
fn pages_of_a_block_need_one_set() {
    let keys = "organisation = \"complete-subblock\"\nblock = \"16k\"\n";
    let of = |index: &[(&str, &str)]| sets("dtlb", 1, (4, 2), index) + keys;
    let inside = of(&[("4k", "va[14:13]")]);
    refused(
        &inside,
        10,
        "organisation",
        "va[14:13] looks at bits inside a block of 4k pages",
    );
    let two = of(&[("4k", "va[15:14]"), ("16k", "va[17:16]")]);
    refused(
        &two,
        10,
        "organisation",
        "pages that share entries need one index",
    );
    // A page that is larger than the block has an index of its own.
    let large = of(&[("4k", "va[15:14]"), ("64k", "va[17:16]")]);
    machine_of(&large).unwrap_or_else(|error| panic!("{error}"));
    let large = of(&[("4k", "va[15:14]"), ("64k", "va[15:14]")]);
    refused(
        &large,
        8,
        "index",
        "va[15:14] looks at bits inside a 64k page",
    );
    let own = "superpages = \"own-blocks\"\n";
    let exact = of(&[("4k", "va[15:14]"), ("16k", "va[17:16]")]) + own;
    machine_of(&exact).unwrap_or_else(|error| panic!("{error}"));
    let inside = of(&[("4k", "va[15:14]"), ("16k", "va[16:15]")]) + own;
    refused(
        &inside,
        10,
        "organisation",
        "va[16:15] looks at bits inside a block of 16k pages",
    );
    let probes = fully_associative(8, &["4k", "16k"], keys) + "probes = \"largest-first\"\n";
    refused(
        &probes,
        10,
        "organisation",
        "pages of all sizes share entries",
    );
}

#[test]
fn parameters_belong_to_their_organisation_and_have_its_values() {
    for (name, keys, line, key, reason) in [
        (
            "complete-subblock",
            "check = \"full\"\n",
            12,
            "check",
            "has no parameter \"check\"",
        ),
        (
            "coalesced",
            "preload = true\n",
            12,
            "preload",
            "has no parameter \"preload\"",
        ),
        (
            "set-associative",
            "",
            11,
            "block",
            "has no parameter \"block\"",
        ),
        (
            "partial-subblock",
            "check = \"some\"\n",
            12,
            "check",
            "full, first-tag, never",
        ),
        (
            "partial-subblock",
            "modified = true\n",
            12,
            "modified",
            "block, attribute, page",
        ),
        (
            "partial-subblock",
            "preload = 1\n",
            12,
            "preload",
            "preload is true or false",
        ),
    ] {
        let tables = of_blocks(8, &["4k"], name, &format!("block = \"16k\"\n{keys}"));
        refused(&tables, line, key, reason);
    }
    refused(
        &of_blocks(8, &["4k"], "hashed", ""),
        10,
        "organisation",
        "no TLB is called \"hashed\"",
    );
}

#[test]
fn the_first_level_serves_each_kind_of_reference_that_a_structure_serves() {
    let one = |keys: &str| fully_associative(8, &["4k"], keys);
    for (keys, lacking) in [("loads", "stores"), ("stores", "loads")] {
        let tables = one(&format!("serves = [\"{keys}\"]\n"));
        let reason = format!("no tlb of level 1 holds 4k pages for {lacking}");
        refused(&tables, 8, "index", &reason);
    }
    let second = sets("second", 2, (1, 8), &[("4k", "none")]);
    let shared = one("") + &second + "serves = [\"fetches\", \"loads\", \"stores\"]\n";
    refused(&shared, 15, "index", "holds 4k pages for fetches");
}

#[test]
fn only_structures_that_walks_fill_take_turns() {
    let one = fully_associative(8, &["4k"], "");
    let turns = "alternates = true\n";
    refused(
        &(one.clone() + turns),
        10,
        "alternates",
        "no other structure",
    );
    let victims = sets("second", 2, (1, 8), &[("4k", "none")]) + "fills = \"victims\"\n" + turns;
    let tables = one.clone() + &victims + &victims;
    refused(&tables, 18, "alternates", "only structures that walks fill");
}

#[test]
fn pages_with_copies_in_several_sets_have_neither_victims_nor_inclusion() {
    let index = [("4k", "va[13:12]"), ("32k", "va[13:12]")];
    let one = sets("dtlb", 1, (4, 2), &index) + "replicate = true\n";
    let second = sets("second", 2, (1, 8), &[("4k", "none"), ("32k", "none")]);
    for (key, value) in [("fills", "\"victims\""), ("inclusive", "true")] {
        let tables = format!("{one}{second}{key} = {value}\n");
        refused(&tables, 18, key, "dtlb replicates pages");
    }
}

#[test]
fn roles_that_contradict_the_level_are_refused() {
    let one = |keys: &str| fully_associative(8, &["4k"], keys);
    refused(
        &one("serves = []\n"),
        10,
        "serves",
        "no reference looks the structure up",
    );
    refused(
        &one("inclusive = true\n"),
        10,
        "inclusive",
        "no level above",
    );
    refused(
        &one("serves = [\"jumps\"]\n"),
        10,
        "serves",
        "unknown variant `jumps`",
    );
    refused(
        &one("fills = \"luck\"\n"),
        10,
        "fills",
        "unknown variant `luck`",
    );
    refused(
        &one("probes = \"random\"\n"),
        10,
        "probes",
        "unknown variant `random`",
    );
    let second = |keys: &str| one("") + &sets("second", 2, (1, 8), &[("4k", "none")]) + keys;
    let both = second("inclusive = true\nfills = \"victims\"\n");
    refused(
        &both,
        17,
        "inclusive",
        "a structure of victims holds what the levels above lost",
    );
    let victims = second("serves = [\"loads\", \"stores\"]\nfills = \"victims\"\n");
    machine_of(&victims).unwrap_or_else(|error| panic!("{error}"));
    let data = "serves = [\"loads\", \"stores\"]\n";
    let first = one(&format!("{data}fills = \"victims\"\n"));
    refused(&first, 11, "fills", "no level above the first loses");
    let first = one(&format!("{data}inclusive = true\n"));
    refused(&first, 11, "inclusive", "no level above");
    let twin = one("") + &sets("twin", 1, (1, 8), &[("4k", "none")]);
    refused(&twin, 15, "index", "dtlb holds 4k pages at level 1 already");
    let fourth = second("").replace("level = 2", "level = 4");
    refused(&fourth, 12, "level", "the level is 1 to 3");
}
