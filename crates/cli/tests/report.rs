//! `report` and `top`: what they say of a process whose memory is known, and what they refuse.

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::{broadleaf, refused, run, stderr, succeeded};

const MIB: u64 = 1 << 20;

/// A process that lives as long as this value.
struct Running(Child);

impl Running {
    /// A process that holds 48 MiB twice, without a hole.
    ///
    /// `None`, with the reason, where its memory may not be looked at.
    fn start() -> Option<Self> {
        const PROGRAM: &str = "$| = 1; $n = 48 << 20; $one = 'x' x $n; vec($other, $n, 8) = 1; print qq(ready\\n); sleep 600";
        let child = Command::new("perl")
            .args(["-e", PROGRAM])
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .expect("perl is part of every Debian");
        let mut running = Self(child);
        let out = running.0.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(out)
            .read_line(&mut line)
            .expect("it says that it is ready");
        assert_eq!(line, "ready\n");
        match File::open(format!("/proc/{}/pagemap", running.pid())) {
            Ok(_) => Some(running),
            Err(error) => {
                eprintln!("skipped: the memory of processes cannot be looked at here: {error}");
                None
            }
        }
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("no number {field} in {value}"))
}

fn entries<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field]
        .as_array()
        .unwrap_or_else(|| panic!("no list {field} in {value}"))
}

/// Figures of a process that have to fit together, whatever it is.
fn assert_sound(process: &Value) {
    let kinds = ["anonymous", "shmem", "file"];
    let blocks: u64 = kinds
        .iter()
        .map(|kind| number(&process["blocks"], kind))
        .sum();
    let bars = entries(process, "population_histogram");
    for bar in bars {
        let of_kinds: u64 = kinds.iter().map(|kind| number(bar, kind)).sum();
        assert_eq!(number(bar, "blocks"), of_kinds, "{bar}");
    }
    let bounds: Vec<(u64, u64)> = bars
        .iter()
        .map(|bar| (number(bar, "from"), number(bar, "to")))
        .collect();
    assert_eq!(
        (bounds.len(), bounds[0], bounds[9]),
        (10, (1, 8), (512, 512))
    );
    assert!(bounds.windows(2).all(|two| two[0].1 + 1 == two[1].0));
    let small: u64 = bars.iter().map(|bar| number(bar, "blocks")).sum();
    let huge = number(process, "huge_bytes");
    assert_eq!(small + huge / (2 * MIB), blocks, "{process}");
    for told in entries(process, "policies") {
        // What becomes a superpage is resident already or added.
        let promoted = number(told, "would_promote") * 2 * MIB;
        let covered = number(told, "covered_bytes");
        assert_eq!(
            promoted,
            covered - huge + number(told, "added_bytes"),
            "{told}"
        );
    }
}

#[test]
fn json_says_what_a_process_holds_and_what_policies_would_do() {
    let Some(running) = Running::start() else {
        return;
    };
    let output = run(&["report", &running.pid(), "--format", "json"]);
    let answer: Value = serde_json::from_str(&succeeded(&output)).expect("the answer is JSON");
    assert_eq!(answer["schema"], "broadleaf.report/1");
    assert_eq!(entries(&answer, "unseen").len(), 0);
    assert!(answer["provenance"]["version"].is_string() && answer["promotions"].is_null());
    let [process] = entries(&answer, "processes") else {
        panic!("not one process: {answer}");
    };
    assert_eq!(number(process, "pid").to_string(), running.pid());
    assert_eq!(process["command"], "perl");
    assert!(number(process, "rss_bytes") > 96 * MIB);
    assert_sound(process);
    let full = &entries(process, "population_histogram")[9];
    let full = number(full, "anonymous") + number(process, "huge_bytes") / (2 * MIB);
    assert!(full >= 2 * 23, "{process}");
    let names: Vec<&Value> = entries(process, "policies")
        .iter()
        .map(|told| &told["policy"])
        .collect();
    assert_eq!(names, ["4k", "pop-64", "pop-256", "pop-461", "greedy"]);
    let promoted: Vec<u64> = entries(process, "policies")
        .iter()
        .map(|told| number(told, "would_promote"))
        .collect();
    assert_eq!(promoted[0], 0);
    assert!(promoted[4] >= promoted[1] && promoted[1] >= promoted[2] && promoted[2] >= promoted[3]);
    let covered = number(&entries(process, "policies")[2], "covered_bytes");
    assert!(covered >= 2 * 46 * MIB && covered <= number(process, "rss_bytes") + 2 * MIB);
}

#[test]
fn a_table_has_bars_policies_and_a_picture() {
    let Some(running) = Running::start() else {
        return;
    };
    let text = succeeded(&run(&[
        "report",
        &running.pid(),
        "--policy",
        "pop-64,freebsd",
        "--policy",
        "promote if populated > 9",
    ]));
    assert!(
        text.starts_with(&format!("perl ({}): ", running.pid())),
        "{text}"
    );
    assert!(text.contains("pages resident"), "{text}");
    for row in [
        "\n           512 ",
        "\n     superpage ",
        "\npop-64 ",
        "\nfreebsd ",
        "\npromote if populated > 9 ",
    ] {
        assert!(text.contains(row), "{row:?} in {text}");
    }
    assert!(
        text.contains("|######") || text.contains("|HHHHHH"),
        "{text}"
    );
    assert!(
        text.contains("each character is a block of 2 MiB"),
        "{text}"
    );
    assert!(!text.contains('\x1b') && text.is_ascii(), "{text}");
    let twice = succeeded(&run(&["report", &running.pid(), &running.pid()]));
    assert_eq!(
        twice.matches("pages resident").count(),
        1,
        "each process once"
    );
}

#[test]
fn all_processes_stand_in_order() {
    let Some(running) = Running::start() else {
        return;
    };
    let output = run(&["report", "--all", "--format", "json"]);
    let answer: Value = serde_json::from_str(&succeeded(&output)).expect("the answer is JSON");
    let processes = entries(&answer, "processes");
    let is_ours = |process: &Value| number(process, "pid").to_string() == running.pid();
    assert!(processes.iter().any(is_ours));
    let covered: Vec<u64> = processes
        .iter()
        .map(|process| number(&entries(process, "policies")[2], "covered_bytes"))
        .collect();
    assert!(
        covered.is_sorted_by(|one, other| one >= other),
        "{covered:?}"
    );
    processes.iter().for_each(assert_sound);
    let text = succeeded(&run(&["report", "--all"]));
    assert!(text.starts_with("What pop-256 would do now"), "{text}");
    assert!(
        text.contains(&format!("{}  perl ", running.pid())),
        "{text}"
    );
    let text = succeeded(&run(&["report", "--all", "--policy", "greedy"]));
    assert!(text.starts_with("What greedy would do now"), "{text}");
}

#[test]
fn what_is_not_there_and_what_cannot_decide_is_refused() {
    // Larger than any process's number.
    let text = refused(&run(&["report", "4194305"]));
    assert_eq!(text, "broadleaf: there is no process 4194305\n");
    let own = std::process::id().to_string();
    let text = refused(&run(&["report", &own, "--policy", "life-1e6"]));
    assert!(text.contains("the policy life-1e6 "), "{text}");
    let text = refused(&run(&["report", &own, "--policy", "pop64"]));
    assert!(text.contains("did you mean pop-64?"), "{text}");
    let text = refused(&run(&["top"]));
    assert!(
        text.contains("needs a terminal") && text.contains("report --all"),
        "{text}"
    );
    assert!(refused(&run(&["top", "--policy", "foresight"])).contains("foresight"));
    for arguments in [
        &["report"][..],
        &["report", "--all", "1"],
        &["report", "x"],
        &["top", "--interval", "5"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

/// Another user's process: the reason, and what would help, and exit status 1.
#[test]
fn processes_of_others_are_named_with_what_it_takes() {
    let Some(running) = Running::start() else {
        return;
    };
    let as_nobody = |arguments: &[&str]| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(broadleaf(&[]).get_program())
            .args(arguments)
            .output()
    };
    match as_nobody(&["--version"]) {
        Ok(output) if output.status.success() => {}
        Ok(output) => return eprintln!("skipped: no other user can be had: {}", stderr(&output)),
        Err(error) => return eprintln!("skipped: no setpriv: {error}"),
    }
    let output = as_nobody(&["report", &running.pid()]).expect("it ran before");
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.starts_with(&format!(
            "broadleaf: cannot look at process {} perl: ",
            running.pid()
        )),
        "{text}"
    );
    assert!(
        text.contains("another user (number 0)") && text.contains("CAP_SYS_PTRACE"),
        "{text}"
    );
    assert!(output.stdout.is_empty());
}
