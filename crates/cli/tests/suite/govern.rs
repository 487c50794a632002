//! `run` and `attach` on the kernel that the tests run on. What this kernel or this user's rights
//! do not allow is skipped with a reason.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

mod signals;

use crate::support;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::live::{
    Python, SIGINT, can_attach, can_govern, eventually, ignores, is_installed,
};
use crate::support::{binary, broadleaf, file, folder, refused, run, stderr, succeeded};

/// Python that touches every `step`-th page of `mebibytes` MiB. The program waits for its
/// superpages, at most until the time is over. Then it prints the KiB that it holds and those in
/// superpages.
fn touching(mebibytes: u32, step: u32, wait: f32) -> String {
    format!(
        "import mmap, time, sys
memory = mmap.mmap(-1, ({mebibytes} + 2) << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, {mebibytes} << 8, {step}): memory[page << 12] = 1
print('touched', flush=True)
def rollup(name):
    return sum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup') if line.startswith(name))
until = time.time() + {wait}
while time.time() < until: time.sleep(0.05)
print(rollup('Rss:'), rollup('AnonHugePages:'))
"
    )
}

/// What [`touching`] printed at its end: KiB held, KiB in superpages.
fn figures(stdout: &str) -> (u64, u64) {
    let line = stdout.lines().last().unwrap_or_default();
    let mut numbers = line.split(' ').map(|number| number.parse().expect(stdout));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn a_program_has_its_own_exit_status_input_and_output() {
    for (script, status) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("cat; exit 3", 3),
        ("kill -TERM $$", 143),
    ] {
        let output = support::run_with(&["run", "--", "sh", "-c", script], b"what it reads\n");
        let code = std::os::unix::process::ExitStatusExt::signal(&output.status)
            .map_or(output.status.code(), |signal| Some(128 + signal));
        assert_eq!(code, Some(status), "{script}: {}", stderr(&output));
        let read: &[u8] = if script.starts_with("cat") {
            b"what it reads\n"
        } else {
            b""
        };
        assert_eq!(output.stdout, read, "{script}");
    }
}

#[test]
fn a_program_that_cannot_be_run_is_answered_as_by_a_shell() {
    let missing = run(&["run", "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(
        stderr(&missing).contains("/no/such/program: cannot run it: No such file or directory")
    );
    assert_eq!(run(&["run", "--", "/dev/null"]).status.code(), Some(126));
}

#[test]
fn a_script_without_a_first_line_is_run_by_the_shell() {
    let folder = folder("govern-script");
    let script = file(&folder, "script", b"echo \"$1\"; exit 6\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let output = run(&["run", "--", &script, "word"]);
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(6), &b"word\n"[..])
    );
}

#[test]
fn policies_that_cannot_decide_and_files_that_exist_are_refused_before_the_program_runs() {
    let folder = folder("govern-refused");
    let there = file(&folder, "there.json", b"{}");
    let trace = folder.join("ran");
    let touch = ["--", "touch", trace.to_str().unwrap()];
    for (options, words) in [
        (&["--policy", "life-1e6"][..], "counts accesses"),
        (&["--policy", "thp-always"], "decides at the first fault"),
        (&["--policy", "pop-513"], "takes 1 to 512 base pages"),
        (&["--format", "json", "-o", &there], "exists"),
        (&["--journal", &there], "exists"),
        (&["--journal", "a", "-o", "./a"], "cannot be the same file"),
    ] {
        let said = refused(&run(&[&["run"], options, &touch].concat()));
        assert!(said.contains(words), "{said}");
    }
    for options in [
        ["--max-added", "much"],
        ["--max-added", "10"],
        ["--max-cpu", "0"],
        ["--interval", "0"],
        ["--keep-free", "x"],
    ] {
        let output = run(&[&["run"], &options[..], &touch].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
    assert!(!trace.exists());
}

#[test]
fn dense_memory_becomes_superpages_and_sparse_memory_stays() {
    if !can_govern() || !is_installed("python3") {
        return;
    }
    let folder = folder("govern-dense");
    let report = folder.join("report.json");
    let report = report.to_str().unwrap();
    let governed = |step, options: &[&str]| {
        let script = touching(64, step, 1.5);
        let output = run(&[
            &["run", "--format", "json", "-o", report, "--force"],
            options,
            &["--", "python3", "-c", &script],
        ]
        .concat());
        let (rss, huge) = figures(&succeeded(&output));
        let report: serde_json::Value =
            serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        assert_eq!(report["schema"], "broadleaf.report/1");
        assert_eq!(report["exit_status"], 0);
        (rss, huge, report)
    };
    let (dense, huge, report) = governed(1, &[]);
    assert!(huge >= 60 << 10, "{huge} KiB in superpages, {report}");
    assert!(report["promotions"].as_u64().unwrap() >= 30, "{report}");
    assert!(report["governor_cpu_seconds"].as_f64().unwrap() > 0.0);
    let (sparse, huge, report) = governed(64, &[]);
    assert!(
        huge <= 2 << 10 && sparse + (48 << 10) < dense,
        "{sparse} {huge} {report}"
    );
    assert!(
        report["refusals"]["too_few_resident"].as_u64().unwrap() >= 31,
        "{report}"
    );
    // Where it may cost what it likes, it takes eight times the memory.
    let (bloated, huge, _) = governed(64, &["--policy", "pop-8", "--max-added", "unlimited"]);
    assert!(
        huge >= 60 << 10 && bloated > sparse + (48 << 10),
        "{bloated} {huge}"
    );
    // A budget holds to the block: half of each block is there, so each adds 1 MiB.
    let (_, huge, report) = governed(2, &["--policy", "pop-64", "--max-added", "8M"]);
    assert!(huge <= 18 << 10, "{huge} {report}");
    assert!(
        report["added_bytes_peak"].as_u64().unwrap() <= 8 << 20,
        "{report}"
    );
    let (dry, huge, report) = governed(1, &["--dry-run"]);
    assert!(huge <= 2 << 10 && dry <= dense + 4096, "{dry} {huge}");
    assert!(report["promotions"].as_u64().unwrap() >= 30, "{report}");
}

#[test]
fn a_journal_of_a_run_makes_the_same_decisions_again() {
    if !can_govern() || !is_installed("python3") {
        return;
    }
    let folder = folder("govern-journal");
    let journal = folder.join("run.journal");
    let journal = journal.to_str().unwrap();
    let report = folder.join("report.json");
    // The program waits for 30 superpages, and one second more: a busy machine needs longer.
    let script = touching(64, 1, 20.0).replace(
        "while time.time() < until: time.sleep(0.05)",
        "while time.time() < until and rollup('AnonHugePages:') < 60 << 10: time.sleep(0.05)\ntime.sleep(1)",
    );
    succeeded(&run(&[
        "run",
        "--journal",
        journal,
        "--format",
        "json",
        "-o",
        report.to_str().unwrap(),
        "--",
        "python3",
        "-c",
        &script,
    ]));
    let replayed = succeeded(&run(&[
        "replay", journal, "--policy", "pop-512", "--format", "json",
    ]));
    let replayed: serde_json::Value = serde_json::from_str(&replayed).unwrap();
    assert_eq!(
        replayed["difference"],
        serde_json::Value::Null,
        "{replayed}"
    );
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let own = &replayed["policies"][0];
    for count in ["promotions", "refusals"] {
        assert_eq!(own[count], report[count], "{replayed}\n{report}");
    }
    // On a busy or fragmented machine the kernel may refuse some of the 32 blocks.
    for policy in replayed["policies"].as_array().unwrap() {
        let promotions = policy["promotions"].as_u64().unwrap();
        let refused = ["no_extent", "busy", "stall_too_long"]
            .iter()
            .filter_map(|reason| policy["refusals"][reason].as_u64());
        assert!(promotions > 0, "{replayed}");
        assert!(promotions + refused.sum::<u64>() >= 30, "{replayed}");
    }
}

#[test]
fn memory_that_a_fork_shares_is_left_alone() {
    if !can_attach() || !is_installed("python3") {
        return;
    }
    // The child sleeps on all of its parent's memory, and does not hold the pipe open that this
    // reads.
    let script = touching(64, 1, 4.0).replace(
        "print('touched'",
        "import os\nchild = os.fork()\nif not child: os.close(1); time.sleep(5); os._exit(0)\nprint('touched'",
    );
    let python = Python::start(&script);
    let attach = ["attach", &python.child.id().to_string()];
    let output = run(&[&attach[..], &["--for", "1.5", "--format", "json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&succeeded(&output)).unwrap();
    let shared = &report["refusals"]["too_many_shared"];
    assert!(
        shared.as_u64().is_some_and(|shared| shared >= 30),
        "{report:#}"
    );
    assert_eq!(report["promotions"], 0, "{report:#}");
}

/// The write end of a pipe without a reader.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn whoever_reads_no_report_has_the_exit_status_of_the_program_all_the_same() {
    let program = ["--", "sh", "-c", "sleep 0.5; exit 3"];
    let unheard = broadleaf(&[&["run"], &program[..]].concat())
        .stderr(unread())
        .status()
        .unwrap();
    assert_eq!(unheard.code(), Some(3));
    let unheard = broadleaf(&[&["run", "-o", "/dev/full"], &program[..]].concat())
        .stderr(unread())
        .status()
        .unwrap();
    assert_eq!(unheard.code(), Some(3));
    let missing = broadleaf(&["run", "--", "/no/such/program"])
        .stderr(unread())
        .status()
        .unwrap();
    assert_eq!(missing.code(), Some(127));
    if !can_govern() {
        return;
    }
    let unread = broadleaf(&[&["run", "--format", "json"], &program[..]].concat())
        .stdout(unread())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let full = run(&[&["run", "-o", "/dev/full"], &program[..]].concat());
    for output in [unread, full] {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("cannot report what was done"), "{said}");
    }
}

#[test]
fn processes_that_run_already_are_looked_after_for_a_while() {
    if !can_attach() || !is_installed("python3") {
        return;
    }
    let mut program = Python::start(&touching(64, 1, 20.0));
    let pid = program.child.id().to_string();
    let output = run(&["attach", &pid, "--for", "1.5", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&succeeded(&output)).unwrap();
    assert!(report["promotions"].as_u64().unwrap() >= 30, "{report}");
    assert_eq!(report["exit_status"], serde_json::Value::Null);
    assert_eq!(report["processes"][0]["pid"], program.child.id());
    // It took 16,384 faults to fill the memory, before it was looked at.
    let faults = report["page_faults"].as_u64().unwrap();
    assert!(faults < 8000, "{faults} faults since the first look");
    assert!(program.child.try_wait().unwrap().is_none());
    // Asked to end, it ends well and says what it did.
    let child = broadleaf(&["attach", &pid])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("under pop-256"),
        "{}",
        stderr(&output)
    );
    let missing = refused(&run(&["attach", "4194304"]));
    assert!(missing.contains("there is no process 4194304"), "{missing}");
}

#[test]
fn without_the_right_the_program_runs_and_the_reason_is_said() {
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || !is_installed("setpriv") {
        eprintln!("skipped: this takes root and setpriv");
        return;
    }
    // The command lies where another user may not look, so it is run without rights and not as
    // another.
    let unprivileged = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--bounding-set=-all", "--inh-caps=-all"])
            .arg(binary());
        command.args(arguments).output().unwrap()
    };
    let output = unprivileged(&["run", "--", "sh", "-c", "echo ran; exit 4"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert_eq!(output.stdout, b"ran\n");
    assert!(said.contains("sudo setcap cap_sys_nice+ep"), "{said}");
    let attached = unprivileged(&["attach", &std::process::id().to_string()]);
    assert_eq!(attached.status.code(), Some(1));
    assert!(
        stderr(&attached).contains("setcap"),
        "{}",
        stderr(&attached)
    );
}
