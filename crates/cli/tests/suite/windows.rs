//! Recordings in windows: estimates of `compare`, and refusals of `record`.

#![allow(clippy::disallowed_macros, reason = "a test may print")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::live::is_installed;
use crate::support::{folder, refused, run, stderr, succeeded};

/// Compiles a program with random updates in memory of 8 MiB, forty times as many as pages.
fn program(folder: &Path) -> Option<PathBuf> {
    if !is_installed("gcc") || !is_installed("valgrind") {
        eprintln!("SKIPPED: gcc or valgrind is not installed");
        return None;
    }
    let (source, program) = (folder.join("updates.c"), folder.join("updates"));
    let text = "static volatile char table[8 << 20];\n\
        int main(void) {\n\
        unsigned long state = 1;\n\
        for (int i = 0; i < 400000; i++) {\n\
        state = state * 6364136223846793005ul + 1442695040888963407ul;\n\
        table[(state >> 33) % sizeof table]++;\n\
        }\nreturn 0;\n}\n";
    std::fs::write(&source, text).expect("a file");
    let status = Command::new("gcc")
        .args(["-O1", "-static", "-o"])
        .args([&program, &source])
        .status()
        .expect("gcc starts");
    assert!(status.success());
    Some(program)
}

fn recorded(folder: &Path, name: &str, program: &Path, windows: &[&str]) -> String {
    let trace = folder.join(name).display().to_string();
    let program = program.display().to_string();
    let all = [&["record", "-o", &trace], windows, &["--", &program]].concat();
    succeeded(&run(&all));
    trace
}

fn compared(trace: &str, more: &[&str]) -> String {
    let policies = ["--policy", "4k,pop-64", "--no-cache"];
    succeeded(&run(&[&["compare", trace], &policies[..], more].concat()))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the answer is JSON")
}

/// The second-level misses of each policy on the whole program lie in the intervals of the windows.
#[test]
fn estimates_of_windows_hold_the_counts_of_the_whole() {
    let folder = folder("windows");
    let Some(program) = program(&folder) else {
        return;
    };
    let whole = recorded(&folder, "whole.bl", &program, &[]);
    let windows = ["--skip", "20k", "--for", "8k", "--every", "40k"];
    let parts = recorded(&folder, "parts.bl", &program, &windows);
    let whole = json(&compared(&whole, &["--format", "json"]));
    let estimated = json(&compared(&parts, &["--format", "json"]));
    for (exact, result) in
        (whole["results"].as_array().unwrap().iter()).zip(estimated["results"].as_array().unwrap())
    {
        assert_eq!(exact["policy"], result["policy"]);
        assert!(exact["estimates"].is_null(), "{exact}");
        let estimates = &result["estimates"];
        assert!(estimates["windows"].as_array().unwrap().len() >= 15);
        for level in ["l1_misses", "l2_misses"] {
            let of = &estimates[level];
            let [low, high] = ["low", "high"].map(|end| of[end].as_f64().expect("an interval"));
            let value = of["value"].as_f64().unwrap();
            assert!(low <= value && value <= high, "{of}");
            // The skipped start is in no estimate.
            let misses = exact[level].as_f64().unwrap() * estimates["accesses"].as_f64().unwrap()
                / whole["trace"]["accesses"].as_f64().unwrap();
            assert!(
                (low * 0.98..=high * 1.02).contains(&misses),
                "{misses} {of}"
            );
        }
    }
    let notes = estimated["notes"].to_string();
    assert!(
        notes.contains("windows of the program (8,000 accesses of every"),
        "{notes}"
    );

    let table = compared(&parts, &[]);
    assert!(
        table.contains("Student's intervals of 95 percent from"),
        "{table}"
    );
    let csv = compared(&parts, &["--format", "csv"]);
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .contains(",estimated_l2_misses_low,"),
        "{csv}"
    );
    // A longer warm-up leaves fewer accesses.
    let half = json(&compared(&parts, &["--format", "json", "--warm-up", "50%"]));
    let counted = |of: &Value| of["results"][0]["estimates"]["windows"][1]["accesses"].as_u64();
    assert!(counted(&half).unwrap() < counted(&estimated).unwrap());

    // Other commands say what they count, or refuse.
    let exported = folder.join("parts.champsimtrace.xz").display().to_string();
    let output = run(&["export", "champsim", &parts, "-o", &exported]);
    succeeded(&output);
    assert!(
        stderr(&output).contains("only what was recorded counts"),
        "{}",
        stderr(&output)
    );
    assert!(refused(&run(&["reduce", &parts])).contains("windows"));

    let info = json(&succeeded(&run(&["info", &parts, "--format", "json"])));
    assert_eq!(info["header"]["windows"]["every"], 40_000);
    let all = info["windows"]["programs"][0]["accesses"].as_u64();
    assert_eq!(all, whole["trace"]["accesses"].as_u64());
}

#[test]
fn one_window_has_no_interval_and_says_so() {
    let folder = folder("window");
    let Some(program) = program(&folder) else {
        return;
    };
    let trace = recorded(
        &folder,
        "one.bl",
        &program,
        &["--skip", "100k instructions"],
    );
    let answer = json(&compared(&trace, &["--format", "json"]));
    let estimate = &answer["results"][0]["estimates"]["l2_misses"];
    assert!(estimate["value"].as_f64().unwrap() > 0.0 && estimate["low"].is_null());
    assert!(
        answer["notes"].to_string().contains("no interval"),
        "{answer}"
    );
    assert!(compared(&trace, &[]).contains("no intervals"));
    let limited = compared(&trace, &["--memory", "64M"]);
    assert!(
        limited.contains("counts are of the windows alone"),
        "{limited}"
    );
}

#[test]
fn windows_that_cannot_be_recorded_are_refused() {
    let folder = folder("windows-refused");
    let trace = folder.join("x.bl").display().to_string();
    let says = |arguments: &[&str], words: &str| {
        let line = refused(&run(&[&["record", "-o", &trace], arguments].concat()));
        assert!(line.contains(words), "{line}");
        assert!(!Path::new(&trace).exists(), "{arguments:?}");
    };
    says(
        &["--attach", "1"],
        "Valgrind and QEMU run a program from its start",
    );
    says(
        &["--engine", "qemu", "--skip", "1M", "true"],
        "--engine valgrind",
    );
    says(&["--every", "1M", "true"], "--every needs --for");
    says(&["--for", "1M", "--every", "1s", "true"], "one unit");
    let output = run(&["record", "-o", &trace, "--skip", "1 parsec", "true"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("write a number of accesses"));
    assert!(succeeded(&run(&["record", "--help"])).contains("--every"));
}
