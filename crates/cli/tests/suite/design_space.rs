//! Grids of TLBs: misses against area, over one memory.

use crate::support::{refused, run, succeeded};
use serde_json::Value;

/// A recording of blocks of 2 MiB that are touched in several manners.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/blocks.bl");

/// The results under a policy, by machine, of several grids.
fn results(policy: &str, grids: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["compare", TRACE, "--policy", policy, "--format", "json"];
    grids
        .iter()
        .for_each(|grid| arguments.extend(["--machine", grid]));
    let mut answer: Value = serde_json::from_str(&succeeded(&run(&arguments))).expect("JSON");
    match answer["results"].take() {
        Value::Array(results) => results,
        other => panic!("{other}"),
    }
}

/// What `compare` prints for a policy and the machines of one grid, with further arguments.
fn printed(policy: &str, grid: &str, more: &[&str]) -> String {
    let arguments = ["compare", TRACE, "--policy", policy, "--machine", grid];
    succeeded(&run(&[&arguments[..], more].concat()))
}

fn count(result: &Value, field: &str) -> u64 {
    let value = result[field].as_u64();
    value.unwrap_or_else(|| panic!("no {field} in {result}"))
}

fn misses(results: &[Value]) -> Vec<u64> {
    results
        .iter()
        .map(|result| count(result, "l2_misses"))
        .collect()
}

#[test]
fn a_grid_has_a_result_with_an_area_for_each_tlb() {
    let results = results(
        "4k",
        &["single:entries=16..64", "superpage:entries=64,sizes=4k+64k"],
    );
    let machines: Vec<&str> = results
        .iter()
        .filter_map(|one| one["machine"].as_str())
        .collect();
    let expected = [16, 32, 64].map(|entries| format!("single:entries={entries}"));
    assert_eq!(machines[..3], expected);
    // The area of the thesis's reference TLB (Talluri 1995, section 2.2).
    assert_eq!(
        results[2]["area_rbe"].as_f64().map(f64::floor),
        Some(7984.0)
    );
    assert!(misses(&results).is_sorted_by(|one, other| one >= other));
    for result in &results {
        let parts = count(result, "block_misses") + count(result, "subblock_misses");
        assert_eq!(parts, count(result, "l2_misses"), "{result}");
    }
}

#[test]
fn tlbs_without_support_of_the_system_miss_as_a_tlb_of_base_pages() {
    // Without superpages, a superpage TLB is a TLB of base pages. Without proper placement, a
    // partial-subblock TLB nearly is (Talluri 1995, sections 3.2 and 3.4).
    let single = misses(&results("random-frames", &["single:entries=32..64"]));
    let superpage = "superpage:entries=32..64,sizes=4k+64k";
    let partial = "partial-subblock:entries=32..64,sizes=4k+64k,block=64k,preload=true";
    let others = misses(&results("random-frames", &[superpage, partial]));
    assert_eq!(others[..2], single);
    for (own, of_single) in others[2..].iter().zip(&single) {
        assert!(
            own.abs_diff(*of_single) * 100 <= *of_single,
            "{own} and {of_single}"
        );
    }
}

#[test]
fn placement_and_promotion_help_the_tlbs_that_need_them() {
    let grids = [
        "single:entries=32",
        "superpage:entries=32,sizes=4k+64k",
        "partial-subblock:entries=32,sizes=4k+64k,block=64k,preload=true",
        "complete-subblock:entries=32,sizes=4k+64k,block=64k,preload=true",
    ];
    let [random, reserved, promoted] =
        ["random-frames", "reserve-64k", "foxtrot"].map(|policy| misses(&results(policy, &grids)));
    // The base-page TLB and the complete-subblock TLB need no placement.
    assert_eq!((random[0], random[3]), (reserved[0], reserved[3]));
    assert!(random[3] < random[0], "{random:?}");
    // Reservation alone helps the partial-subblock TLB, and promotion helps the superpage TLB.
    assert_eq!(random[1], reserved[1]);
    assert!(reserved[2] < random[2], "{reserved:?}, {random:?}");
    assert!(promoted[1] < reserved[1], "{promoted:?}, {reserved:?}");
}

#[test]
fn the_table_marks_the_front_and_draws_it() {
    let grid = "single:entries=16..128";
    let text = printed("4k", grid, &[]);
    assert!(text.starts_with("4k: misses against area\n"), "{text}");
    assert!(text.contains("\n*  single:entries=16 "), "{text}");
    assert!(text.contains("area in rbe, misses upwards"), "{text}");
    let csv = printed("4k", grid, &["--format", "csv"]);
    let heading = csv.lines().next().expect("a heading");
    assert!(
        heading.split(',').any(|name| name == "area_rbe"),
        "{heading}"
    );
    assert_eq!(csv.lines().count(), 5);
}

#[test]
fn the_table_has_the_notes_and_the_advice_of_the_json() {
    let grid = "single:entries=16,replacement=opt|random";
    let json = printed("4k,foxtrot", grid, &["--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let notes: Vec<String> = json["notes"]
        .as_array()
        .expect("notes")
        .iter()
        .map(text)
        .collect();
    assert!(
        notes.iter().any(|note| note.contains("random(seed=1)")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("opt is a heuristic")),
        "{notes:?}"
    );
    let advice = text(&json["advice"][0]["sentence"]);
    assert!(advice.contains("made no superpages"), "{advice}");
    let table = printed("4k,foxtrot", grid, &[]);
    for note in &notes {
        assert!(
            table.contains(&format!("Note: {note}\n")),
            "{note}\n{table}"
        );
    }
    assert!(table.contains(&advice), "{table}");
}

#[test]
fn a_tlb_without_an_area_has_a_row() {
    let grid = "partial-subblock:entries=16,block=64k,valid=vector|run";
    let table = printed("4k", grid, &[]);
    let row = |end: &str| {
        let mut rows = table.lines().filter(|line| line.contains(end));
        let row = rows.next().unwrap_or_else(|| panic!("no {end}: {table}"));
        row.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("valid=vector")[0], "*");
    assert_eq!(row("valid=run")[1], "-");
}

#[test]
fn what_is_wrong_with_a_grid_is_said() {
    for (machine, words) in [
        ("single:entries=33..64", "write 33..64:1 for each number"),
        ("partial-subblock:entries=64,sizes=4k", "size of its block"),
        (
            "single:entries=64,replacement=luck",
            "no replacement is called",
        ),
        ("no*where", "no machine fits"),
        ("****************************q", "no machine fits"),
        ("skylake, single:entries=16", "a --machine of its own"),
        ("single:entries=64,miss=x", "is not a number of cycles"),
    ] {
        let output = run(&["compare", TRACE, "--machine", machine]);
        let text = refused(&output);
        assert!(text.contains(words), "{machine}: {text}");
    }
    let pattern = [
        "compare",
        TRACE,
        "--policy",
        "4k",
        "--machine",
        "skylake*",
        "--format",
        "csv",
    ];
    assert!(succeeded(&run(&pattern)).lines().count() > 3);
}
