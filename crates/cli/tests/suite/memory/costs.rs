//! Costs of events, and the cycles that they come to.

use super::*;

#[test]
fn costs_are_an_option_and_are_told() {
    let usual = json(&["--memory=75%"]);
    let changed = json(&["--memory=75%", "--costs=disk=0,promotion=7"]);
    let same = json(&["--memory=75%", "--costs=disk=300000"]);
    let costs = |answer: &Value| answer["memory"]["costs"].clone();
    assert_eq!(
        costs(&usual).as_object().map(serde_json::Map::len),
        Some(17),
        "{}",
        costs(&usual)
    );
    assert_eq!(
        (&costs(&usual), &usual["results"]),
        (&costs(&same), &same["results"])
    );
    assert_eq!(
        (&costs(&changed)["disk"], &costs(&changed)["promotion"]),
        (&0.into(), &7.into())
    );
    let names = |answer: &Value| answer["memory"]["costs_changed"].clone();
    assert_eq!(names(&changed), serde_json::json!(["disk", "promotion"]));
    assert_eq!(names(&same), serde_json::json!([]));
    let hash = |answer: &Value| answer["provenance"]["config_hash"].clone();
    assert_ne!(hash(&usual), hash(&changed));
    assert_eq!(hash(&usual), hash(&same));
    // The changed costs change the cycles, and no other figure.
    for (before, after) in (usual["results"].as_array().expect("results").iter())
        .zip(changed["results"].as_array().expect("results"))
    {
        let count = |result: &Value, name: &str| result[name].as_u64().expect("a count");
        for name in [
            "page_faults",
            "swapped_in_pages",
            "promotions",
            "walk_cycles",
        ] {
            assert_eq!(before[name], after[name], "{name}");
        }
        let cycles = |result| count(result, "fault_cycles") + count(result, "daemon_cycles");
        let through_the_disk: u64 = [
            "swapped_out_pages",
            "swapped_in_pages",
            "file_pages_read",
            "file_pages_written",
        ]
        .iter()
        .map(|name| count(before, name))
        .sum();
        assert!(through_the_disk > 0, "nothing to see");
        let less = 300_000 * through_the_disk + 2993 * count(before, "promotions");
        assert_eq!(cycles(before) - cycles(after), less);
    }
    let table = |costs: &[&str]| succeeded(&compare(&[&["--memory=75%"], costs].concat()));
    let line = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("Memory: "));
        line.expect("a line on memory").to_owned()
    };
    let told = line(&table(&["--costs", "disk=0,promotion=7"]));
    assert!(
        told.ends_with("; costs in cycles: disk=0, promotion=7."),
        "{told}"
    );
    assert!(!line(&table(&[])).contains("costs"));
}

#[test]
fn wrong_costs_are_refused_with_the_names() {
    for (costs, says) in [
        ("dsk=1", "no cost is called \"dsk\""),
        ("disk", "\"disk\" is no cost: write NAME=CYCLES"),
        ("disk=much", "disk=much: a cost is a whole number of cycles"),
        ("disk=1,disk=2", "disk is given twice"),
    ] {
        let text = usage(&["--memory=75%", "--costs", costs]);
        assert!(text.contains(says), "{text}");
        assert!(
            text.contains("zero-kib") && text.contains("migration"),
            "{text}"
        );
    }
}

/// What Romer's policies cost: in all formats, with an explanation, and as a column where it says
/// more than walks do.
#[test]
fn cycles_for_each_instruction_are_told_in_their_parts() {
    let trace = golden("blocks.bl");
    let answer = |policies: &str, more: &[&str]| {
        let first = ["compare", &trace, "--policy", policies];
        let memory = ["--machine", "romer1995", "--memory", "unlimited"];
        succeeded(&run(&[&first, &memory, more].concat()))
    };
    let json = answer(
        "fixed(size=16k),asap-4-64,approx-online",
        &["--format", "json"],
    );
    let json: Value = serde_json::from_str(&json).expect("the answer is JSON");
    let instructions = json["trace"]["instructions"].as_f64().expect("a count");
    let results = json["results"].as_array().expect("results");
    let names: Vec<&str> = (results.iter())
        .filter_map(|result| result["policy"].as_str())
        .collect();
    assert_eq!(names, ["fixed-16k", "asap-4-64", "approx-online"]);
    for result in results {
        for (part, cycles) in [
            ("miss", "walk_cycles"),
            ("bookkeeping", "bookkeeping_cycles"),
            ("copy", "copy_cycles"),
        ] {
            let cycles = result[cycles].as_f64().expect("cycles");
            let told = result["tlbmcpi"][part].as_f64().expect("a part");
            assert!(
                (told - cycles / instructions).abs() < 1e-9,
                "{part}: {told}"
            );
        }
    }
    let copied: Vec<Option<u64>> = (results.iter())
        .map(|result| result["copy_cycles"].as_u64())
        .collect();
    assert_eq!(copied[0], Some(0));
    assert!(results[0]["promotion_cycles"].as_u64() > Some(0));
    assert!(copied[1] > Some(0) && results[1]["promotion_cycles"] == results[1]["copy_cycles"]);
    let csv = answer("fixed-16k,asap", &["--format", "csv"]);
    let (names, rows) = csv.split_once('\n').expect("a header");
    let at = names.split(',').position(|name| name == "tlbmcpi_copy");
    let copy = |row: &str| row.split(',').nth(at.expect("a column")).map(str::to_owned);
    let copies: Vec<Option<String>> = rows.lines().map(copy).collect();
    assert!(copies[0].as_deref() == Some("0") && copies[1].as_deref() > Some("0"));
    // Without copies and bookkeeping, walk cycles are the whole cost.
    assert!(answer("4k,asap", &[]).contains("TLBMCPI"));
    assert!(!answer("4k,fixed-16k", &[]).contains("TLBMCPI"));
    let text = succeeded(&run(&["explain", "tlbmcpi"]));
    assert!(text.contains("cycles per instruction"), "{text}");
}
