//! `record` as a command: names, streams, children, and how a recording ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{broadleaf, folder, refused, run, stderr, succeeded};
use serde_json::Value;

fn info(path: &std::path::Path, more: &[&str]) -> Value {
    let mut arguments = vec!["info", path.to_str().unwrap(), "--format", "json"];
    arguments.extend(more);
    serde_json::from_str(&succeeded(&run(&arguments))).expect("the answer is JSON")
}

#[test]
fn names_are_free_ones_and_the_program_keeps_its_streams() {
    let folder = folder("record-names");
    let record = |arguments: &[&str]| {
        let mut all = vec!["record"];
        all.extend(arguments);
        broadleaf(&all).current_dir(&folder).output().unwrap()
    };
    let output = record(&["--", "echo", "hello"]);
    assert_eq!(succeeded(&output), "hello\n");
    assert!(stderr(&output).contains("echo.bl: ") && stderr(&output).contains("exit status 0"));
    let first = std::fs::read(folder.join("echo.bl")).unwrap();
    succeeded(&record(&["--", "/bin/echo", "again"]));
    assert!(folder.join("echo.1.bl").exists());
    assert_eq!(std::fs::read(folder.join("echo.bl")).unwrap(), first);
    let line = refused(&record(&["-o", "echo.bl", "--", "echo", "x"]));
    assert!(line.contains("exists"), "{line}");
    succeeded(&record(&["-o", "echo.bl", "--force", "--", "echo", "x"]));
}

#[test]
fn a_program_that_fails_is_a_recording_that_worked() {
    let folder = folder("record-failing");
    let trace = folder.join("x.bl");
    let output = run(&[
        "record",
        "-o",
        trace.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "exit 3",
    ]);
    succeeded(&output);
    assert!(
        stderr(&output).contains("exit status 3"),
        "{}",
        stderr(&output)
    );
    let info = info(&trace, &[]);
    assert_eq!(info["trace"]["complete"], true);
    assert_eq!(info["header"]["command"][0], "sh");
    assert_eq!(info["processes"][0]["ended"], true);
    assert_eq!(info["processes"][0]["exit_status"], 3 << 8);
    assert!(info["pages"].as_u64().unwrap() > 10);
    assert!(info["events"]["map"].as_u64().unwrap() > 3);
    assert!(
        info["header"]["program"]["hash"]
            .as_str()
            .unwrap()
            .starts_with("blake3:")
    );
}

#[test]
fn a_program_that_a_signal_ended_is_told_with_the_signal() {
    let folder = folder("record-signal");
    let trace = folder.join("x.bl");
    let path = trace.to_str().unwrap();
    for (number, name) in [(11, "SIGSEGV"), (9, "SIGKILL"), (15, "SIGTERM")] {
        let line = format!("kill -{number} $$");
        let output = run(&["record", "--force", "-o", path, "--", "sh", "-c", &line]);
        succeeded(&output);
        let said = stderr(&output);
        let end = format!("was ended by signal {number} ({name})");
        assert!(said.contains(&end), "{said}");
        assert_eq!(said.contains("ulimit -s"), number == 11, "{said}");
        let table = succeeded(&run(&["info", path]));
        if number == 9 {
            // SIGKILL ends the process before the recorder's last record.
            continue;
        }
        assert!(
            table.contains(&format!("signal {number} ({name})")),
            "{table}"
        );
        let status = &info(&trace, &[])["processes"][0]["exit_status"];
        let status = status.as_i64().expect("a status");
        assert_eq!(status & 0x7f, number, "{status}");
    }
}

#[test]
fn a_program_that_is_not_there_is_refused_and_leaves_no_file() {
    let folder = folder("record-missing");
    let trace = folder.join("x.bl");
    let path = trace.to_str().unwrap();
    let output = run(&["record", "-o", path, "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    let line = stderr(&output);
    assert!(line.contains("no-such-program"), "{line}");
    assert!(!trace.exists());
    let line = refused(&run(&["record", "-o", "-", "--", "true"]));
    assert!(line.contains("standard output"), "{line}");
}

#[test]
fn a_recording_that_nothing_was_written_of_promises_nothing() {
    let output = run(&["record", "-o", "/dev/full", "--", "true"]);
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(
        line.contains("No space left on device; nothing of it was kept")
            && !line.contains("os error"),
        "{line}"
    );
    let line = refused(&run(&[
        "record",
        "-o",
        "/no-such-folder/x.bl",
        "--",
        "true",
    ]));
    assert!(line.contains("No such file or directory"), "{line}");
}

#[test]
fn a_recording_that_does_not_start_leaves_what_it_was_to_replace() {
    let folder = folder("record-not-started");
    let kept = folder.join("keep.bl");
    std::fs::write(&kept, "precious").unwrap();
    let broken = folder.join("broken");
    std::fs::write(&broken, "#!/nonexistent/interpreter\n").unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&broken, rights).unwrap();
    // The recorder's tool is written below TMPDIR.
    let writable = std::env::temp_dir();
    for (temporary, program, status) in [
        (Path::new("/nonexistent"), "/bin/true", 1),
        (&writable, broken.to_str().unwrap(), 127),
    ] {
        for (output, more) in [("keep.bl", &["--force"][..]), ("new.bl", &[])] {
            let arguments = [&["record", "-o", output], more, &["--", program]].concat();
            let output = broadleaf(&arguments)
                .env("TMPDIR", temporary)
                .current_dir(&folder)
                .output()
                .unwrap();
            let code = output.status.code();
            assert_eq!(code, Some(status), "{}", stderr(&output));
            assert_eq!(std::fs::read_to_string(&kept).unwrap(), "precious");
            // The recording that was, and the program.
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        }
    }
}

#[test]
fn info_and_compare_count_the_same_instructions() {
    let folder = folder("record-instructions");
    let trace = folder.join("x.bl");
    let path = trace.to_str().unwrap();
    succeeded(&run(&[
        "record",
        "--instructions",
        "-o",
        path,
        "--",
        "true",
    ]));
    let compare: Value = serde_json::from_str(&succeeded(&run(&[
        "compare", path, "--policy", "4k", "--format", "json",
    ])))
    .unwrap();
    let info = info(&trace, &[]);
    assert!(info["instructions"].as_u64().unwrap() > 10_000, "{info}");
    assert_eq!(info["instructions"], compare["trace"]["instructions"]);
    assert_eq!(info["instructions"], info["fetches"]);
}

#[test]
fn children_are_followed_on_demand() {
    let folder = folder("record-children");
    let processes = |name: &str, more: &[&str]| {
        let trace = folder.join(name);
        let mut arguments = vec!["record", "-o", trace.to_str().unwrap()];
        arguments.extend(more);
        arguments.extend(["--", "sh", "-c", "cat /etc/hostname; echo done"]);
        let output = run(&arguments);
        succeeded(&output);
        let lacks = stderr(&output).contains("the trace lacks a child process");
        let compared = run(&["compare", trace.to_str().unwrap(), "--policy", "4k,greedy"]);
        let compared = succeeded(&compared).replace('\n', " ");
        let noted = compared.contains("child processes are not in the trace");
        assert_eq!(noted, lacks, "{compared}");
        let processes = info(&trace, &[])["processes"].as_array().unwrap().len();
        (processes, lacks)
    };
    assert_eq!(processes("one.bl", &[]), (1, true));
    let (all, lacks) = processes("all.bl", &["--follow-children"]);
    assert!(all >= 2 && !lacks);
}

/// Waits until the recording has `bytes` bytes, or gives up.
fn grown(path: &std::path::Path, bytes: u64) -> bool {
    for _ in 0..2000 {
        if path
            .metadata()
            .is_ok_and(|metadata| metadata.len() >= bytes)
        {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn a_recording_that_is_killed_is_compared_up_to_where_it_got() {
    let folder = folder("record-killed");
    let trace = folder.join("x.bl");
    let endless = "BEGIN { while (i < 20000000) { a[int(rand() * 100000)] = i++ } }";
    let mut child = broadleaf(&[
        "record",
        "-o",
        trace.to_str().unwrap(),
        "--",
        "mawk",
        endless,
    ])
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    // A chunk of this program has some megabytes: the first is whole when a later one begins.
    assert!(grown(&trace, 12 << 20), "nothing was recorded");
    child.kill().unwrap();
    child.wait().unwrap();
    let output = run(&[
        "compare",
        trace.to_str().unwrap(),
        "--policy",
        "4k",
        "--format",
        "json",
        "--keep-going",
    ]);
    let answer: Value = serde_json::from_str(&succeeded(&output)).unwrap();
    assert!(answer["trace"]["accesses"].as_u64().unwrap() > 100_000);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("is truncated"), "{notes}");
}

#[test]
fn a_request_to_end_ends_the_program_and_keeps_the_recording_whole() {
    let folder = folder("record-ended");
    let trace = folder.join("x.bl");
    let endless = "BEGIN { while (i < 20000000) { a[int(rand() * 100000)] = i++ } }";
    let child = broadleaf(&[
        "record",
        "-o",
        trace.to_str().unwrap(),
        "--",
        "mawk",
        endless,
    ])
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    assert!(grown(&trace, 1), "nothing was recorded");
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    succeeded(&output);
    assert!(stderr(&output).contains("signal 15"), "{}", stderr(&output));
    assert_eq!(info(&trace, &[])["trace"]["complete"], true);
}
