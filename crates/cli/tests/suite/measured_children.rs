//! `record --measure` of programs that start others.

use std::path::Path;

use serde_json::Value;

use crate::support::live::{can_govern, is_installed};
use crate::support::{folder, run, stderr, succeeded};

const LACKS: &str = "the measured times contain processes that the trace lacks";

/// A program for Perl that fills a table.
const PERL: &str = "for (1 .. 3000) { $h{$_ * 7919 % 600011} = $_ }";

/// Records with these options, and returns the messages and the notes of a comparison.
fn recorded(trace: &Path, options: &[&str], command: &[&str]) -> Option<(String, Vec<Value>)> {
    let trace = trace.to_str().expect("UTF-8");
    let record = ["record", "--force", "-o", trace];
    let output = run(&[&record[..], options, &["--"], command].concat());
    let said = stderr(&output);
    if said.contains("has no recorder") {
        return None;
    }
    succeeded(&output);
    let compare = [
        "compare",
        trace,
        "--policy",
        "4k,greedy",
        "--format",
        "json",
    ];
    let answer: Value = serde_json::from_str(&succeeded(&run(&compare))).expect("JSON");
    let notes = answer["notes"].as_array().expect("notes").clone();
    Some((said, notes))
}

#[test]
fn measured_times_of_unrecorded_children_are_marked() {
    if !can_govern() || !is_installed("perl") {
        return;
    }
    let folder = folder("measured-children");
    let trace = folder.join("x.bl");
    let script = format!("perl -e '{PERL}'; true");
    let parent = ["sh", "-c", &script];
    let alone = ["perl", "-e", PERL];
    for (options, command, lacks) in [
        (&["--measure", "1"][..], &parent, true),
        (&["--measure", "1", "--follow-children"], &parent, false),
        (&["--measure", "1"], &alone, false),
        (&[], &parent, false),
    ] {
        let Some((said, notes)) = recorded(&trace, options, command) else {
            return;
        };
        assert_eq!(said.contains(LACKS), lacks, "{options:?}: {said}");
        let is_it = |note: &Value| note.as_str().is_some_and(|note| note.starts_with(LACKS));
        assert_eq!(notes.iter().any(is_it), lacks, "{options:?}: {notes:?}");
        let trace = trace.to_str().expect("UTF-8");
        let info = succeeded(&run(&["info", trace, "--format", "json"]));
        let info: Value = serde_json::from_str(&info).expect("JSON");
        let measured = &info["header"]["measured"];
        if options.is_empty() {
            assert!(measured.is_null(), "{measured}");
        } else {
            assert_eq!(measured["rounds"].as_array().map(Vec::len), Some(1));
            let copy = &measured["fault_nanoseconds"]["copy_into_huge_page"];
            assert!(
                copy.as_u64().is_some_and(|nanos| nanos > 10_000),
                "{measured}"
            );
        }
        for command in ["info", "advise"] {
            let text = succeeded(&run(&[command, trace])).replace('\n', " ");
            assert_eq!(text.contains(LACKS), lacks, "{command} {options:?}: {text}");
        }
    }
}
