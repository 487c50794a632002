//! Lines of results fit the width that COLUMNS asks for, and progress is shown on a terminal.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use broadleaf_study::catalogues::explained_names;
use unicode_width::UnicodeWidthStr;

use crate::support::{binary, broadleaf, file, folder, golden, succeeded};

/// The longest line that a reader asked for.
const WIDTH: usize = 80;

/// A width at which nothing is wrapped.
const WIDE: usize = 10_000;

/// Returns the result of a command in a folder, with an output of `width` columns.
fn printed(folder: &Path, arguments: &[&str], width: usize) -> String {
    let output = broadleaf(arguments)
        .current_dir(folder)
        .env("COLUMNS", width.to_string())
        .output();
    succeeded(&output.expect("the command was built for this test"))
}

/// Asserts that a command prints the same words in any width: none is broken. Dots replace the end
/// of a cut text.
fn words_are_whole(folder: &Path, arguments: &[&str]) {
    let wide = printed(folder, arguments, WIDE);
    let known: BTreeSet<&str> = wide.split_whitespace().collect();
    let narrow = printed(folder, arguments, WIDTH);
    for word in narrow.split_whitespace() {
        let is_rule = word.chars().all(|letter| letter == '-');
        let is_whole = is_rule || word.ends_with("...") || known.contains(word);
        assert!(is_whole, "{arguments:?}: {word} in\n{narrow}");
    }
}

/// Asserts that the lines of a command's output have at most [`WIDTH`] columns of a terminal. A
/// path is one word, and is never broken.
fn fits(arguments: &[&str], text: &str) {
    assert!(!text.is_empty(), "{arguments:?}");
    for line in text.lines() {
        let is_one_word = !line.trim().contains(' ');
        let width = line.width();
        assert!(
            width <= WIDTH || is_one_word,
            "{arguments:?}: {width}: {line}"
        );
    }
}

/// Asserts that a command in a folder prints lines of at most [`WIDTH`] columns.
fn is_narrow(folder: &Path, arguments: &[&str]) {
    fits(arguments, &printed(folder, arguments, WIDTH));
}

#[test]
fn lines_fit_eighty_columns() {
    let own = std::process::id().to_string();
    for trace in golden() {
        // The checkout may lie anywhere: commands name the trace alone, and are never broken.
        let folder = trace.parent().expect("the trace lies in a folder");
        let trace = trace.file_name().and_then(|name| name.to_str());
        let trace = trace.expect("the name is UTF-8");
        for arguments in [
            &["compare", trace][..],
            &[
                "compare",
                trace,
                "--machine",
                "skylake,romer1995",
                "--policy",
                "4k,navarro",
            ],
            &[
                "compare",
                trace,
                "--machine",
                "skylake,zen4,neoverse-n1,golden-cove",
            ],
            &["compare", trace, "--memory", "80%", "--policy", "4k,greedy"],
            &["advise", trace],
            &["info", trace],
        ] {
            is_narrow(folder, arguments);
        }
        words_are_whole(folder, &["info", trace]);
        is_narrow(folder, &["report", &own]);
    }
}

#[test]
fn lines_about_live_processes_fit_eighty_columns() {
    let folder = folder("widths-live");
    let own = std::fs::read_to_string("/proc/self/comm").expect("the process has a name");
    let rules = format!(
        "[[rule]]\ncommand = \"{}\"\npolicy = \"pop-461\"\n",
        own.trim_end()
    );
    file(&folder, "rules.toml", rules.as_bytes());
    is_narrow(&folder, &["service", "rules.toml", "--once"]);
    is_narrow(&folder, &["run", "--baseline", "1", "--", "true"]);
    for (name, dry) in [("run.journal", false), ("dry.journal", true)] {
        file(&folder, name, &crate::replay::recorded("pop-256", dry));
        is_narrow(&folder, &["replay", name, "--policy", "4k,pop-480"]);
    }
}

/// Wide characters take two columns.
#[test]
fn lines_with_wide_characters_fit_eighty_columns() {
    let folder = folder("widths-wide");
    let name = "大きなページの比較.lackey";
    file(&folder, name, crate::support::lackey(700).as_bytes());
    for arguments in [
        &["compare", name][..],
        &["compare", name, "--machine", "skylake,zen4,neoverse-n1"],
        &["advise", name],
        &["info", name],
    ] {
        is_narrow(&folder, arguments);
    }
    words_are_whole(&folder, &["info", name]);
}

#[test]
fn lists_and_explanations_fit_eighty_columns() {
    let folder = folder("widths-lists");
    is_narrow(&folder, &["list"]);
    for arguments in [&["list"][..], &["explain", "linux"], &["explain", "zen4"]] {
        words_are_whole(&folder, arguments);
    }
    for name in explained_names() {
        is_narrow(&folder, &["explain", name]);
    }
    let expression = "promote if populated >= 50% and age < 1e6 and writable";
    is_narrow(&folder, &["explain", expression]);
    file(&folder, "sizes.toml", b"traces = [\"gzip.bl\"]\n");
    is_narrow(&folder, &["explain", "sizes.toml"]);
}

/// The comparison takes a second or more, since each access is a visit of its own.
#[test]
fn a_terminal_has_a_bar_with_a_rate_and_the_time_left() {
    let folder = folder("progress");
    let visits = (0..300_000u64).map(|at| at.wrapping_mul(0x9e37_79b9) >> 4 & 0xffff);
    let lines: String = visits.map(|page| format!(" L {page:x}000,8\n")).collect();
    let trace = file(&folder, "x.lackey", lines.as_bytes());
    let command = format!(
        "'{}' compare '{trace}' --policy 4k,navarro --machine skylake,zen4 --no-cache",
        binary().display()
    );
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .output()
        .expect("script is a part of Debian's base system");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut bars = text.split('\r').filter(|line| line.contains("comparing "));
    let has_all = |line: &str| {
        [" accesses ", "/s ", " left"]
            .iter()
            .all(|part| line.contains(part))
    };
    assert!(bars.any(has_all), "{text}");
    assert!(text.contains("machine skylake"), "{text}");
}
