//! Recordings are compared with Lackey, reference by reference.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use broadleaf_import::LackeyReader;
use broadleaf_trace::{Grain, Visit};

use crate::support::{can_record, compiled, folder, has, merge, recorded, totals};

/// Runs a program under Lackey and imports the result. The environment is `variable` and Valgrind's
/// additions.
fn under_lackey(program: &Path, library: &Path, variable: &str) -> Vec<Visit> {
    let log = library.join("log");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let launcher = std::env::split_paths(&path)
        .flat_map(|folder| ["valgrind.bin", "valgrind"].map(|name| folder.join(name)))
        .find(|launcher| launcher.is_file())
        .expect("valgrind is installed");
    let (name, value) = variable.split_once('=').expect("a variable");
    let status = Command::new(launcher)
        .env_clear()
        .env("VALGRIND_LIB", library)
        .env(name, value)
        .args(["--tool=lackey", "--trace-mem=yes", "--vgdb=no"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .stdout(Stdio::null())
        .status()
        .expect("valgrind starts");
    assert!(status.success());
    let text = std::fs::read_to_string(log).expect("Lackey's text");
    let text = one_load_each(&text);
    let mut reader = LackeyReader::new(text.as_bytes(), Grain::Page);
    let mut all = Vec::new();
    let mut batch = Vec::new();
    while reader.read(&mut batch).expect("Lackey's text can be read") {
        batch.drain(..).for_each(|visit| merge(&mut all, visit));
    }
    all
}

/// Returns Lackey's text with one load for each locked read-modify-write. Lackey writes the load
/// that Valgrind begins with, and then the compare-and-swap, which loads once more: ` L 1000,8` and
/// ` M 1000,8`.
fn one_load_each(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_kept = |at: usize| {
        let load = lines[at].strip_prefix(" L ");
        let next = lines.get(at + 1).and_then(|next| next.strip_prefix(" M "));
        load.is_none() || load != next
    };
    let kept = (0..lines.len()).filter(|&at| is_kept(at));
    kept.flat_map(|at| [lines[at], "\n"]).collect()
}

/// Creates a folder for Valgrind's core whose name is as long as the recorder's folder name. The
/// core puts the name on the program's stack, so equal lengths give equal stack addresses.
fn library(of: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let installed = [
        "/usr/libexec/valgrind",
        "/usr/lib/x86_64-linux-gnu/valgrind",
    ]
    .map(Path::new)
    .into_iter()
    .find(|folder| folder.join("lackey-amd64-linux").is_file());
    let Some(installed) = installed else {
        eprintln!("skipped: Lackey is not installed");
        return None;
    };
    let folder = tempfile::Builder::new()
        .prefix("broadleaf-tool-")
        .tempdir()
        .expect("a folder");
    for name in [of, "default.supp", "vgpreload_core-amd64-linux.so"] {
        symlink(installed.join(name), folder.path().join(name)).expect("a link");
    }
    let path = folder.path().to_owned();
    Some((folder, path))
}

#[test]
pub(crate) fn every_reference_is_lackeys() {
    // With a variable of this name in the environment, the recorder leaves the name as it is. A
    // static program only looks at names.
    const VARIABLE: &str = "LD_PRELOAD=libc.so.6";
    if !can_record() {
        return;
    }
    let place = folder();
    let (Some(program), Some((_keep, library))) = (
        compiled("mixed", &["-static"], place.path()),
        library("lackey-amd64-linux"),
    ) else {
        return;
    };
    let theirs = under_lackey(&program, &library, VARIABLE);
    let command = ["env", "-i", VARIABLE].map(PathBuf::from);
    let recording = recorded(&[&command[..], &[program]].concat());
    assert_eq!(recording.spaces, 2, "env, and the program it executes");
    let mut ours = recording.visits(1);
    // Instructions after the last reference count with that reference in the importer, and by
    // themselves in the trace.
    if let Some(rest) = ours.pop_if(|visit| visit.accesses() == 0) {
        ours.last_mut().expect("a reference").instructions += rest.instructions;
    }
    let (a, b) = (totals(&theirs), totals(&ours));
    eprintln!(
        "Lackey: {a:?}, {} visits; here: {b:?}, {} visits",
        theirs.len(),
        ours.len()
    );
    // Pages keep their order. A page that Lackey's core placed elsewhere corresponds to one other
    // page here.
    let mut moved: BTreeMap<u64, u64> = BTreeMap::new();
    let mut back: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        let page = *moved.entry(theirs.unit).or_insert(ours.unit);
        let from = *back.entry(ours.unit).or_insert(theirs.unit);
        let expected = Visit {
            unit: page,
            ..*theirs
        };
        assert_eq!(
            (*ours, from),
            (expected, theirs.unit),
            "visit {at}: Lackey has {theirs:?}"
        );
    }
    assert_eq!(
        (a.loads, a.stores, theirs.len()),
        (b.loads, b.stores, ours.len())
    );
    assert_eq!(a.instructions, b.instructions);
    // The program's own file has the same place in both.
    assert!(moved.iter().all(|(from, to)| *from >= 0x800 || from == to));
}

/// Returns the path of the interpreter itself. The program in PATH may be a script that starts the
/// interpreter.
fn python() -> Option<String> {
    if !has("python3") {
        return None;
    }
    let ask = ["-c", "import sys; print(sys.executable, end='')"];
    let output = Command::new("python3").args(ask).output().ok()?;
    String::from_utf8(output.stdout)
        .ok()
        .filter(|name| !name.is_empty())
}

#[test]
pub(crate) fn two_recordings_are_the_same() {
    if !can_record() || !has("gzip") {
        return;
    }
    let place = folder();
    let file = place.path().join("text");
    let line = "what is recorded twice is recorded alike, line ";
    let text: String = (0..800)
        .map(|n| format!("{line}{}\n", n * n % 7919))
        .collect();
    std::fs::write(&file, text).expect("a file to pack");
    let packing = format!("exec gzip -9c {} >/dev/null", file.display());
    let gzip = ["env", "-u", "OLDPWD", "sh", "-c", &packing].map(PathBuf::from);
    let mut commands = vec![gzip.to_vec()];
    if let Some(python) = python() {
        let run = "d={str(i):i for i in range(5000)};assert len(d)==5000";
        let command = ["env", "PYTHONHASHSEED=0", &python, "-Sc", run];
        commands.push(command.map(PathBuf::from).to_vec());
    }
    for command in commands {
        let recordings = [recorded(&command), recorded(&command)];
        let last = recordings[0].spaces - 1;
        let [first, second] = recordings.map(|recording| recording.visits(last));
        eprintln!("{command:?}: {:?}, {:?}", totals(&first), totals(&second));
        assert_eq!(totals(&first), totals(&second), "{command:?}");
        assert!(first == second, "{command:?}: the visits are the same");
    }
}
