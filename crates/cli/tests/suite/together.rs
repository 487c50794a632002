//! `compare --together`: several traces on the cores of one machine.

use crate::support::{broadleaf, file, folder, lackey, refused, run, stderr, succeeded};
use std::fs;
use std::path::Path;

/// Records `true` by lines. `None` without a recorder.
fn recorded(folder: &Path, name: &str) -> Option<String> {
    let trace = folder.join(name).to_str().expect("UTF-8").to_owned();
    let record = ["record", "--grain", "line", "-o", &trace, "--", "true"];
    let recorded = broadleaf(&record).output().expect("it was built");
    if stderr(&recorded).contains("has no recorder") {
        return None;
    }
    succeeded(&recorded);
    Some(trace)
}

const MACHINE: [&str; 3] = ["--together", "--machine", "chen2014-4core-scattered"];

#[test]
fn a_mix_has_the_same_results_in_all_formats_and_on_any_threads() {
    let folder = folder("together");
    let (Some(one), Some(two)) = (recorded(&folder, "a.bl"), recorded(&folder, "b.bl")) else {
        return;
    };
    let mix = |more: &[&str]| {
        let asked = [&["compare", &one, &two], &MACHINE[..], more].concat();
        succeeded(&run(&asked))
    };
    let table = mix(&[]);
    assert!(
        table.contains("has the highest weighted speedup"),
        "{table}"
    );
    let json = mix(&["--format", "json", "--threads", "1"]);
    assert_eq!(json, mix(&["--format", "json", "--threads", "4"]));
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(parsed["schema"], "broadleaf.mix/1");
    let policies: Vec<_> = parsed["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| result["policy"].as_str().expect("a name"))
        .collect();
    assert_eq!(policies.len(), 4, "{policies:?}");
    // Programs of one name have numbers; here names differ.
    assert_eq!(parsed["programs"][1]["name"], "b");
    let csv = mix(&["--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 4 * 2);
    let speedup = &parsed["results"][0]["programs"][0]["speedup"];
    assert!(csv.contains(&format!(",{speedup},")), "{csv}");
    let parts = mix(&[
        "--skip", "20000", "--warm", "10000", "--work", "1e4", "--format", "json",
    ]);
    let parts: serde_json::Value = serde_json::from_str(&parts).expect("JSON");
    assert_eq!(parts["skipped"], 20_000);
}

#[test]
fn mixes_that_cannot_run_say_what_to_do() {
    let folder = folder("together-refused");
    let text = file(&folder, "pages.lackey", lackey(50).as_bytes());
    let refuse = |more: &[&str]| refused(&run(&[&["compare", &text, &text], more].concat()));
    let pages = refuse(&MACHINE);
    assert!(pages.contains("--grain line"), "{pages}");
    let without = refuse(&["--together", "--policy", "4k"]);
    assert!(without.contains("chen2014-4core"), "{without}");
    let one_core = refuse(&[
        "--together",
        "--policy",
        "4k",
        "--machine",
        "chen2014-1core",
    ]);
    assert!(one_core.contains("for 1 at most"), "{one_core}");
    let Some(trace) = recorded(&folder, "whole.bl") else {
        return;
    };
    let whole = fs::read(&trace).expect("a recording");
    let cut = file(&folder, "cut.bl", &whole[..whole.len() - 40]);
    let truncated = refused(&run(&[&["compare", &trace, &cut], &MACHINE[..]].concat()));
    assert!(
        truncated.contains("record the program again"),
        "{truncated}"
    );
    let small = [
        &["compare", &trace, &trace],
        &MACHINE[..],
        &["--memory", "64K", "--swap", "0"],
    ]
    .concat();
    let small = refused(&run(&small));
    assert!(small.contains("--memory"), "{small}");
}
