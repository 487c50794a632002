//! The guard of the hot path: Callgrind counts the instructions of a few small jobs, and the test
//! compares them with stored counts.
//!
//! Seconds differ from run to run by more than most changes are worth. Instruction counts do not
//! differ for the same compiler, profile, input and processor. The compiler is the one of
//! `rust-toolchain.toml`. The inputs are golden or generated. The processor is the one that
//! Valgrind shows the program on any machine. `instructions.toml` beside this crate's manifest
//! holds the counts and the reason for each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The maximum difference of a count from the stored one, in percent, either way.
const MOST_PERCENT: f64 = 3.0;

/// A job of `broadleaf-guarded` with its input, its answer and its count.
#[derive(Debug)]
struct Guard {
    name: String,
    job: String,
    input: String,
    answer: u64,
    count: u64,
    why: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Parses `instructions.toml`.
fn guards(text: &str) -> Vec<Guard> {
    let table: toml::Table = text.parse().expect("instructions.toml is TOML");
    let one = |(name, guard): (&String, &toml::Value)| {
        let text = |field: &str| {
            let found = guard.get(field).and_then(toml::Value::as_str);
            let found = found.unwrap_or_else(|| panic!("{name} has no {field}"));
            assert!(!found.is_empty(), "{field} of {name} is empty");
            found.to_owned()
        };
        let number = |field: &str| {
            let found = guard.get(field).and_then(toml::Value::as_integer);
            let found = found.and_then(|number| u64::try_from(number).ok());
            found.unwrap_or_else(|| panic!("{name} has no {field}"))
        };
        Guard {
            job: text("job"),
            input: text("input"),
            answer: number("answer"),
            count: number("count"),
            why: text("why"),
            name: name.clone(),
        }
    };
    table.iter().map(one).collect()
}

/// Returns the program to count. `make test` has built it, or else it is built here in the same
/// way.
fn guarded() -> PathBuf {
    if let Some(built) = std::env::var_os("BROADLEAF_GUARDED") {
        return PathBuf::from(built);
    }
    let output = Command::new("cargo")
        .args(["build", "--profile", "checked", "--locked", "--quiet"])
        .args(["--bin", "broadleaf-guarded", "--message-format", "json"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let messages = String::from_utf8(output.stdout).expect("messages are UTF-8");
    let paths = messages.lines().filter_map(|line| {
        let (_, path) = line.split_once("\"executable\":\"")?;
        path.split_once('"').map(|(path, _)| PathBuf::from(path))
    });
    let found = paths
        .into_iter()
        .find(|path| path.ends_with("broadleaf-guarded"));
    found.expect("cargo names what it built")
}

/// Returns the answer of a job, and its number of instructions.
fn run(program: &Path, guard: &Guard) -> (u64, u64) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.callgrind", guard.name));
    let mut to = std::ffi::OsString::from("--callgrind-out-file=");
    to.push(&out);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(to)
        // Counting begins and ends with this function, mangled or not.
        .arg("--toggle-collect=*broadleaf_guarded*collected*")
        .arg(program)
        .args([&guard.job, &guard.input])
        .current_dir(root())
        .output()
        .expect("valgrind runs");
    assert!(
        output.status.success(),
        "{}: {}",
        guard.name,
        String::from_utf8_lossy(&output.stderr)
    );
    let answer = String::from_utf8(output.stdout).expect("the answer is text");
    let counted = std::fs::read_to_string(&out).expect("Callgrind writes what it counted");
    (
        answer.trim().parse().expect("the answer is a number"),
        totals(&counted).expect("Callgrind writes totals"),
    )
}

/// Returns the number of instructions in Callgrind's output.
fn totals(counted: &str) -> Option<u64> {
    let mut lines = counted.lines();
    lines.find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

/// Returns the difference of `now` from `kept` in percent. More is positive.
fn percent(kept: u64, now: u64) -> f64 {
    100.0 * (now as f64 - kept as f64) / kept as f64
}

/// Returns the fault of a job, in its answer or in its count.
fn departure(guard: &Guard, answer: u64, count: u64) -> Option<String> {
    let Guard {
        name, count: kept, ..
    } = guard;
    if answer != guard.answer {
        let right = guard.answer;
        return Some(format!("{name}: the answer is {answer}, should be {right}"));
    }
    let change = percent(*kept, count);
    (change.abs() > MOST_PERCENT).then(|| {
        format!(
            "{name}: {count} instructions, {kept} are kept: {change:+.1} percent\n    kept \
             because: {}",
            guard.why
        )
    })
}

#[test]
fn instruction_counts_have_not_moved() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.toml");
    let text = std::fs::read_to_string(kept).expect("instructions.toml is readable");
    let guards = guards(&text);
    assert!(guards.len() >= 3, "{guards:?}");
    let program = guarded();
    let mut table = String::new();
    let mut departures = Vec::new();
    for guard in &guards {
        let (answer, count) = run(&program, guard);
        let change = percent(guard.count, count);
        let _ = writeln!(
            table,
            "{:<18} count = {count} ({change:+.2} percent)",
            guard.name
        );
        departures.extend(departure(guard, answer, count));
    }
    print!("{table}");
    assert!(
        departures.is_empty(),
        "instruction counts of the hot path moved by more than {MOST_PERCENT} percent:\n\n{}\n\n\
         All of them:\n{table}\n\
         If the change means to move them, or accepts the cost: write the new counts into \
         crates/bench/instructions.toml, each with the reason as its `why`.\n\
         CONTRIBUTING.md explains how to find their cause.\n",
        departures.join("\n")
    );
}

/// The same job takes the same number of instructions each time, to a thousandth.
#[test]
fn a_count_repeats() {
    let guard = Guard {
        name: "repeats".to_owned(),
        job: "decode".to_owned(),
        input: "tests/golden/sort.bl".to_owned(),
        answer: 0,
        count: 0,
        why: "it is not kept".to_owned(),
    };
    let program = guarded();
    let (first, second) = (run(&program, &guard).1, run(&program, &guard).1);
    assert!(first > 1_000_000, "next to nothing was counted: {first}");
    assert!(percent(first, second).abs() < 0.1, "{first} and {second}");
}

/// The guard can fail.
#[test]
fn a_departure_is_reported() {
    let text =
        "[decode]\njob = \"decode\"\ninput = \"zipf\"\nanswer = 7\ncount = 1000\nwhy = \"first\"\n";
    let [guard] = guards(text).try_into().expect("one guard");
    assert_eq!(departure(&guard, 7, 1030), None);
    assert_eq!(departure(&guard, 7, 970), None);
    assert_eq!(
        departure(&guard, 7, 1031).as_deref(),
        Some("decode: 1031 instructions, 1000 are kept: +3.1 percent\n    kept because: first")
    );
    assert_eq!(
        departure(&guard, 7, 969).as_deref(),
        Some("decode: 969 instructions, 1000 are kept: -3.1 percent\n    kept because: first")
    );
    assert_eq!(
        departure(&guard, 8, 1000).as_deref(),
        Some("decode: the answer is 8, should be 7")
    );
    assert_eq!(totals("events: Ir\ntotals: 42\n"), Some(42));
    assert_eq!(totals("events: Ir\n"), None);
}
