//! Foreign traces that commands read without an import.

use crate::support::{
    broadleaf, fed, file, folder, lackey, refused, run, run_with, stderr, succeeded,
};
use serde_json::Value;

/// The counts of some policies, without the name and the hash of the trace.
fn results(output: &std::process::Output) -> Value {
    let json: Value = serde_json::from_str(&succeeded(output)).expect("the answer is JSON");
    json["results"].clone()
}

fn compared(trace: &str) -> std::process::Output {
    run(&compare(trace))
}

fn compare(trace: &str) -> [&str; 8] {
    [
        "compare", trace, "--policy", "4k", "--policy", "pop-64", "--format", "json",
    ]
}

/// Each format that is written is read again, by its name or by its ending, from a file and from a
/// pipe, with the counts of the trace.
#[test]
fn every_export_is_compared_as_its_trace_is() {
    let folder = folder("direct");
    let text = file(&folder, "x.lackey", lackey(3000).as_bytes());
    succeeded(&run(&["import", "lackey", &text]));
    let trace = folder.join("x.bl").display().to_string();
    let expected = results(&compared(&trace));
    for (format, ending) in [
        ("champsim", "champsimtrace.xz"),
        ("csv", "csv"),
        ("csv", "csv.gz"),
        ("lackey", "text.zst"),
    ] {
        let exported = folder.join(format!("out.{ending}")).display().to_string();
        succeeded(&run(&["export", format, &trace, "-o", &exported]));
        let named = format!("{format}:{exported}");
        let output = compared(&named);
        assert_eq!(results(&output), expected, "{named}");
        let said = stderr(&output);
        assert!(
            said.contains(&format!("broadleaf import {format} ")),
            "{said}"
        );
        assert_eq!(said.matches("temporary recording").count(), 1, "{said}");
        if format != "lackey" {
            assert_eq!(results(&compared(&exported)), expected, "{exported}");
        }
        let bytes = std::fs::read(&exported).unwrap();
        let piped = run_with(&compare(&format!("{format}:-")), &bytes);
        assert_eq!(results(&piped), expected, "{format} from a pipe");
        succeeded(&run(&["info", &named]));
    }
}

/// A sweep and a reduced form know a foreign trace again.
#[test]
fn foreign_traces_are_swept_and_reduced() {
    let folder = folder("direct-sweep");
    let text = file(&folder, "x.lackey", lackey(3000).as_bytes());
    succeeded(&run(&["import", "lackey", &text]));
    let trace = folder.join("x.bl").display().to_string();
    let exported = folder.join("x.csv").display().to_string();
    succeeded(&run(&["export", "csv", &trace, "-o", &exported]));
    let experiment = "traces = [\"x.csv\", \"csv:x.csv\", \"champsim:y\"]\npolicies = \"pop-64\"\n\
        machines = [\"skylake\", \"zen4\"]\n";
    let path = file(&folder, "exp.toml", experiment.as_bytes());
    let out = folder.join("out").display().to_string();
    let asked = ["sweep", &path, "-o", &out];
    // A mistyped name is refused before anything is computed.
    assert!(refused(&run(&asked)).contains("champsim:y: the experiment names this trace"));
    let path = file(
        &folder,
        "exp.toml",
        experiment.replace(", \"champsim:y\"", "").as_bytes(),
    );
    assert!(succeeded(&run(&["explain", &path])).contains("4 cells of 2 traces"));
    for known in [0, 2] {
        let output = run(&asked);
        succeeded(&output);
        let computed = 2 - known;
        let said = format!("2 cells: {computed} computed, {known} known before");
        assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    }
    let reduced = folder.join("reduced").display().to_string();
    let output = run(&["reduce", &exported, "-o", &reduced]);
    succeeded(&output);
    assert!(stderr(&output).contains(&format!("next: broadleaf compare {reduced}")));
    let counts = |trace: &str| results(&compared(trace))[1]["walk_cycles"].clone();
    assert_eq!(counts(&reduced), counts(&trace));
}

/// Machines with TLBs of instructions or with caches have the fetches and the lines of a foreign
/// trace, as if it had been imported with them.
#[test]
fn machines_that_follow_instructions_have_them() {
    let folder = folder("direct-fetches");
    let text = file(&folder, "x.lackey", lackey(3000).as_bytes());
    let whole = ["--grain", "line", "--instructions"];
    let trace = folder.join("x.bl").display().to_string();
    let import = ["import", "lackey", &text, "-o", &trace];
    succeeded(&run(&[&import[..], &whole[..]].concat()));
    let exported = folder.join("out.champsimtrace.xz").display().to_string();
    succeeded(&run(&["export", "champsim", &trace, "-o", &exported]));
    let imported = folder.join("again.bl").display().to_string();
    let import = ["import", "champsim", &exported, "-o", &imported];
    succeeded(&run(&[&import[..], &whole[..]].concat()));
    for machines in ["skylake-instructions", "skylake,chen2014-1core"] {
        let on = |trace| run(&[&compare(trace)[..], &["--machine", machines]].concat());
        let output = on(&exported);
        assert_eq!(results(&output), results(&on(&imported)), "{machines}");
        assert!(stderr(&output).contains("--grain line --instructions"));
    }
}

#[test]
fn a_text_may_go_to_a_pipe() {
    let folder = folder("direct-pipe");
    let text = file(&folder, "x.lackey", lackey(50).as_bytes());
    let rows = succeeded(&run(&["export", "csv", &text, "-o", "-"]));
    assert!(rows.starts_with("kind,address\n"), "{rows}");
    let output = fed(&mut broadleaf(&compare("csv:-")), rows.as_bytes());
    results(&output);
}

#[test]
fn what_is_wrong_has_its_place() {
    let folder = folder("direct-wrong");
    let damaged = file(&folder, "x.din", b"0 1000\n9 2000\n");
    let line = refused(&compared(&damaged));
    assert!(line.contains("line 2 (at byte 7)"), "{line}");
    let line = refused(&compared("dinero:missing.din"));
    assert!(
        line.contains("missing.din") && line.contains("No such file"),
        "{line}"
    );
    // A name of no format is the name of a file.
    let line = refused(&compared("dynero:missing.din"));
    assert!(line.contains("dynero:missing.din"), "{line}");
}

/// A memory sample of perf says in each answer that it is one of many.
#[test]
fn samples_are_marked_in_answers() {
    let folder = folder("direct-samples");
    let sample = " 1 cpu/mem-loads/P: 7f1234567000 401000\n 1 cpu/mem-stores/P: 601000 401004\n";
    let path = file(&folder, "x.txt", sample.as_bytes());
    let output = run(&["info", &format!("perf:{path}")]);
    let said = succeeded(&output);
    assert!(
        said.contains("each reference is a sample, one of many"),
        "{said}"
    );
    let table = succeeded(&run(&[
        "compare",
        &format!("perf:{path}"),
        "--policy",
        "4k",
    ]));
    assert!(table.contains("one of many"), "{table}");
    let recording = folder.join("x.bl");
    let recording = recording.to_str().expect("the path is UTF-8");
    succeeded(&run(&["import", "perf", &path, "-o", recording]));
    for trace in [&*format!("perf:{path}"), recording] {
        let ask = |format| {
            let asked = ["--policy", "4k,greedy", "--format", format];
            succeeded(&run(&[&["compare", trace], &asked[..]].concat()))
        };
        let table = ask("table");
        assert!(
            table.contains("Run time: no estimate. The trace"),
            "{table}"
        );
        assert!(!table.contains("estimate from a table"), "{table}");
        let answer: serde_json::Value = serde_json::from_str(&ask("json")).expect("JSON");
        assert_eq!(answer["trace"]["samples"], true);
        assert!(answer["results"][1]["run_time"].is_null(), "{answer}");
        let csv = ask("csv");
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].ends_with(",samples"), "{csv}");
        assert!(
            lines[1..].iter().all(|line| line.ends_with(",yes")),
            "{csv}"
        );
    }
}

/// References that are taken otherwise than the trace states them, and records that are left out,
/// are counted in the notes of an answer, as they are in those of an imported trace.
#[test]
fn answers_count_references_of_no_bytes() {
    let folder = folder("direct-counted");
    let path = file(&folder, "x.din", b"r 1000 0\nm 2000 4\nw 3000 8\nc 0 0\n");
    let imported = folder.join("x.bl").display().to_string();
    let said = stderr(&run(&["import", "dinero", &path]));
    for trace in [&path, &imported] {
        let output = run(&["compare", trace, "--policy", "4k", "--format", "json"]);
        let answer: Value = serde_json::from_str(&succeeded(&output)).expect("the answer is JSON");
        let notes = answer["notes"].as_array().expect("notes");
        for note in [
            "left out: 1 commands to caches",
            "miscellaneous accesses, taken to be loads as Dinero IV takes them: 1",
            "references of no bytes, taken to be of 1 byte: 1",
        ] {
            assert!(notes.contains(&note.into()), "{trace}: {notes:?}");
            assert!(said.contains(note), "{said}");
        }
    }
}

/// A foreign trace may begin after its program's stores. An answer says which policies take memory
/// without a store for zeroes, which have no frames.
#[test]
fn policies_that_take_memory_for_zeroes_are_named() {
    let folder = folder("direct-zeroes");
    let text: String = (0..64).map(|page| format!("r {page}000 8\n")).collect();
    let path = file(&folder, "x.din", text.as_bytes());
    let note = |policies: &str| {
        let output = run(&["compare", &path, "--policy", policies, "--format", "json"]);
        let answer: Value = serde_json::from_str(&succeeded(&output)).expect("the answer is JSON");
        let notes = answer["notes"].as_array().expect("notes").clone();
        let texts = notes.iter().filter_map(Value::as_str);
        let mut named = texts.filter(|note| note.contains("taken for zeroes"));
        named.next().map(str::to_owned)
    };
    let of_linux = note("4k,linux,ingens").expect("a note");
    assert!(
        of_linux.starts_with("linux, ingens: memory that the trace only loads"),
        "{of_linux}"
    );
    assert!(of_linux.contains("zero_page=off"), "{of_linux}");
    let others = note("4k,ingens").expect("a note");
    assert!(!others.contains("zero_page"), "{others}");
    assert_eq!(note("4k,linux(zero_page=off),navarro"), None);
}
