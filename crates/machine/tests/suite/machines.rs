//! Descriptions of machines: what the built-in ones say, and what is refused with which line and
//! key.

use broadleaf_machine::{Machine, NoMachine, machine, machine_names, machine_text, parts};
use broadleaf_tlb::{Lookup, Tlb, Walk};
use broadleaf_units::{Asid, PageNumber, PageSize};

#[test]
fn every_built_in_machine_is_one() {
    for name in machine_names() {
        let machine = machine(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(machine.name, name);
        for text in [&machine.summary, &machine.explanation, &machine.source] {
            assert!(!text.is_empty() && !text.contains("  "), "{name}");
        }
        assert!(!machine.explanation.contains('\n'), "{name}");
        let sizes: Vec<String> = machine
            .design
            .sizes()
            .iter()
            .map(|size| size.short_name().to_string())
            .collect();
        let cycles: Vec<u64> = machine.costs.iter().map(|(_, cycles)| cycles).collect();
        let (file_sizes, file_cycles) = costs_in_file(name);
        let wanted: (&str, &[u64]) = match name {
            "romer1995" => ("4k 8k 16k 32k 64k 128k 256k 512k 1m 2m 4m 8m", &[30; 12]),
            "alpha21264" => ("8k 64k 512k 4m", &[50; 4]),
            "skylake-1g" => ("4k 2m 1g", &[35, 21, 14]),
            "neoverse-n1" => ("4k 16k 64k 2m", &[35, 35, 35, 21]),
            "neoverse-n1-16k" => ("16k 2m 32m", &[35, 35, 21]),
            "skylake" | "skylake-va23" | "skylake-unified-64" | "skylake-unified-96" => {
                ("4k 2m", &[35, 21])
            }
            _ => (&file_sizes, &file_cycles),
        };
        assert_eq!((sizes.join(" ").as_str(), &*cycles), wanted, "{name}");
    }
    assert!(
        (parts().into_iter())
            .flat_map(|(_, entries)| entries)
            .all(|entry| entry.explanation.ends_with('.'))
    );
}

/// The page sizes and the cycles at the end of a machine's file.
fn costs_in_file(name: &str) -> (String, Vec<u64>) {
    let text = machine_text(name).expect("a text");
    let (_, costs) = text.split_once("[walk-cycles]").expect("costs");
    let lines = costs.lines().filter_map(|line| line.split_once('='));
    let (sizes, cycles): (Vec<&str>, Vec<u64>) = lines
        .map(|(size, cycles)| {
            let cycles = cycles.split('#').next().unwrap_or(cycles);
            (size.trim(), cycles.trim().parse::<u64>().expect("a number"))
        })
        .unzip();
    (sizes.join(" "), cycles)
}

#[test]
fn structures_have_the_sets_of_the_thesis() {
    let sets = |name: &str| {
        let design = machine(name).unwrap().design;
        design
            .structures()
            .iter()
            .map(|structure| structure.sets())
            .collect::<Vec<_>>()
    };
    assert_eq!(sets("skylake"), [8, 16, 128]);
    assert_eq!(sets("skylake-va23"), [8, 16, 128]);
    assert_eq!(sets("skylake-unified-64"), [16, 128]);
    assert_eq!(sets("skylake-unified-96"), [16, 128]);
    assert_eq!(sets("alpha21264"), [1]);
    assert_eq!(sets("romer1995"), [1]);
    assert_eq!(sets("skylake-1g"), [8, 16, 1, 128, 4]);
    assert_eq!(sets("neoverse-n1"), [1, 256]);
    assert_eq!(sets("neoverse-n1-16k"), [1, 256]);
}

#[test]
fn neighbouring_superpages_share_a_set_only_in_skylake() {
    // Zhu's index leaves bit 21 out, so blocks 0 and 1 are in one set of the first level: with
    // three more it overflows.
    for (name, found) in [("skylake", Lookup::Second), ("skylake-va23", Lookup::First)] {
        let mut tlb = Tlb::new(&machine(name).unwrap().design);
        for block in [0, 1, 16, 32, 48] {
            tlb.load(&Walk::plain(
                Asid::default(),
                PageNumber(block << 9),
                PageSize::SIZE_2M,
            ));
        }
        assert_eq!(tlb.lookup(Asid::default(), PageNumber(0)), found, "{name}");
    }
}

#[test]
fn a_unified_first_level_holds_both_sizes_in_one_set() {
    let tag = Asid::default();
    for (name, ways) in [("skylake-unified-64", 4), ("skylake-unified-96", 6)] {
        let mut tlb = Tlb::new(&machine(name).unwrap().design);
        tlb.load(&Walk::plain(tag, PageNumber(0), PageSize::SIZE_2M));
        for number in 1..ways {
            tlb.load(&Walk::plain(
                tag,
                PageNumber(number << 30),
                PageSize::SIZE_4K,
            ));
        }
        assert_eq!(tlb.lookup(tag, PageNumber(5)), Lookup::First, "{name}");
        // The superpage is the newest now: two more base pages drive out the two oldest, not it.
        tlb.load(&Walk::plain(tag, PageNumber(20 << 30), PageSize::SIZE_4K));
        assert_eq!(
            tlb.lookup(tag, PageNumber(1 << 30)),
            Lookup::Second,
            "{name}"
        );
        assert_eq!(tlb.lookup(tag, PageNumber(5)), Lookup::First, "{name}");
    }
}

#[test]
fn an_unknown_name_is_one() {
    match machine("skylke") {
        Err(NoMachine::Unknown(error)) => {
            assert_eq!(error.name, "skylke");
        }
        other => panic!("{other:?}"),
    }
}

/// The error of skylake's description with one part replaced.
fn wrong(from: &str, to: &str) -> (usize, String, String) {
    let text = machine_text("skylake").unwrap();
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    let error = Machine::from_toml(&text)
        .err()
        .unwrap_or_else(|| panic!("{to} was accepted"));
    (error.line, error.key, error.message)
}

#[test]
fn errors_name_the_line_and_the_key() {
    let line_of = |what: &str| {
        let text = machine_text("skylake").unwrap();
        text.lines().position(|line| line.contains(what)).unwrap() + 1
    };
    for (from, to, key, message) in [
        (
            "entries = 32",
            "entries = 33",
            "ways",
            "33 entries do not divide into sets of 4 ways",
        ),
        ("entries = 64", "entries = 0", "entries", "1 to"),
        (
            "entries = 64",
            "entries = \"many\"",
            "entries",
            "this is the text \"many\", and a whole number is expected",
        ),
        ("va[24:22]", "va[24:21]", "index", "distinguishes 16 sets"),
        ("va[24:22]", "va[22:20]", "index", "inside a 2m page"),
        ("va[24:22]", "24..22", "index", "is not an index"),
        ("level = 2", "level = 4", "level", "the level is 1 to 3"),
        ("\"lru\"", "\"tarot\"", "replacement", "no replacement"),
        (
            "level = 2",
            "organisation = \"round\"\nlevel = 2",
            "organisation",
            "no TLB is called \"round\" (there are set-associative",
        ),
        (
            "[[tlb]]",
            "page-table = \"tarot\"\n[[tlb]]",
            "page-table",
            "no page table",
        ),
        ("[[tlb]]", "caches = \"oak\"\n[[tlb]]", "caches", "no cache"),
        (
            "[[tlb]]",
            "synonyms = \"tarot\"\n[[tlb]]",
            "synonyms",
            "no synonym table",
        ),
        (
            "[[tlb]]",
            "page-table = \"hashed(buckets=none)\"\n[[tlb]]",
            "page-table",
            "buckets is a whole number",
        ),
        (
            "[[tlb]]",
            "page-table = \"hashed(chains=3)\"\n[[tlb]]",
            "page-table",
            "page table hashed has no parameter \"chains\"",
        ),
        ("4k = 35", "5k = 35", "5k", "not a page size"),
        ("2m = 21", "4K = 21", "4K", "4k is there already"),
        ("2m = 21", "4096 = 21", "4096", "4k is there already"),
        (
            "2m = \"va[27:21]\"",
            "4K = \"va[18:12]\"",
            "index",
            "4k is there already",
        ),
        (
            "4k = 35",
            "# 35",
            "[walk-cycles]",
            "walks that find a 4k page have no cost",
        ),
        (
            "entries = 1536",
            "entires = 1536",
            "entires",
            "did you mean entries?",
        ),
        ("\"lru\"", "\"lur\"", "replacement", "did you mean lru?"),
        (
            "[walk-cycles]",
            "[walk-cyles]",
            "[walk-cyles]",
            "did you mean walk-cycles",
        ),
    ] {
        let (line, found_key, found) = wrong(from, to);
        assert_eq!(found_key, key, "{to}: {found}");
        assert!(found.contains(message), "{to}: {found}");
        let at = if key == "ways" {
            line_of("ways = 4")
        } else {
            line_of(from)
        };
        if key != "[walk-cycles]" {
            assert_eq!(line, at, "{to}");
        }
    }
    assert!(
        wrong("name = \"skylake\"", "name = \"sky lake\"")
            .2
            .contains("one word")
    );
    assert_eq!(
        wrong("[[tlb]]", "[[tlb").2,
        "unclosed array table, expected `]]`"
    );
    assert!(
        Machine::from_toml("")
            .unwrap_err()
            .message
            .contains("is missing")
    );
    assert!(Machine::from_toml("\0\u{ffff}").is_err());
}

#[test]
fn walk_caches_are_of_the_levels_of_the_page_table() {
    let caches = |top: &str, text: &str| {
        let file = machine_text("skylake").expect("a text").to_owned();
        let file = file.replacen("[[tlb]]", &format!("{top}\n[[tlb]]"), 1);
        Machine::from_toml(&format!("{file}\n[walk-caches]\n{text}\n"))
    };
    let found = caches("", "2m = { entries = 32, ways = 8 }\n1g = { entries = 4 }");
    let found = found.expect("a machine").walk_caches;
    let shapes = found
        .iter()
        .map(|cache| (cache.span.short_name().to_string(), cache.ways));
    assert_eq!(
        shapes.collect::<Vec<_>>(),
        [("2m".to_owned(), 8), ("1g".to_owned(), 4)]
    );
    for (top, text, message) in [
        (
            "",
            "64k = { entries = 4 }",
            "cover 2m, 1g, 512g, and none 64k",
        ),
        (
            "",
            "2m = { entries = 0 }",
            "a walk cache has 1 to 65536 entries",
        ),
        (
            "",
            "2m = { entries = 12, ways = 4 }",
            "12 entries in 4 ways",
        ),
        ("", "2m = { ways = 4 }", "the key entries is missing"),
        (
            "page-table = \"hashed\"",
            "2m = { entries = 4 }",
            "page table hashed has no entries above its pages to cache",
        ),
    ] {
        let error = caches(top, text).expect_err(text).message;
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Brackets hold values of a grid together.
#[test]
fn grids_name_tables_with_parameters() {
    let grid = "single:entries=16,table=hashed(buckets=64)|clustered(buckets=8, subblocks=4),\
                synonyms=synonyms-pages|synonyms-sorted";
    let machines = broadleaf_machine::machines_of_grid(grid).expect("machines");
    let tables: Vec<String> = machines.iter().map(|one| one.page_table.short()).collect();
    let (one, other) = ("hashed(buckets=64)", "clustered(buckets=8, subblocks=4)");
    assert_eq!(tables, [one, one, other, other]);
    for machine in &machines {
        let again = broadleaf_machine::machines_of_grid(&machine.name).expect("a machine");
        assert_eq!(again, std::slice::from_ref(machine));
    }
}

#[test]
fn capacity_is_that_of_all_structures_for_one_kind_of_reference() {
    let capacity = |name: &str, size| {
        let machine = machine(name).expect("a machine");
        machine.design.capacity(size)
    };
    for (name, base, large) in [
        ("zen2", 2048, 2048),
        ("golden-cove", 2048, 1024),
        ("ice-lake", 2048, 1024),
        ("skylake", 1536, 1536),
        ("gracemont", 2048, 2048),
        ("c910", 1024, 1024),
    ] {
        assert_eq!(capacity(name, PageSize::SIZE_4K), base, "{name}");
        assert_eq!(capacity(name, PageSize::SIZE_2M), large, "{name}");
    }
}

#[test]
fn a_page_size_needs_one_first_level_structure() {
    let (_, _, message) = wrong(
        "index = { 2m = \"va[24:22]\" }",
        "index = { 1g = \"va[32:30]\" }",
    );
    assert_eq!(message, "no tlb of level 1 holds 2m pages");
    let (_, _, message) = wrong("name = \"stlb\"\nlevel = 2", "name = \"stlb\"\nlevel = 1");
    assert!(
        message.contains("holds 4k pages at level 1 already"),
        "{message}"
    );
}

#[test]
fn levels_have_no_gap_and_names_are_given_once() {
    let second = "name = \"stlb\"\nlevel = 2";
    let (_, key, message) = wrong(second, "name = \"stlb\"\nlevel = 3");
    assert_eq!(key, "level");
    assert_eq!(
        message,
        "there is no tlb of level 2: levels have no gap, so add one or write level = 2"
    );
    let (_, _, message) = wrong(second, "name = \"dtlb-4k\"\nlevel = 2");
    assert!(
        message.contains("two TLBs are called \"dtlb-4k\""),
        "{message}"
    );
}

#[test]
fn costs_of_sizes_that_no_tlb_holds_are_named() {
    let of = |costs: &str| {
        let text = format!(
            "name = \"one\"\nsummary = \"\"\n[[tlb]]\nname = \"tlb\"\nlevel = 1\nentries = 4\n\
             ways = 4\nreplacement = \"lru\"\nindex = {{ 4k = \"none\" }}\n[walk-cycles]\n{costs}"
        );
        Machine::from_toml(&text).expect("a machine").unused_costs()
    };
    assert_eq!(of("4k = 30\n"), None);
    let note = of("4k = 30\n2m = 20\n1g = 10\n").expect("a note");
    assert!(
        note.contains("for 2m, 1g, which") && note.contains("hold 4k alone"),
        "{note}"
    );
}
