//! `export`: what comes out can be imported again, and the command has the manners of the others.

use std::fs;

use crate::support::programs::{Part, recording, stores};
use crate::support::{file, folder, lackey, names, refused, run, run_with, stderr, succeeded};
use broadleaf_trace::{Event, Visit};
use broadleaf_units::SpaceId;
use serde_json::Value;

/// Bytes of a record of ChampSim.
const RECORD: usize = 64;

fn results(trace: &str) -> Value {
    let arguments = ["compare", trace, "--policy", "4k", "--policy", "greedy"];
    let output = run(&[&arguments[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&succeeded(&output)).expect("the answer is JSON");
    json["results"].clone()
}

/// The same counts as the trace that was exported, since no access reaches into a second page.
#[test]
fn an_export_gives_the_same_results_as_its_trace() {
    let folder = folder("export");
    let text = file(&folder, "x.lackey", lackey(3000).as_bytes());
    succeeded(&run(&["import", "lackey", &text]));
    let trace = folder.join("x.bl").display().to_string();
    let expected = results(&trace);
    for (ending, arguments) in [
        ("champsimtrace", vec!["export", "champsim", &trace]),
        (
            "champsimtrace.xz",
            vec!["export", &trace, "--to", "champsim"],
        ),
        (
            "champsimtrace.gz",
            vec!["export", &trace, "--to", "champsim"],
        ),
        ("champsimtrace.zst", vec!["export", "champsim", &trace]),
    ] {
        let exported = folder.join(format!("x.{ending}")).display().to_string();
        let mut arguments = arguments;
        // Without -o the name is the trace's, with the format's ending.
        if ending != "champsimtrace" {
            arguments.extend(["-o", &exported]);
        }
        let output = run(&arguments);
        assert_eq!(succeeded(&output), "");
        let said = stderr(&output);
        assert!(said.contains(" references in "), "{said}");
        assert!(said.contains("first byte of their page"), "{said}");
        let again = folder.join("again.bl").display().to_string();
        let import = ["import", "champsim", &exported, "-o", &again, "--force"];
        succeeded(&run(&import));
        assert_eq!(results(&again), expected, "{ending}");
    }
    // A text is exported as a recording is.
    let from_text = folder.join("text.champsimtrace").display().to_string();
    succeeded(&run(&["export", "champsim", &text, "-o", &from_text]));
    let whole = fs::read(folder.join("x.champsimtrace")).unwrap();
    assert_eq!(fs::read(&from_text).unwrap(), whole);
    assert_eq!(whole.len() % RECORD, 0);
    // Through pipes.
    let piped = run_with(
        &["export", "champsim", "-", "-o", "-"],
        &fs::read(&trace).unwrap(),
    );
    assert!(piped.status.success(), "{}", stderr(&piped));
    assert_eq!(piped.stdout, whole);
}

#[test]
fn nothing_is_overwritten_and_nothing_half_is_left() {
    let folder = folder("export-manners");
    let text = file(&folder, "x.lackey", lackey(100).as_bytes());
    let out = file(&folder, "x.champsimtrace", b"precious");
    let line = refused(&run(&["export", "champsim", &text]));
    assert!(line.contains("exists"), "{line}");
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    let line = refused(&run(&["export", "champsim", &text, "-o", &text, "--force"]));
    assert!(line.contains("is read by this command"), "{line}");
    succeeded(&run(&["export", "champsim", &text, "--force"]));
    assert_ne!(fs::read(&out).unwrap(), b"precious");

    let bad = file(
        &folder,
        "bad.lackey",
        b"I  00401000,3\n L 1000,8\n L 2000;8\n",
    );
    let line = refused(&run(&["export", "champsim", &bad]));
    assert!(
        line.contains("line 3") && line.contains("only a whole trace"),
        "{line}"
    );
    let line = refused(&run_with(
        &["export", "champsim", "-"],
        b"I  00401000,3\n L 1000,8\n",
    ));
    assert!(line.contains("-o"), "{line}");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["bad.lackey", "x.champsimtrace", "x.lackey"]);
}

/// The size of a large export is on standard error before a byte is written. These exports are
/// refused soon after, because two address spaces follow.
#[test]
fn the_size_of_a_large_export_is_foretold() {
    let folder = folder("export-size");
    let switch = || Part::Event(Event::SpaceSwitch(SpaceId(1)));
    let trace = |loads: u32| {
        let many = Visit {
            unit: 7,
            loads,
            loads_before_store: loads,
            ..Visit::default()
        };
        let visits = Part::Visits(vec![many; 16]);
        recording(&[Part::Visits(stores([4096])), switch(), visits])
    };
    let export = ["export", "champsim"];
    for (loads, name, foretold) in [
        (1 << 20, "x.champsimtrace", Some("about 1.00 GiB")),
        (
            1 << 20,
            "x.champsimtrace.zst",
            Some("about 1.00 GiB before compression"),
        ),
        (1 << 19, "x.champsimtrace", None),
    ] {
        let trace = file(&folder, "x.bl", &trace(loads));
        let out = folder.join(name).display().to_string();
        let output = run(&[&export[..], &[&trace, "-o", &out]].concat());
        let said = stderr(&output);
        let lines: Vec<&str> = said.lines().collect();
        let expected = foretold.map(|about| format!("broadleaf: {out}: 16.8M accesses: {about}"));
        assert_eq!(lines.len(), 1 + usize::from(foretold.is_some()), "{said}");
        assert!(
            lines[lines.len() - 1].contains("several address spaces"),
            "{said}"
        );
        assert!(
            foretold.is_none() || lines[0] == expected.unwrap(),
            "{said}"
        );
    }
    // On standard output, the size is beside the records. The totals of a pipe are not known.
    let bytes = trace(1 << 20);
    let trace = file(&folder, "x.bl", &bytes);
    let output = run(&[&export[..], &[&trace, "-o", "-"]].concat());
    assert!(
        stderr(&output).contains("about 1.00 GiB\n"),
        "{}",
        stderr(&output)
    );
    let piped = run_with(&[&export[..], &["-", "-o", "-"]].concat(), &bytes);
    assert!(!stderr(&piped).contains("about"), "{}", stderr(&piped));
    assert_eq!(names(&folder), ["x.bl"]);
}

#[test]
fn several_processes_are_refused() {
    let folder = folder("export-children");
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/children.bl"
    );
    let out = folder.join("x").display().to_string();
    let line = refused(&run(&["export", "champsim", golden, "-o", &out]));
    assert!(line.contains("several address spaces"), "{line}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn unknown_formats_are_refused_with_the_known_ones() {
    for arguments in [
        &["export", "champsin", "x.bl"][..],
        &["export", "x.bl", "--to", "champsin"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("champsim"), "{}", stderr(&output));
    }
    let both = run(&["export", "champsim", "x.bl", "--to", "champsim"]);
    assert_eq!(both.status.code(), Some(2));
    let neither = run(&["export", "x.bl"]);
    assert_eq!(neither.status.code(), Some(2));
}
