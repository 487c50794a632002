//! Every figure of a built-in machine names its source, or says that it is chosen.

use broadleaf_machine::{machine, machine_names, machine_text};

/// Keys whose value is a figure. So is every line of `[walk-cycles]`.
const FIGURES: &[&str] = &[
    "entries",
    "ways",
    "index",
    "replacement",
    "probes",
    "preload",
    "wired",
    "alternates",
    "walk-entries",
    "block",
    "models",
    "parts",
    "size",
    "line",
    "latency",
    "banks",
    "bank-cycles",
    "caches",
    "count",
    "width",
    "window",
    "walkers",
];

/// The lines with figures, each with the comments that belong to it: the one at its end, and those
/// of the lines above.
fn figures(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let (mut above, mut in_costs) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            above += comment;
            continue;
        }
        if line.starts_with('[') {
            in_costs = line == "[walk-cycles]";
        }
        let key = line.split_once('=').map(|(key, _)| key.trim());
        if key.is_some_and(|key| in_costs || FIGURES.contains(&key)) {
            let comment = line.split_once('#').map_or("", |(_, comment)| comment);
            found.push((line, format!("{above} {comment}")));
        }
        // A comment above costs is about all of them.
        if !in_costs || line.is_empty() || line.starts_with('[') {
            above.clear();
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
}

/// The names in a machine's source, in lower case: capitalised words, numbers, and the first word
/// of each part.
fn names(source: &str) -> Vec<String> {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let capitalised = words(source).filter(is_name);
    let first = source.split("; ").filter_map(|part| words(part).next());
    capitalised.chain(first).map(str::to_lowercase).collect()
}

/// Returns true if a comment names a part of the source, or says that the figure is chosen.
fn is_sourced(comment: &str, source: &str) -> bool {
    let (comment, names) = (comment.to_lowercase(), names(source));
    let unmeasured = comment.contains("chosen") || comment.contains("not measured");
    let named = words(&comment).any(|word| names.iter().any(|name| name == word));
    unmeasured || named
}

#[test]
fn every_figure_names_its_source_or_is_chosen() {
    for name in machine_names() {
        let text = machine_text(name).expect("a machine");
        let source = machine(name).expect("a machine").source;
        let found = figures(text);
        assert!(found.len() >= 4, "{name}: {found:?}");
        let is_wrong = |(_, comment): &&(&str, String)| !is_sourced(comment, &source);
        let wrong: Vec<_> = found.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

#[test]
fn a_figure_without_a_source_is_found() {
    let text =
        "[[tlb]]\nentries = 32 # Zhu 2018\nways = 4\n[walk-cycles]\n# chosen\n4k = 35\n2m = 21";
    let sourced: Vec<bool> = figures(text)
        .iter()
        .map(|(_, comment)| is_sourced(comment, "Zhu 2018, table 2.1"))
        .collect();
    assert_eq!(sourced, [true, false, true, true]);
    assert!(!is_sourced("the largest", "Zhu 2018, the largest table"));
}
