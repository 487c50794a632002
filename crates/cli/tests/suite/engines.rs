//! `record --engine`: QEMU and Valgrind record the same references, and policies have the same
//! misses on both recordings. Refusals name the option or the package.

#![allow(clippy::disallowed_macros, reason = "a test may print")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::live::is_installed;
use crate::support::{broadleaf, file, folder, refused, run, stderr, succeeded};

const COUNTS: [&str; 3] = ["loads", "stores", "instructions"];
/// The largest difference of counts: 0.1 percent.
const OF_COUNTS: f64 = 0.001;
/// The largest difference of misses: one percent.
const OF_MISSES: f64 = 0.01;

fn can_emulate() -> bool {
    let can = is_installed("qemu-x86_64");
    if !can {
        eprintln!("SKIPPED: qemu-x86_64 is not installed (apt-get install qemu-user)");
    }
    can
}

fn compiled(folder: &Path, compiler: &str) -> Option<PathBuf> {
    if !is_installed(compiler) {
        eprintln!("SKIPPED: {compiler} is not installed");
        return None;
    }
    let source = "../record/tests/recorder/programs/kinds.c";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = folder.join("kinds");
    let status = Command::new(compiler)
        .args(["-O2", "-static", "-o"])
        .args([&program, &source])
        .status()
        .expect("the compiler starts");
    assert!(status.success());
    Some(program)
}

fn json(arguments: &[&str]) -> Value {
    let all = [arguments, &["--format", "json"]].concat();
    serde_json::from_str(&succeeded(&run(&all))).expect("the answer is JSON")
}

fn recorded(folder: &Path, engine: &str, program: &Path) -> String {
    let trace = folder.join(format!("{engine}.bl")).display().to_string();
    let program = program.display().to_string();
    let arguments = ["record", "--engine", engine, "-o", &trace, "--", &program];
    let output = run(&arguments);
    succeeded(&output);
    let said = stderr(&output);
    assert!(said.contains("ended with exit status 0"), "{said}");
    trace
}

fn differ(ours: f64, theirs: f64) -> f64 {
    (ours - theirs).abs() / theirs.max(1.0)
}

/// Returns the misses of the second level by policy.
fn misses(trace: &str) -> BTreeMap<String, (f64, f64)> {
    let answer = json(&["compare", trace]);
    let results = answer["results"].as_array().expect("results").iter();
    let figure = |result: &Value, name: &str| result[name].as_f64().expect("a count");
    results
        .map(|result| {
            let policy = result["policy"].as_str().expect("a name").to_owned();
            let levels = (figure(result, "l1_misses"), figure(result, "l2_misses"));
            (policy, levels)
        })
        .collect()
}

#[test]
fn qemu_and_valgrind_count_the_same() {
    let folder = folder("engines");
    if !can_emulate() || !is_installed("valgrind") {
        return;
    }
    let Some(program) = compiled(&folder, "gcc") else {
        return;
    };
    let [ours, theirs] = ["qemu", "valgrind"].map(|engine| recorded(&folder, engine, &program));
    let counts = [&ours, &theirs].map(|trace| json(&["info", trace]));
    for name in COUNTS {
        let [ours, theirs] = [0, 1].map(|which| counts[which][name].as_f64());
        let (ours, theirs) = (ours.expect(name), theirs.expect(name));
        eprintln!("{name}: {ours} under QEMU, {theirs} under Valgrind");
        assert!(theirs > 1e6, "{name}: {theirs}");
        assert!(
            differ(ours, theirs) <= OF_COUNTS,
            "{name}: {ours}, {theirs}"
        );
    }
    let (ours, theirs) = (misses(&ours), misses(&theirs));
    assert!(theirs.len() >= 18, "{theirs:?}");
    for (policy, theirs) in theirs {
        let ours = ours[&policy];
        assert!(
            differ(ours.0, theirs.0) <= OF_MISSES && differ(ours.1, theirs.1) <= OF_MISSES,
            "{policy}: {ours:?} under QEMU, {theirs:?} under Valgrind"
        );
    }
}

#[test]
fn a_program_of_another_processor_is_recorded() {
    let folder = folder("engines-aarch64");
    if !can_emulate() {
        return;
    }
    let source = "int main(void) { static volatile int a[100000]; \
                  for (int i = 0; i < 100000; i++) a[i] += i; return 0; }\n";
    let source = file(&folder, "adds.c", source.as_bytes());
    let compiler = "aarch64-linux-gnu-gcc";
    if !is_installed(compiler) || !is_installed("qemu-aarch64") {
        eprintln!("SKIPPED: {compiler} or qemu-aarch64 is not installed");
        return;
    }
    for flag in ["-static", "-pie"] {
        let program = folder.join("adds");
        let built = Command::new(compiler)
            .args(["-O1", flag, &source, "-o"])
            .arg(&program)
            .status();
        assert!(built.expect("it starts").success());
        let trace = recorded(&folder, "qemu", &program);
        let info = json(&["info", &trace]);
        let loads = info["loads"].as_u64().expect("a count");
        assert!((100_000..200_000).contains(&loads), "{flag}: {loads}");
        assert_eq!(info["processes"][0]["exit_status"], 0);
        std::fs::remove_file(trace).expect("it can be removed");
    }
}

#[test]
fn what_the_engine_lacks_is_refused_by_name() {
    let folder = folder("engines-refused");
    let trace = folder.join("x.bl").display().to_string();
    let record = |more: &[&str]| {
        let all = [&["record", "--engine", "qemu", "-o", &trace], more].concat();
        broadleaf(&all).output().expect("it starts")
    };
    for (option, says) in [
        (
            &["--sites"][..],
            "--sites is an option of --engine valgrind",
        ),
        (
            &["--clock", "date"],
            "--clock date is an option of --engine",
        ),
        (
            &["--clock", "program"],
            "--clock program is an option of --engine",
        ),
        (
            &["--clock-rate", "7"],
            "--clock-rate is an option of --engine",
        ),
        (
            &["--policy", "4k"],
            "--policy is an option of --engine trap",
        ),
        (&["--machine", "skylake"], "an option of --engine trap"),
    ] {
        let line = refused(&record(&[option, &["--", "true"]].concat()));
        assert!(line.contains(says), "{line}");
    }
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    program[18] = 243; // RISC-V
    let program = file(&folder, "other", &program);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    let line = refused(&record(&["--", &program]));
    assert!(line.contains("another processor"), "{line}");
}

#[test]
fn a_missing_qemu_is_named_with_its_package() {
    let folder = folder("engines-missing");
    let trace = folder.join("x.bl").display().to_string();
    let output = broadleaf(&[
        "record",
        "--engine",
        "qemu",
        "-o",
        &trace,
        "--",
        "/bin/true",
    ])
    .env("PATH", &folder)
    .output()
    .expect("it starts");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("apt-get install qemu-user"), "{said}");
    // A QEMU without the option for plugins.
    let script = "#!/bin/sh\necho usage: -cpu\n";
    let qemu = file(&folder, "qemu-x86_64", script.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(qemu, mode).expect("a mode");
    let output = broadleaf(&[
        "record",
        "--engine",
        "qemu",
        "-o",
        &trace,
        "--",
        "/bin/true",
    ])
    .env("PATH", &folder)
    .output()
    .expect("it starts");
    let said = stderr(&output);
    assert!(said.contains("loads no plugins"), "{said}");
}
