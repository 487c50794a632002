//! `record --engine trap`: what it counts and refuses, and `compare --restart`.

use crate::support::{folder, refused, run, succeeded};

const FIFO: &str = "single:entries=64,replacement=fifo";

fn trap<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["record", "--engine", "trap"][..], more].concat()
}

#[test]
fn a_result_has_every_count() {
    let folder = folder("trap-result");
    let path = folder.join("result.json");
    let path = path.to_str().expect("a path");
    let arguments = [
        "--machine",
        FIFO,
        "--format",
        "json",
        "-o",
        path,
        "--",
        "true",
    ];
    let output = run(&trap(&arguments));
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("the program ended with exit status 0"),
        "{said}"
    );
    let text = std::fs::read_to_string(path).expect("a file");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(result["schema"], "broadleaf.trap/1");
    assert_eq!(result["machine"], FIFO);
    assert_eq!(
        (&result["policy"], &result["exit_status"]),
        (&"4k".into(), &0.into())
    );
    assert!(result["l1_misses"].as_u64() > Some(20), "{text}");
    assert_eq!(result["walks"], result["l1_misses"]);
    // Nothing is overwritten unasked.
    let line = refused(&run(&trap(&arguments)));
    assert!(line.contains("result.json"), "{line}");
}

#[test]
fn superpages_walk_less() {
    let walks = |policy: &str, size: &str| {
        let machine = format!("superpage:entries=64,sizes=4k+{size},replacement=fifo");
        let command = ["--", "sort", "/etc/services"];
        let options = [
            "--machine",
            &machine,
            "--policy",
            policy,
            "--format",
            "json",
        ];
        let output = run(&trap(&[&options[..], &command].concat()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = said.split_once('{').expect("JSON").1;
        let json = format!("{{{json}");
        let result: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        result["walks"].as_u64().expect("a count")
    };
    assert!(walks("fixed-64k", "64k") < walks("4k", "64k"));
}

#[test]
fn what_traps_cannot_count_is_refused() {
    for (arguments, says) in [
        (&["--", "true"][..], "needs --machine"),
        (
            &["--machine", "skylake", "--", "true"],
            "the replacement rule lru depends on hits",
        ),
        (
            &[
                "--machine",
                "single:entries=64,replacement=gods",
                "--",
                "true",
            ],
            "the replacement rule gods depends on hits",
        ),
        (
            &[
                "--machine",
                "single:entries=4,replacement=fifo",
                "--",
                "true",
            ],
            "too few",
        ),
        (
            &[
                "--machine",
                "single:entries=32|64,replacement=fifo",
                "--",
                "true",
            ],
            "2 machines",
        ),
        (
            &["--machine", FIFO, "--policy", "freebsd", "--", "true"],
            "freebsd: traps count",
        ),
        (
            &["--machine", FIFO, "--policy", "fixed-64k", "--", "true"],
            "no pages of 64k",
        ),
        (
            &["--machine", FIFO, "--grain", "line", "--", "true"],
            "an option of --engine valgrind",
        ),
        (
            &["--machine", FIFO, "--instructions", "--", "true"],
            "an option of --engine valgrind",
        ),
    ] {
        let line = refused(&run(&trap(arguments)));
        assert!(line.contains(says), "{line}");
    }
    let line = refused(&run(&["record", "--machine", FIFO, "--", "true"]));
    assert!(line.contains("an option of --engine trap"), "{line}");
    let output = run(&trap(&["--machine", FIFO, "--", "no-such-program"]));
    assert_eq!(output.status.code(), Some(127), "{output:?}");
    let output = run(&trap(&["--machine", FIFO, "--", "/etc/passwd"]));
    assert_eq!(output.status.code(), Some(126), "{output:?}");
}

#[test]
fn only_recordings_tell_where_instructions_end() {
    let folder = folder("trap-restart");
    let text = crate::support::file(&folder, "text.lackey", b"I  401000,3\n L 1ffe,8\n");
    let restart = ["--restart", "--policy", "4k", "--machine", FIFO];
    let line = refused(&run(&[&["compare", &text][..], &restart].concat()));
    assert!(
        line.contains("does not tell where instructions end"),
        "{line}"
    );
    let with_future = "single:entries=64,replacement=opt";
    let command = [
        "compare",
        &text,
        "--restart",
        "--policy",
        "4k",
        "--machine",
        with_future,
    ];
    let line = refused(&run(&command));
    assert!(line.contains("reckons with the order of lookups"), "{line}");
    let plain = succeeded(&run(&[
        "compare",
        &text,
        "--policy",
        "4k",
        "--machine",
        FIFO,
    ]));
    assert!(plain.contains("4k"), "{plain}");
}
