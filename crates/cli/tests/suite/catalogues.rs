//! `list`, `explain`, help, completions and manual pages.

use crate::support;
use crate::support::{run, stderr, succeeded};
use serde_json::Value;

const LISTS: [&str; 12] = [
    "policies",
    "machines",
    "tlbs",
    "replacements",
    "page-tables",
    "synonym-tables",
    "caches",
    "cache-replacements",
    "allocators",
    "formats",
    "metrics",
    "refusals",
];

#[test]
fn whatever_is_listed_can_be_explained() {
    for list in LISTS {
        let table = succeeded(&run(&["list", list]));
        assert!(table.lines().count() > 2, "{table}");
        let entries: Value =
            serde_json::from_str(&succeeded(&run(&["list", list, "--format", "json"]))).unwrap();
        for entry in entries.as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let examples = entry["examples"].as_array().cloned().unwrap_or_default();
            for name in examples
                .iter()
                .map(|example| example.as_str().unwrap())
                .chain([name])
            {
                let text = succeeded(&run(&["explain", name]));
                assert!(text.lines().count() >= 3, "{text}");
            }
        }
    }
}

#[test]
fn without_a_name_everything_is_listed() {
    let table = succeeded(&run(&["list"]));
    let all: Value = serde_json::from_str(&succeeded(&run(&["list", "--format", "json"]))).unwrap();
    assert_eq!(all.as_object().unwrap().len(), LISTS.len());
    for list in LISTS {
        let own = succeeded(&run(&["list", list]));
        let (rows, next) = own.split_once("\nNext: ").unwrap();
        assert!(table.contains(rows), "{list}");
        assert_eq!(next, "broadleaf explain NAME\n");
        let one = succeeded(&run(&["list", list, "--format", "json"]));
        assert_eq!(all[list], serde_json::from_str::<Value>(&one).unwrap());
    }
}

#[test]
fn columns_of_the_table_can_be_explained() {
    for (column, says) in [
        ("L1 misses", "first-level"),
        ("vs freebsd", "divided by those of the policy freebsd"),
        ("added", "peak_resident_pages"),
        ("resident at end", "held at the end"),
        ("resident", "in memory now"),
        ("Peak", "The peak of base-page frames"),
        ("walks spared", "with the superpages of this range alone"),
        ("lies_in", "the bounds of the mapping"),
        ("per KiB added", "`free` if nothing is added"),
        ("added", "In the table of `advise`: added_bytes"),
        ("would promote", "the policy would promote now"),
        ("candidates", "the policy would promote now"),
        ("memory added", "not resident yet"),
        ("huge at most", "huge_bytes_peak"),
        ("demoted by the program", "broken_by_programs"),
        (
            "walk cycles",
            "In the table of `advise`: walk_cycles_spared",
        ),
    ] {
        let text = succeeded(&run(&["explain", column])).replace('\n', " ");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_structure_of_one_set_is_fully_associative() {
    let text = succeeded(&run(&["explain", "neoverse-n1"])).replace('\n', " ");
    let plain = "l1-data: 48 entries, fully associative, exact LRU, for pages of 4k, 16k, 64k, 2m";
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(plain), "{text}");
    assert!(!text.contains("none"), "{text}");
}

#[test]
fn formats_of_advice_can_be_explained() {
    for (format, says) in [
        ("madvise", "a call of madvise(2)"),
        ("cbmm", "huge,SECTION,BENEFIT,addr,>,LOW,addr,<,HIGH"),
        ("mosalloc", "type,pageSize,startOffset,endOffset"),
    ] {
        let text = succeeded(&run(&["explain", format]));
        let joined = text.replace('\n', " ");
        assert!(
            joined.contains("(format of advice)") && joined.contains(says),
            "{text}"
        );
    }
}

#[test]
fn columns_of_csv_can_be_explained() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/blocks.bl");
    let memory = ["--memory=unlimited", "--policy=4k", "--format=csv"];
    let csv = succeeded(&run(&[&["compare", trace][..], &memory].concat()));
    let head = csv.lines().next().expect("a head");
    assert!(head.contains(",tlbmcpi_miss,tlbmcpi_bookkeeping,tlbmcpi_copy,"));
    for column in head.split(',') {
        succeeded(&run(&["explain", column]));
    }
}

#[test]
fn an_explanation_names_parameters_and_source() {
    let text = succeeded(&run(&["explain", "pop-77"]));
    assert!(text.starts_with("pop-77 (policy): "), "{text}");
    assert!(
        text.contains("1 to 512") && text.contains("Zhu 2018"),
        "{text}"
    );
    let text = succeeded(&run(&["explain", "linux(enabled=madvise)"]));
    assert!(
        text.starts_with("linux(enabled=madvise) (policy): ")
            && text
                .contains("enabled, always, madvise or never (always unless you say otherwise): ")
            && text.contains("max_ptes_none, 0 to 511 base pages (511 unless you say otherwise): "),
        "{text}"
    );
    // Whichever way it is written.
    for name in ["asap-4-64", "asap(sizes=64k,part=50)"] {
        let text = succeeded(&run(&["explain", name]));
        assert!(
            text.starts_with("asap-4-64 (policy): promote 64 KiB"),
            "{text}"
        );
    }
    let text = succeeded(&run(&["explain", "skylake"]));
    assert!(
        text.contains("1536 entries, in 128 sets of 12 ways") && text.contains("35 cycles"),
        "{text}"
    );
    let text = succeeded(&run(&["explain", "superpage"])).replace('\n', " ");
    assert!(text.contains("As a word: a page of 2 MiB"), "{text}");
    let text = succeeded(&run(&["explain", "hugetlbfs"]));
    assert!(
        text.starts_with("hugetlb (word): reserved huge pages"),
        "{text}"
    );
    let one = "single:entries=512";
    let text = succeeded(&run(&["explain", one]));
    assert!(text.starts_with("single:entries=512 (machine)"), "{text}");
    assert!(text.contains("512 entries"), "{text}");
    let grid = "single:entries=64|128";
    let text = succeeded(&run(&["explain", grid]));
    assert!(text.contains("single:entries=128\n"), "{text}");
    let next = "broadleaf compare TRACE --machine 'single:entries=64|128'";
    assert!(text.contains(next), "{text}");
    let wrong = run(&["explain", "single:entrys=64"]);
    assert!(stderr(&wrong).contains("did you mean entries?"));
    let none = stderr(&run(&["explain", "thp*"]));
    assert!(none.contains("thp-always"), "{none}");
    let text = succeeded(&run(&["explain", "neoverse*"]));
    assert!(text.contains("neoverse-n1-aggregating\n"), "{text}");
    let text = succeeded(&run(&["explain", "refusal_not_covered"]));
    assert!(text.starts_with("not_covered (refusal): "), "{text}");
}

#[test]
fn help_is_short_or_full() {
    for command in [
        "record",
        "import",
        "export",
        "info",
        "compare",
        "list",
        "explain",
        "paper",
        "demo",
        "completions",
        "man",
    ] {
        let short = succeeded(&run(&[command, "-h"]));
        let full = succeeded(&run(&[command, "--help"]));
        assert!(full.len() > short.len(), "{command}");
        assert!(
            command == "demo" || full.contains("Examples:"),
            "{command}\n{full}"
        );
    }
    let general = succeeded(&run(&["--help"]));
    assert!(
        general.contains("Exit status:") && general.contains("broadleaf demo"),
        "{general}"
    );
}

#[test]
fn completions_and_manual_pages_come_from_the_same_table() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            succeeded(&run(&["completions", shell])).contains("compare"),
            "{shell}"
        );
    }
    // Names are offered, and do not crowd the help.
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeded(&run(&["completions", shell]));
        for name in ["pop-461", "skylake-va23"] {
            assert!(script.contains(name), "{name} in {shell}");
        }
        // Scripts for fish offer no values of arguments without a flag.
        for name in ["false_dirty_pages", "navarro2002"] {
            assert!(
                shell == "fish" || script.contains(name),
                "{name} in {shell}"
            );
        }
    }
    assert!(!succeeded(&run(&["compare", "--help"])).contains("pop-461"));
    assert!(succeeded(&run(&["man"])).starts_with(".ie"));
    let page = succeeded(&run(&["man", "compare"]));
    for part in [
        r"[\fB\-\-policy\fR \fINAME\fR]...",
        ".SH \"EXAMPLES\"\n.nf\nbroadleaf compare gzip.bl\n",
        ".SH \"EXIT STATUS\"\n.nf\n0  done\n",
    ] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    let folder = support::folder("man");
    let folder_name = folder.to_str().unwrap();
    succeeded(&run(&["man", "-o", folder_name]));
    assert!(folder.join("broadleaf-compare.1").exists());
    assert!(!folder.join("broadleaf-help.1").exists());
    let general = std::fs::read_to_string(folder.join("broadleaf.1")).unwrap();
    assert!(!general.contains(r"broadleaf\-help"), "{general}");
    let pages = || std::fs::read_dir(&folder).unwrap().count();
    let all = pages();
    // One page that is there already, and none is written.
    for entry in std::fs::read_dir(&folder).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let page = support::file(&folder, "broadleaf-info.1", b"precious");
    let line = support::refused(&run(&["man", "-o", folder_name]));
    assert!(line.contains(&page) && line.contains("--force"), "{line}");
    assert_eq!(std::fs::read(&page).unwrap(), b"precious");
    assert_eq!(pages(), 1);
    succeeded(&run(&["man", "-o", folder_name, "--force"]));
    assert_eq!(pages(), all);
    assert_ne!(std::fs::read(&page).unwrap(), b"precious");
}

#[test]
fn tlbs_are_listed_with_areas() {
    let table = succeeded(&run(&["list", "tlbs", "--area"]));
    for start in ["complete-subblock", "skylake dtlb-4k", "romer1995 dtb"] {
        assert!(
            table.lines().any(|line| line.starts_with(start)),
            "{start}: {table}"
        );
    }
    let json = succeeded(&run(&["list", "tlbs", "--area", "--format", "json"]));
    let entries: Value = serde_json::from_str(&json).unwrap();
    let entries = entries.as_array().unwrap();
    // 64 entries for pages of 4 KiB: the area that the thesis prints as 7984.
    assert_eq!(entries[0]["name"], "single-page-size");
    assert!((entries[0]["area_rbe"].as_f64().unwrap() - 7984.36).abs() < 0.01);
    assert_eq!(entries[0]["relative_area"], 1.0);
    // The table has headings, a rule, a line for each entry, and the next command after an empty
    // line. Each figure of the fitted surrogate is beside the surrogate's name.
    assert_eq!(table.lines().count(), entries.len() + 4);
    for (line, entry) in table.lines().skip(2).zip(entries) {
        let fitted = &entry["relative_access_by_fitted_surrogate"];
        assert_eq!(
            line.contains("fitted surrogate"),
            !fitted.is_null(),
            "{line}"
        );
        assert!(entry["access_seconds_by_delay_equations"].as_f64().unwrap() > 1e-9);
    }
}

#[test]
fn only_tlbs_have_areas() {
    for arguments in [&["list", "--area"][..], &["list", "policies", "--area"]] {
        let line = support::refused(&run(arguments));
        assert!(line.contains("broadleaf list tlbs --area"), "{line}");
    }
}

#[test]
fn kinds_of_tlb_entries_and_machines_are_explained_with_areas() {
    for (name, part) in [
        ("complete-subblock", "block of 16: 36679 rbe (4.59)"),
        ("complete-subblock", "256 entries in 4 ways"),
        ("superpage", "(TLB entry)"),
        ("superpage", "4k, 64k: 8354 rbe (1.05)"),
    ] {
        let text = succeeded(&run(&["explain", name])).replace('\n', "");
        let text: Vec<&str> = text.split_whitespace().collect();
        assert!(text.join(" ").contains(part), "{part}: {text:?}");
    }
    let text = succeeded(&run(&["explain", "skylake"]));
    assert!(text.contains("register-bit equivalents"), "{text}");
}
