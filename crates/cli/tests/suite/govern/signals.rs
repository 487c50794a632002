//! Signals to the program and to its governor.

use super::*;

#[test]
fn killing_the_governor_leaves_the_program_running() {
    if !can_govern() {
        return;
    }
    let mut governor = broadleaf(&["run", "--", "sleep", "30"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let program = eventually(|| {
        let children = format!("/proc/{0}/task/{0}/children", governor.id());
        std::fs::read_to_string(children)
            .ok()?
            .split_whitespace()
            .next()?
            .parse::<u32>()
            .ok()
    });
    governor.kill().unwrap();
    governor.wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let name = std::fs::read_to_string(format!("/proc/{program}/comm")).unwrap_or_default();
    assert_eq!(name, "sleep\n");
    let _ = Command::new("kill").arg(program.to_string()).status();
}

#[test]
fn signals_reach_the_program() {
    let folder = folder("govern-signals");
    let ready = folder.join("ready");
    let script = format!(
        "trap 'echo caught; exit 5' TERM USR1 INT; : > {}; while :; do sleep 0.05; done",
        ready.display()
    );
    for signal in ["TERM", "USR1", "INT"] {
        // What tests were started to ignore (as in the background of a script) so do the programs
        // that they start.
        if signal == "INT" && ignores(SIGINT) {
            eprintln!("skipped: interrupts are ignored here");
            continue;
        }
        let _ = std::fs::remove_file(&ready);
        let child = broadleaf(&["run", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        eventually(|| ready.exists().then_some(()));
        Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(5),
            "{signal}: {}",
            stderr(&output)
        );
        assert_eq!(output.stdout, b"caught\n", "{signal}");
    }
}

#[test]
fn a_program_that_leaves_a_core_leaves_one_only() {
    use std::os::unix::process::ExitStatusExt;
    let folder = folder("govern-core");
    let script = "ulimit -c unlimited 2>/dev/null; exec \"$0\" run -- sh -c 'kill -SEGV $$'";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(binary())
        .current_dir(&folder)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(11), "{status}");
    assert!(!status.core_dumped(), "{status}");
}

#[test]
fn whoever_ignores_the_ends_of_children_hears_of_the_program_s() {
    // Some shells do not ignore the signal despite `trap`.
    if !is_installed("bash") {
        return;
    }
    let script = "trap '' CHLD; exec \"$0\" run -- sh -c 'exit 3'";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(binary())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}

#[test]
fn what_the_program_sends_to_its_group_reaches_it_once() {
    // It sends itself a signal in the way of `kill 0`, and to what started it.
    let script = "trap 'echo caught' TERM; kill -TERM $$ $PPID; sleep 0.5; exit 6";
    let output = run(&["run", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert_eq!(output.stdout, b"caught\n");
}

#[test]
fn a_signal_to_the_whole_group_ends_the_program_and_is_told() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    if !can_govern() {
        return;
    }
    let folder = folder("govern-group");
    let ready = folder.join("ready");
    let script = format!(": > {}; exec sleep 30", ready.display());
    for _ in 0..5 {
        let _ = std::fs::remove_file(&ready);
        let child = broadleaf(&["run", "--", "sh", "-c", &script])
            .process_group(0)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        eventually(|| ready.exists().then_some(()));
        Command::new("kill")
            .args(["-TERM", "--", &format!("-{}", child.id())])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.signal(), Some(15), "{said}");
        assert!(said.contains(", ended by signal 15 (SIGTERM)\n"), "{said}");
    }
}
