//! Lines of results fit the width that COLUMNS asks for, and progress is shown on a terminal.

use std::path::Path;
use std::process::Command;

use crate::support::{binary, broadleaf, file, folder, golden, succeeded};

/// The longest line that a reader asked for.
const WIDTH: usize = 80;

/// Returns the result of a command in a folder, with an output of [`WIDTH`] columns.
fn narrow(folder: &Path, arguments: &[&str]) -> String {
    let output = broadleaf(arguments)
        .current_dir(folder)
        .env("COLUMNS", WIDTH.to_string())
        .output();
    succeeded(&output.expect("the command was built for this test"))
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
            &["report", &own],
        ] {
            let text = narrow(folder, arguments);
            for line in text.lines() {
                // A path is one word, and is never broken.
                let is_one_word = !line.trim().contains(' ');
                let width = line.chars().count();
                assert!(
                    width <= WIDTH || is_one_word,
                    "{arguments:?}: {width}: {line}"
                );
            }
        }
    }
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
