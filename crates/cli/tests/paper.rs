//! `paper`: every experiment prints, and its directions are the paper's.

mod support;

use std::fs;

use support::{folder, refused, run, stderr, succeeded};

#[test]
fn the_directions_of_navarro_are_seen_again() {
    let folder = folder("paper-navarro");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let arguments = ["paper", "navarro2002", "--tiny", "-o", name];
    let output = run(&arguments);
    let text = succeeded(&output);
    assert_eq!(stderr(&output), "", "no bar on a pipe");
    assert!(!text.contains("does not agree"), "{text}");
    for (table, heads) in [
        ("best-case", "program,stands for,slides,"),
        ("page-sizes", "program,slides: best,64k,512k,4m,all,"),
        ("sustained", "run,slides,cache: extents,"),
        ("concurrent", "daemon,slides: satisfied,requests,satisfied,"),
        ("adversaries", "program,slides: slowdown,slowdown,"),
        (
            "demotion",
            "dirty superpages,slides,demotions,pages to write,",
        ),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert!(csv.starts_with(heads) && csv.lines().count() > 2, "{csv}");
    }
    let whole = fs::read_to_string(out.join("navarro2002.txt")).expect("all of it");
    assert_eq!(whole, text);

    // What stands there stays, unless told otherwise; and the same comes out again.
    let line = refused(&run(&arguments));
    assert!(line.contains("best-case.csv"), "{line}");
    let again = succeeded(&run(&[&arguments[..], &["--force"]].concat()));
    assert_eq!(again, text);
}

#[test]
fn other_processors_gain_less() {
    let mean = |cycles: &str| {
        let arguments = [
            "paper",
            "navarro2002",
            "--tiny",
            "--cycles-per-access",
            cycles,
        ];
        let text = succeeded(&run(&arguments));
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with("mean"));
        let last = line.and_then(|line| line.split_whitespace().last());
        let figure = last.and_then(|cell| cell.strip_suffix('x'));
        figure
            .and_then(|figure| figure.parse::<f64>().ok())
            .expect("a mean")
    };
    assert!(mean("15") < mean("1.5"));
}

#[test]
fn unknown_papers_are_answered_with_those_that_there_are() {
    for name in ["navaro2002", "romer1995"] {
        let line = refused(&run(&["paper", name]));
        assert!(
            line.contains("navarro2002") && line.contains(name),
            "{line}"
        );
    }
    let output = run(&["paper", "navarro2002", "--cycles-per-access", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("0.1 to 1000"));
}
