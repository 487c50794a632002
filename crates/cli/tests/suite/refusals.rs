//! What is wrong is said in one line, with exit status 2.

use crate::support;
use crate::support::{broadleaf, file, folder, lackey, refused, run, run_with, stderr};

#[test]
fn things_that_are_no_trace() {
    let folder = folder("no-trace");
    let empty = file(&folder, "empty.bl", b"");
    let short = file(&folder, "short.bl", b"0123456789");
    let text = file(
        &folder,
        "text.bl",
        b"To be, or not to be, that is the question.\n",
    );
    let missing = folder.join("missing.bl");
    let missing = missing.to_str().unwrap();
    for (path, says) in [
        (empty.as_str(), "empty"),
        (short.as_str(), "not a trace"),
        (text.as_str(), "To be, or not to"),
        (folder.to_str().unwrap(), "is a directory"),
        (missing, "No such file"),
    ] {
        for command in ["compare", "info"] {
            let line = refused(&run(&[command, path]));
            assert!(line.contains(path) && line.contains(says), "{line}");
        }
    }
    for input in [&b""[..], b"0123456789", b"plain text\n"] {
        let line = refused(&run_with(&["compare", "-"], input));
        assert!(line.contains("standard input"), "{line}");
    }
}

#[test]
fn a_bad_line_is_named_by_its_number() {
    let folder = folder("bad-line");
    let path = file(
        &folder,
        "x.lackey",
        b"I  00401000,3\n L 1000,8\n L 2000;8\n L 3000,8\n",
    );
    let line = refused(&run(&["compare", &path]));
    assert!(
        line.contains("line 3") && line.contains("L 2000;8"),
        "{line}"
    );
    let line = refused(&run(&["import", "lackey", &path]));
    assert!(line.contains("line 3"), "{line}");
    assert!(
        !folder.join("x.bl").exists(),
        "a refused import leaves nothing behind"
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_text_without_a_reference() {
    let folder = folder("no-reference");
    let path = file(&folder, "x.lackey", b"==1== Exit code: 0\nI  00401000,3\n");
    let line = refused(&run(&["compare", &path]));
    assert!(line.contains("no load and no store"), "{line}");
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let folder = folder("unknown-names");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    for (arguments, says) in [
        (["--policy", "gredy"], "greedy"),
        (["--policy", "pup-64"], "pop-64"),
        (["--policy", "pop"], "pop-64"),
        (["--policy", "pup-77"], "did you mean pop-77"),
        (["--policy", "pop64"], "did you mean pop-64?"),
        (["--policy", "life5e5"], "did you mean life-5e5?"),
        (["--policy", "thp"], "did you mean thp-always?"),
        (["--policy", "fixd-16k"], "did you mean fixed-16k"),
        (["--policy", "fixed-3k"], "powers of two from 4k to 512g"),
        (["--policy", "asap-4-32"], "did you mean asap-4-64"),
        (["--policy", "4k,gredy"], "did you mean greedy?"),
        (["--policy", "nonsense"], "broadleaf list policies"),
        (["--policy", "pop-0"], "1 to 512"),
        (["--machine", "skylark"], "skylake"),
        (["--machine", "486"], "broadleaf list machines"),
    ] {
        let line = refused(&run(&["compare", &path, arguments[0], arguments[1]]));
        assert!(line.contains(says), "{line}");
    }
    for (name, says) in [
        ("greddy", "greedy"),
        ("pop64", "did you mean pop-64?"),
        ("walk_cycle", "walk_cycles"),
        ("skylak", "skylake"),
        ("not-covered", "not_covered"),
    ] {
        let line = refused(&run(&["explain", name]));
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn a_machine_s_file_is_refused_with_line_and_key() {
    let folder = folder("bad-machine");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    let machine = file(&folder, "m.toml", b"name = \"m\"\nsummary = 3\n");
    let line = refused(&run(&["compare", &path, "--machine", &machine]));
    assert!(line.contains(&machine) && line.contains("line 2"), "{line}");
}

#[test]
fn usage_is_refused_by_clap_with_the_same_status() {
    for arguments in [
        &["compare"][..],
        &["compare", "--format", "xml", "x"],
        &["nonsense"],
        &["--nonsense"],
        &["list", "nothing"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let output = run(&["compar", "x"]);
    assert!(support::stderr(&output).contains("compare"));
}

#[test]
fn what_is_read_is_not_overwritten_even_by_force() {
    let folder = folder("own-input");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    let machine = file(&folder, "m.toml", b"precious");
    let link = folder.join("link.bl").display().to_string();
    std::fs::hard_link(&path, &link).unwrap();
    let before = std::fs::read(&path).unwrap();
    for arguments in [
        &["compare", &path, "-o", &path, "--force"][..],
        &["compare", &path, "-o", &path],
        &["compare", &path, "-o", &link, "--force"],
        &["import", "lackey", &path, "-o", &link, "--force"],
        &["record", "-o", &path, "--force", "--", "cat", &path],
    ] {
        let line = refused(&run(arguments));
        assert!(line.contains("is read by this command"), "{line}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    // From standard input, and a machine's file.
    let input = std::fs::File::open(&path).unwrap();
    let arguments = ["compare", "-", "-o", &path, "--force"];
    let line = refused(&broadleaf(&arguments).stdin(input).output().unwrap());
    assert!(line.contains("is read by this command"), "{line}");
    let arguments = [
        "compare",
        &path,
        "--machine",
        &machine,
        "-o",
        &machine,
        "--force",
    ];
    refused(&run(&arguments));
    assert_eq!(std::fs::read(&machine).unwrap(), b"precious");
}

#[test]
fn what_exists_is_not_overwritten() {
    let folder = folder("overwrite");
    let path = file(&folder, "x.lackey", lackey(10).as_bytes());
    let result = file(&folder, "result.json", b"precious");
    let arguments = [
        "compare", &path, "--policy", "4k", "--format", "json", "-o", &result,
    ];
    let line = refused(&run(&arguments));
    assert!(
        line.contains("exists") && line.contains("--force"),
        "{line}"
    );
    assert_eq!(std::fs::read(&result).unwrap(), b"precious");
    let mut forced = arguments.to_vec();
    forced.push("--force");
    support::succeeded(&run(&forced));
    assert!(
        std::fs::read_to_string(&result)
            .unwrap()
            .contains("broadleaf.compare/1")
    );
    let trace = file(&folder, "x.bl", b"precious");
    let line = refused(&run(&["import", "lackey", &path]));
    assert!(line.contains(&trace) && line.contains("exists"), "{line}");
    assert_eq!(std::fs::read(&trace).unwrap(), b"precious");
}

/// What clap says of a command line, with exit status 2.
fn usage(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    support::stderr(&output)
}

#[test]
fn a_number_that_is_none_is_refused_with_what_to_write() {
    for (arguments, says) in [
        (
            &["compare", "x", "--threads", "0"][..],
            "a whole number from 1 on",
        ),
        (&["advise", "x", "--top", "0"], "a whole number from 1 on"),
        (
            &["run", "--baseline", "0", "--", "true"],
            "a whole number from 1 on",
        ),
        (&["attach", "abc"], "a process is named by its number"),
        (&["report", "0"], "a process is named by its number"),
        (
            &["compare", "x", "--memory", "-5"],
            "\"-5\" is no size: write it as 512M",
        ),
    ] {
        let text = usage(arguments);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_program_needs_no_dashes_and_keeps_its_own_options() {
    for arguments in [
        &["run", "--dry-run", "sh", "-c", "exit 7"][..],
        &["run", "--dry-run", "--", "sh", "-c", "exit 7"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    }
    for command in ["record", "run"] {
        // An option before the program is this command's own.
        let text = usage(&[command, "--no-such-option", "gzip"]);
        assert!(text.contains("--no-such-option"), "{text}");
        assert!(usage(&[command]).contains("COMMAND"));
    }
}

#[test]
fn a_demo_whose_file_exists_is_refused_before_anything_is_done() {
    let folder = folder("demo-exists");
    let path = file(&folder, "x.bl", b"mine");
    let line = refused(&run(&["demo", "-o", &path]));
    assert!(line.contains(&path), "{line}");
}
