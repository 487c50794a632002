//! Recordings from pipes: what a file gives, they give.

use std::fs::File;
use std::process::Output;

use crate::support::{broadleaf, file, folder, run, run_with, stderr, succeeded};
use broadleaf_trace::{Backing, Encoder, Event, Grain, Header, Mapping, Range, Visit};
use broadleaf_units::{Rights, VirtAddr};
use serde_json::Value;

fn visits(pages: std::ops::Range<u64>) -> Vec<Visit> {
    let visit = |page| Visit {
        unit: 0x2_0000 + page,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    };
    pages.map(visit).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&succeeded(output)).expect("the answer is JSON")
}

/// A recording that names a mapping only after its use.
fn late() -> Vec<u8> {
    let mut header = Header::new(Grain::Page);
    header.options.events = true;
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    encoder.visits(&visits(0..50)).expect("visits");
    let mapping = Mapping {
        range: Range {
            start: VirtAddr(0x2000_0000),
            len: 0x40_0000,
        },
        protection: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    };
    encoder.event(&Event::Map(mapping)).expect("an event");
    encoder.visits(&visits(0..90)).expect("visits");
    encoder.finish().expect("a trace")
}

#[test]
fn a_recording_is_read_from_a_pipe_as_often_as_it_takes() {
    let folder = folder("late");
    let bytes = late();
    let path = file(&folder, "late.bl", &bytes);
    let arguments = |trace| ["compare", trace, "--policy", "4k", "--format", "json"];
    let expected = json(&run(&arguments(&path)));
    assert_eq!(expected["trace"]["accesses"], 140);
    let piped = json(&run_with(&arguments("-"), &bytes));
    let redirected = broadleaf(&arguments("-"))
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    for answer in [piped, json(&redirected)] {
        assert_eq!(answer["results"], expected["results"]);
        assert_eq!(answer["trace"]["hash"], expected["trace"]["hash"]);
    }
}

/// Makes a pipe with a name.
fn pipe(folder: &std::path::Path) -> String {
    let pipe = folder.join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    pipe
}

#[test]
fn a_pipe_that_nobody_reads_is_refused_before_the_program_starts() {
    let folder = folder("no-reader");
    let pipe = pipe(&folder);
    let ran = folder.join("ran").display().to_string();
    let began = std::time::Instant::now();
    let output = run(&["run", "--dry-run", "--journal", &pipe, "--", "touch", &ran]);
    let took = began.elapsed().as_secs();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("waits for a reader of this pipe"), "{said}");
    assert!(
        said.contains("no process has read from this pipe"),
        "{said}"
    );
    assert!((5..15).contains(&took), "{took} s");
    assert!(!std::path::Path::new(&ran).exists(), "the program ran");
}

#[test]
fn a_reader_may_come_late() {
    let folder = folder("late-reader");
    let pipe = pipe(&folder);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_secs(1));
            std::fs::read(pipe)
        }
    });
    let trace = file(&folder, "late.bl", &late());
    let output = run(&["recode", &trace, "-o", &pipe]);
    assert!(output.status.success(), "{}", stderr(&output));
    let read = reader.join().expect("no panic").expect("the pipe is read");
    let whole = run(&["recode", &trace, "-o", "-"]).stdout;
    assert_eq!(read, whole);
}

#[test]
fn a_link_to_nothing_is_refused_before_the_program_starts() {
    let folder = folder("dangling");
    let link = folder.join("link").display().to_string();
    std::os::unix::fs::symlink(folder.join("nothing"), &link).unwrap();
    let ran = folder.join("ran").display().to_string();
    for options in [
        &["--journal", link.as_str()][..],
        &["--format", "json", "-o", &link],
    ] {
        let output = run(&[&["run", "--dry-run"], options, &["--", "touch", &ran]].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is a symbolic link"), "{said}");
        assert!(!std::path::Path::new(&ran).exists(), "the program ran");
    }
}

/// Runs the command in a shell, with `redirection` at the end of the line.
fn redirected(arguments: &[&str], redirection: &str) -> Output {
    std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("exec \"$0\" \"$@\" {redirection}"))
        .arg(crate::support::binary())
        .args(arguments)
        .env("BROADLEAF_CACHE_SIZE", crate::support::NO_CACHE)
        .output()
        .expect("sh runs")
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let folder = folder("closed-output");
    let own = std::process::id().to_string();
    let trace = file(&folder, "late.bl", &late());
    for arguments in [
        &["compare", trace.as_str(), "--policy", "4k"][..],
        &["info", &trace],
        &["info", &trace, "--format", "json"],
        &["compare", &trace, "--policy", "4k", "-o", "/dev/stdout"],
        &["advise", &trace],
        &["list", "machines"],
        &["explain", "4k"],
        &["report", &own],
        &["--help"],
        &["compare", "--help"],
        &["--version"],
    ] {
        for redirection in [">&-", ">/dev/full"] {
            let output = redirected(arguments, redirection);
            let said = stderr(&output);
            let code = output.status.code();
            assert!(
                matches!(code, Some(1 | 2)) && (code == Some(1) || arguments.contains(&"-o")),
                "{arguments:?} {redirection}: {code:?} {said}"
            );
            assert!(said.contains("annot write"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    for arguments in [&["--help"][..], &["list"], &["explain", "4k"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = broadleaf(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}
