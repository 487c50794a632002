//! `record --sites` and `advise`: the line of the source that made the hot structure.
//!
//! Each program has two structures, and an argument names the hot one. So no answer is right by
//! luck. A comment marks the line that makes each structure. The machine has small TLBs, so that
//! small structures exceed them.

#![allow(clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{broadleaf, folder, run, stderr, succeeded};

fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/sites/programs");
    programs.join(name)
}

/// The line of a source file with this mark, counted from 1.
fn marked(path: &Path, mark: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect("a source file");
    let at = text.lines().position(|line| {
        let line = line.trim_end().trim_end_matches("*/").trim_end();
        line.ends_with(mark)
    });
    1 + at.unwrap_or_else(|| panic!("{mark} marks no line")) as u64
}

/// Runs a compiler. Returns false and says so if it is not installed.
fn compiled(compiler: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(compiler);
    command.args(arguments).env("GOFLAGS", "-mod=mod");
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => panic!("{compiler}: {}", stderr(&output)),
        Err(_) => {
            eprintln!("skipped: {compiler} is not installed");
            false
        }
    }
}

/// The file of the machine, whose TLBs cover 1.5 MiB.
fn machine() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/sites");
    text(&folder.join("small.toml")).to_owned()
}

/// Runs `advise` with more arguments.
fn advise(trace: &Path, more: &[&str]) -> Output {
    let machine = machine();
    let asked = ["advise", text(trace), "--machine", &machine, "--no-cache"];
    run(&[&asked[..], more].concat())
}

/// The advice for a trace.
fn advice(trace: &Path) -> Value {
    let output = advise(trace, &["--format", "json"]);
    serde_json::from_str(&succeeded(&output)).expect("JSON")
}

/// Returns true if the advice has the command that records call stacks.
fn suggests_sites(advice: &Value) -> bool {
    let commands = advice["advice"]["commands"].as_array().expect("commands");
    let mut commands = commands.iter().filter_map(|one| one["command"].as_str());
    commands.any(|command| command.starts_with("broadleaf record --sites"))
}

/// Records a command with its sites, and returns the advice. `None` if there is no recorder.
fn advised(folder: &Path, command: &[&str]) -> Option<Value> {
    let trace = folder.join("x.bl");
    let first = ["record", "--sites", "--force", "-o", text(&trace), "--"];
    let output = broadleaf(&[&first, command].concat())
        .output()
        .expect("it was built");
    if stderr(&output).contains("has no recorder") {
        eprintln!("skipped: {}", stderr(&output));
        return None;
    }
    succeeded(&output);
    Some(advice(&trace))
}

/// The best site of a recording: the allocator, the file's name and the line.
fn best(advice: &Value) -> (String, String, u64) {
    named(&advice["sites"][0])
}

/// The allocator, the file's name and the line of a site.
fn named(site: &Value) -> (String, String, u64) {
    let text = |key: &str| site[key].as_str().unwrap_or_default().to_owned();
    let file = text("file")
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    (text("allocator"), file, site["line"].as_u64().unwrap_or(0))
}

/// Asserts that the best site of `command` is the marked line, for each of the two structures.
fn names_the_hot_line(
    folder: &Path,
    name: &str,
    command: &[&str],
    allocators: [&str; 2],
    of: &str,
) {
    let path = source(name);
    for (hot, allocator) in ["first", "second"].into_iter().zip(allocators) {
        let Some(advice) = advised(folder, &[command, &[hot]].concat()) else {
            return;
        };
        let line = marked(&path, &format!("{of}{hot}"));
        let wanted = (allocator.to_owned(), name.to_owned(), line);
        assert_eq!(best(&advice), wanted, "{hot}: {:#}", advice["sites"][0]);
        assert!(!suggests_sites(&advice), "{advice:#}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn c_names_malloc_mmap_and_variables() {
    let folder = folder("sites-c");
    let (program, path) = (folder.join("heap"), source("heap.c"));
    if !compiled("gcc", &["-g", "-O1", "-o", text(&program), text(&path)]) {
        return;
    }
    for (kind, allocator) in [
        ("malloc", "malloc"),
        ("reused", "malloc"),
        ("bss", "static data"),
    ] {
        let mark = format!("{kind} ");
        names_the_hot_line(
            &folder,
            "heap.c",
            &[text(&program), kind],
            [allocator; 2],
            &mark,
        );
    }
    // One function maps both, and the table separates its callers.
    for hot in ["first", "second"] {
        let Some(advice) = advised(&folder, &[text(&program), "mmap", hot]) else {
            return;
        };
        let best = &advice["sites"][0];
        assert_eq!(
            (&best["allocator"], &best["function"]),
            (&"mmap".into(), &"mapped".into())
        );
        let line = marked(&path, &format!("mmap {hot}"));
        assert_eq!(best["called_from"]["line"], line);
        let table = succeeded(&advise(&folder.join("x.bl"), &[]));
        let named = format!("called from main ({}:{line})", text(&path));
        assert!(table.contains(&named), "{table}");
    }
}

#[test]
fn variables_of_a_program_without_debug_information_have_their_names() {
    let folder = folder("sites-symbols");
    let (program, path) = (folder.join("heap"), source("heap.c"));
    if !compiled("gcc", &["-O1", "-o", text(&program), text(&path)]) {
        return;
    }
    for hot in ["first", "second"] {
        let Some(advice) = advised(&folder, &[text(&program), "bss", hot]) else {
            return;
        };
        assert_eq!(advice["sites"][0]["function"], format!("bss_{hot}"));
        assert_eq!(advice["sites"][0]["file"], text(&program));
        let Some(advice) = advised(&folder, &[text(&program), "malloc", hot]) else {
            return;
        };
        assert_eq!(advice["sites"][0]["function"], "main");
    }
}

/// Without `--sites`, the program's file names its variables, as long as it is the same.
#[test]
fn a_recording_without_sites_names_the_variables_of_an_unchanged_program() {
    let folder = folder("sites-without");
    let (program, path) = (folder.join("heap"), source("heap.c"));
    if !compiled("gcc", &["-g", "-O1", "-o", text(&program), text(&path)]) {
        return;
    }
    let trace = folder.join("x.bl");
    let line = [
        "record",
        "-o",
        text(&trace),
        "--",
        text(&program),
        "bss",
        "second",
    ];
    let output = run(&line);
    if stderr(&output).contains("has no recorder") {
        return;
    }
    succeeded(&output);
    let named = advice(&trace);
    assert_eq!(named["sites"][0]["function"], "bss_second");
    assert_eq!(named["sites"][0]["line"], marked(&path, "bss second"));
    assert!(suggests_sites(&named), "variables have no call stacks");
    let none = advise(&trace, &["--format", "folded"]);
    succeeded(&none);
    std::fs::write(&program, "changed").expect("it is ours");
    assert_eq!(advice(&trace)["sites"], Value::Null);
    let none = advise(&trace, &["--format", "folded"]);
    assert!(stderr(&none).contains("--sites"), "{}", stderr(&none));
}

#[test]
fn cpp_names_the_line_below_the_library() {
    let folder = folder("sites-cpp");
    let (program, path) = (folder.join("tables"), source("tables.cc"));
    if !compiled("g++", &["-g", "-O2", "-o", text(&program), text(&path)]) {
        return;
    }
    names_the_hot_line(
        &folder,
        "tables.cc",
        &[text(&program)],
        ["operator new"; 2],
        " ",
    );
}

#[test]
fn rust_names_the_line_below_the_library() {
    let folder = folder("sites-rust");
    let (program, path) = (folder.join("tables"), source("tables.rs"));
    let optimised = ["-g", "-C", "opt-level=2", "-o", text(&program), text(&path)];
    if !compiled("rustc", &optimised) {
        return;
    }
    names_the_hot_line(&folder, "tables.rs", &[text(&program)], ["malloc"; 2], " ");
}

#[test]
fn go_names_the_line_below_the_run_time() {
    let folder = folder("sites-go");
    let (program, path) = (folder.join("tables"), source("tables.go"));
    if !compiled("go", &["build", "-o", text(&program), text(&path)]) {
        return;
    }
    names_the_hot_line(
        &folder,
        "tables.go",
        &[text(&program)],
        ["Go's mallocgc"; 2],
        " ",
    );
}

#[test]
fn python_names_the_line_of_the_script() {
    let folder = folder("sites-python");
    let path = source("tables.py");
    let python = "/usr/bin/python3.11"; // other versions have native frames only
    if !Path::new(python).exists() {
        eprintln!("skipped: {python} is not installed");
        return;
    }
    names_the_hot_line(
        &folder,
        "tables.py",
        &[python, "-S", "-E", text(&path)],
        ["malloc"; 2],
        " ",
    );
}

/// The advice for the program in Java, by its hot table. Its start takes most of the time, so two
/// tests share the recordings.
fn java() -> Option<&'static [Value; 2]> {
    static ADVICE: OnceLock<Option<[Value; 2]>> = OnceLock::new();
    let recorded = || -> Option<[Value; 2]> {
        let folder = folder("sites-java");
        let program = source("Tables.java");
        if !compiled("javac", &["-g", "-d", text(&folder), text(&program)]) {
            return None;
        }
        // A JVM that only interprets starts quickly. The archived heap of classes needs G1.
        let start = ["java", "-Xint", "-Xmx64m", "-XX:+UseG1GC"];
        let command = [&start[..], &["-cp", text(&folder), "Tables"]].concat();
        let of = |hot| advised(&folder, &[&command[..], &[hot]].concat());
        Some([of("first")?, of("second")?])
    };
    ADVICE.get_or_init(recorded).as_ref()
}

#[test]
fn java_names_the_line_of_a_large_array() {
    let path = source("Tables.java");
    for (advice, hot) in java().into_iter().flatten().zip(["first", "second"]) {
        let line = marked(&path, &format!(" {hot}"));
        let wanted = ("new (Java)".to_owned(), "Tables.java".to_owned(), line);
        let sites = advice["sites"].as_array().expect("sites");
        // The small objects of the second recording are the best of all.
        let mut arrays = sites
            .iter()
            .filter(|site| site["allocator"] != "JVM memory");
        let best = arrays.next().map(named);
        assert_eq!(best, Some(wanted), "{hot}: {sites:#?}");
    }
}

#[test]
fn stacks_are_folded_and_drawn() {
    let folder = folder("sites-folded");
    let (program, path) = (folder.join("heap"), source("heap.c"));
    if !compiled("gcc", &["-g", "-O1", "-o", text(&program), text(&path)]) {
        return;
    }
    if advised(&folder, &[text(&program), "malloc", "second"]).is_none() {
        return;
    }
    let trace = folder.join("x.bl");
    let stacks = succeeded(&advise(&trace, &["--format", "folded"]));
    let first = stacks.lines().next().expect("a stack");
    let line = marked(&path, "malloc second");
    assert!(
        first.contains(&format!("main (heap.c:{line});malloc ")),
        "{stacks}"
    );
    // Each event of perf is one of the stacks: frames from the inside, with the count in the head.
    let events = succeeded(&advise(&trace, &["--format", "perf"]));
    let folded: Vec<String> = events.split_terminator("\n\n").map(folded_event).collect();
    assert_eq!(folded, stacks.lines().collect::<Vec<_>>(), "{events}");
    assert!(events.starts_with("heap  "), "{events}");
    let svg = folder.join("x.svg");
    succeeded(&advise(
        &trace,
        &["--format", "flamegraph", "-o", text(&svg)],
    ));
    let svg = std::fs::read_to_string(svg).expect("a picture");
    assert!(svg.contains(&format!("main (heap.c:{line})")), "{svg}");
}

/// Folds an event of `perf script`, as stackcollapse-perf.pl does.
fn folded_event(event: &str) -> String {
    let (head, frames) = event.split_once('\n').expect("a head");
    let count = head.split_whitespace().rev().nth(1).expect("a count");
    let frames = frames.lines().rev().map(|line| {
        let (_, symbol) = line.trim_start().split_once(' ').expect("an address");
        symbol.trim_end_matches(" ([unknown])")
    });
    format!("{} {count}", frames.collect::<Vec<_>>().join(";"))
}

/// Small objects of Python lie in arenas, which the interpreter maps.
#[test]
fn small_objects_of_python_are_in_its_arenas() {
    let folder = folder("sites-arena");
    let python = "/usr/bin/python3.11"; // other versions have native frames only
    if !Path::new(python).exists() {
        eprintln!("skipped: {python} is not installed");
        return;
    }
    let Some(advice) = advised(&folder, &[python, "-S", "-E", text(&source("objects.py"))]) else {
        return;
    };
    // Each arena may have stacks of its own, so that none of them alone need be the best.
    let mut gained: BTreeMap<&str, i64> = BTreeMap::new();
    for site in advice["sites"].as_array().expect("sites") {
        let allocator = site["allocator"].as_str().expect("a name");
        *gained.entry(allocator).or_default() += site["cycles_gained"].as_i64().expect("cycles");
    }
    let best = gained.iter().max_by_key(|(_, gained)| **gained);
    assert_eq!(
        best.map(|(name, _)| *name),
        Some("Python arena"),
        "{gained:?}"
    );
}

/// Small objects of Java lie in its heap, which has one row.
#[test]
fn small_objects_of_java_are_in_its_memory() {
    let Some([_, advice]) = java() else {
        return;
    };
    assert_eq!(best(advice).0, "JVM memory", "{:#}", advice["sites"][0]);
    let sites = advice["sites"].as_array().expect("sites").iter();
    let rows = sites.filter(|site| site["allocator"] == "JVM memory");
    assert_eq!(rows.count(), 1, "{:#}", advice["sites"]);
}

#[test]
fn a_trace_without_sites_has_no_stacks() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/blocks.bl");
    for format in ["folded", "flamegraph", "perf"] {
        let output = run(&["advise", text(&golden), "--format", format]);
        assert!(!output.status.success());
        assert!(stderr(&output).contains("--sites"), "{}", stderr(&output));
    }
}
