//! `report` and `top`: what they say of a process whose memory is known, and what they refuse.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{broadleaf, refused, run, stderr, succeeded};
use broadleaf_governor::{Abilities, ThpSetting};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A process that lives as long as this value.
struct Running(Child);

/// Python that touches 16 MiB, then every fifth page of the next 32 MiB, and waits.
const PROGRAM: &str = "import mmap, time
memory = mmap.mmap(-1, 50 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, 4096): memory[page << 12] = 1
for page in range(4096, 12288, 5): memory[page << 12] = 1
print('ready', flush=True)
time.sleep(600)
";

impl Running {
    /// The process of [`PROGRAM`]; `None`, with the reason, where there is no Python, or its memory
    /// may not be looked at.
    fn start() -> Option<Self> {
        let child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("skipped: no python3: {error}");
                return None;
            }
        };
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
    let command = process["command"].as_str().expect("a name");
    assert!(command.starts_with("python"), "{command}");
    assert!(number(process, "rss_bytes") > 22 * MIB);
    assert_sound(process);
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
    if Abilities::here().setting == Some(ThpSetting::Always) {
        return eprintln!("skipped: the kernel may have made superpages of it already");
    }
    let bars = entries(process, "population_histogram");
    assert!(number(&bars[9], "anonymous") >= 7, "{process}");
    // Blocks of 102 and 103 pages.
    assert!(number(&bars[4], "anonymous") >= 15, "{process}");
    assert!(promoted[1] >= promoted[2] + 15, "{process}");
}

/// What `report` foretells is what `attach` does that may add what it likes.
#[test]
fn what_is_foretold_is_what_is_done() {
    let obstacles = Abilities::here().obstacles(true);
    if !obstacles.is_empty() {
        return eprintln!("skipped: {}", obstacles[0]);
    }
    let Some(running) = Running::start() else {
        return;
    };
    let json = |arguments: &[&str]| -> Value {
        let output = run(&[arguments, &["--policy", "pop-64", "--format", "json"]].concat());
        serde_json::from_str(&succeeded(&output)).expect("the answer is JSON")
    };
    let pid = running.pid();
    let foretold = json(&["report", &pid])["processes"][0]["policies"][0].clone();
    let done = json(&["attach", &pid, "--max-added", "unlimited", "--for", "4"]);
    // What the machine refuses depends on what else it does.
    let allowed = ["too_few_resident", "file_backed", "not_covered"];
    let refusals = done["refusals"].as_object().expect("reasons");
    if let Some(other) = refusals
        .keys()
        .find(|name| !allowed.contains(&name.as_str()))
    {
        return eprintln!("skipped: the machine refused some blocks: {other}");
    }
    assert!(number(&foretold, "would_promote") >= 22, "{foretold}");
    assert_eq!(done["promotions"], foretold["would_promote"]);
    assert_eq!(done["added_bytes_peak"], foretold["added_bytes"]);
    assert_eq!(done["refusals"], foretold["refusals"]);
    let after = json(&["report", &pid])["processes"][0].clone();
    assert_eq!(after["policies"][0]["would_promote"], 0);
    assert!(number(&after, "huge_bytes") >= number(&foretold, "would_promote") * 2 * MIB);
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
    assert!(text.contains(&format!(" ({}): ", running.pid())), "{text}");
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
        text.contains("#######") || text.contains("HHHHHHH"),
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
        text.contains(&format!("{}  python", running.pid())),
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
            "broadleaf: cannot look at process {} python",
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
