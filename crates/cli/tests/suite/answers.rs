//! The answer of a comparison: the run time, and what to type now.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use broadleaf_study::answer::kernel::SETTINGS;
use serde_json::Value;

use crate::support::live::{can_govern, is_installed};
use crate::support::{broadleaf, folder, run, stderr, succeeded};

/// A program in Perl whose hash takes some MiB, and which reads it at scattered places.
const PAIRS: &str = "for (1 .. 20000) { $h{$_ * 7919 % 600011} = $_ x 9 } \
                     for (1 .. 20000) { $n += length $h{$_ * 104729 % 600011} // 0 }";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn path_of(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// The recommendations of JSON and of the table are one, with equal commands.
#[test]
fn table_and_json_give_one_recommendation() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    let trace = path_of(&golden);
    for asked in [&["--policy", "greedy,pop-64"][..], &[]] {
        let table = succeeded(&run(&[&["compare", trace], asked].concat()));
        let text = succeeded(&run(
            &[&["compare", trace, "--format", "json"], asked].concat()
        ));
        let answer = json(&text);
        let advice = &answer["advice"][0];
        let sentence = advice["sentence"].as_str().expect("a sentence");
        assert!(table.contains(sentence), "{sentence}\n{table}");
        let run_time = advice["run_time"].as_str().expect("a run time");
        assert!(run_time.contains("an estimate from a table") && table.contains(run_time));
        let commands = advice["commands"].as_array().expect("commands");
        assert!(!commands.is_empty());
        for suggested in commands {
            let command = suggested["command"].as_str().expect("a command");
            assert!(table.contains(command), "{command}\n{table}");
        }
        let first = commands[0]["command"].as_str().expect("a command");
        assert!(first.starts_with("broadleaf run --baseline 7 "), "{first}");
        for result in answer["results"].as_array().expect("results") {
            let run_time = &result["run_time"];
            assert_eq!(run_time["basis"], "table");
            let [low, middle, high] = ["ratio_low", "ratio", "ratio_high"]
                .map(|name| run_time[name].as_f64().expect("a ratio"));
            assert!(low <= middle && middle <= high, "{run_time}");
        }
    }
}

/// Linux with the settings of this machine is compared by default.
#[test]
fn the_kernel_s_own_settings_are_among_the_default_policies() {
    if !Path::new(SETTINGS).join("enabled").is_file() {
        eprintln!("skipped: this kernel has no huge pages");
        return;
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    let answer = json(&succeeded(&run(&[
        "compare",
        path_of(&golden),
        "--format",
        "json",
    ])));
    let results = answer["results"].as_array().expect("results");
    let last = results.last().expect("results");
    let policy = last["policy"].as_str().expect("a policy");
    assert!(policy.starts_with("linux"), "{policy}");
    assert_eq!(last["asked"], last["policy"]);
    assert_eq!(last["accesses"], results[0]["accesses"]);
    // The others are replayed without frames, as before.
    assert!(last.get("fault_cycles").is_none(), "{last}");
}

/// A recording with measured ends gives seconds. Both ends are reached by a heap from `mmap`.
#[test]
fn a_recording_holds_both_ends_and_a_comparison_gives_seconds() {
    if !can_govern() || !is_installed("perl") {
        return;
    }
    let folder = folder("answers-measured");
    let trace = folder.join("pairs.bl");
    let trace = path_of(&trace);
    let output = run(&["record", "--measure", "2", "-o", trace, "perl", "-e", PAIRS]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("measured: user time ") && said.contains("(2 rounds)"),
        "{said}"
    );
    assert!(
        said.contains(&format!("next: broadleaf compare {trace}")),
        "{said}"
    );
    let answer = json(&succeeded(&run(&[
        "compare",
        trace,
        "--format",
        "json",
        "--policy",
        "4k,pop-256",
    ])));
    for result in answer["results"].as_array().expect("results") {
        let run_time = &result["run_time"];
        assert_eq!(run_time["basis"], "measured", "{run_time}");
        let seconds = run_time["user_seconds"]["middle"]
            .as_f64()
            .expect("seconds");
        assert!(seconds > 0.0 && seconds < 60.0, "{seconds}");
        assert!(run_time["fault_seconds"]["saved"].is_f64(), "{run_time}");
        let [low, middle, high] = ["low", "middle", "high"]
            .map(|name| run_time["system_seconds"][name].as_f64().expect(name));
        assert!(low <= middle && middle <= high, "{run_time}");
    }
    let csv = [
        "compare",
        trace,
        "--format",
        "csv",
        "--policy",
        "4k,pop-256",
    ];
    let csv = succeeded(&run(&csv));
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    for (name, pointer) in [
        ("run_time_user_seconds_low", "/user_seconds/low"),
        ("run_time_system_seconds", "/system_seconds/middle"),
        ("run_time_system_seconds_high", "/system_seconds/high"),
        ("fault_seconds_saved", "/fault_seconds/saved"),
        ("zeroing_seconds_paid", "/fault_seconds/paid"),
    ] {
        let column = rows[0].iter().position(|head| *head == name).expect(name);
        let said: f64 = rows[2][column].parse().expect(name);
        let value = answer["results"][1]["run_time"].pointer(pointer);
        assert_eq!(value.and_then(Value::as_f64), Some(said), "{name}");
    }
    let notes = answer["notes"].as_array().expect("notes").iter();
    let mut of_seconds = notes
        .filter_map(Value::as_str)
        .filter(|note| note.starts_with("seconds"));
    assert!(
        of_seconds
            .next()
            .is_some_and(|note| note.contains("only shares them out"))
    );
    let base = &answer["results"][0]["run_time"];
    assert_eq!(base["ratio"], 1.0);
    let table = succeeded(&run(&["compare", trace, "--policy", "4k,greedy"]));
    assert!(table.contains("  user time  "), "{table}");
    assert!(table.contains("  system time  "), "{table}");
    assert!(table.contains("\nPage faults: greedy "), "{table}");
    let has_policy = table.contains("Measured: the recording holds run times");
    let stays = table.contains("What to type now, for 4k:");
    assert!(has_policy || stays, "{table}");
    // The recording holds both ends. No run has shown the chosen policy yet.
    assert!(!table.contains("measure the run time"), "{table}");
    assert_eq!(table.contains("--baseline 7"), !stays, "{table}");
}

/// The program's input is a file: each of its runs reads it from where it was.
#[test]
fn each_measured_run_reads_the_file_on_standard_input() {
    if !can_govern() {
        return;
    }
    let folder = folder("answers-input");
    let (input, lines) = (folder.join("input"), folder.join("lines"));
    fs::write(&input, "a line\n".repeat(1000)).expect("a file");
    let script = format!("wc -l >> {}", path_of(&lines));
    let mut command = broadleaf(&["run", "--baseline", "1", "--", "sh", "-c", &script]);
    command.stdin(fs::File::open(&input).expect("a file"));
    let output = command.output().expect("the command ends");
    assert!(output.status.success(), "{}", stderr(&output));
    let counted = fs::read_to_string(&lines).expect("the runs wrote");
    let counted: Vec<&str> = counted.lines().map(str::trim).collect();
    // Four kinds of runs, and a round of them that is dropped.
    assert_eq!(counted, ["1000"; 8], "{counted:?}");
}

/// Both ends are measured with their page sizes, although the program forbids huge pages to itself
/// and takes its memory from `mmap`.
#[test]
fn a_baseline_reaches_both_ends_of_a_program_that_forbids_huge_pages() {
    if !can_govern() || !is_installed("python3") {
        return;
    }
    // 41 is PR_SET_THP_DISABLE, 15 MADV_NOHUGEPAGE.
    let script = "import ctypes, mmap, time
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
memory = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(15)
for page in range(64 << 8): memory[page << 12] = 1
time.sleep(1)
";
    let output = run(&[
        "run",
        "--baseline",
        "1",
        "--format",
        "json",
        "python3",
        "-c",
        script,
    ]);
    let report = json(&succeeded(&output));
    let of = |way: &str| report[way].as_array().expect(way).clone();
    for way in ["base_pages", "huge_pages", "with", "without"] {
        let runs = of(way);
        assert_eq!(runs.len(), 1, "one round is dropped");
        let [cpu, user, system] = ["cpu_seconds", "user_seconds", "system_seconds"]
            .map(|name| runs[0][name].as_f64().expect(name));
        assert!((cpu - user - system).abs() < 1e-6 && user > 0.0);
    }
    let huge = of("huge_pages")[0]["huge_bytes_peak"]
        .as_u64()
        .expect("bytes");
    assert!(huge >= 60 << 20, "{huge}");
    // The governor of the policy obeys the program.
    let with = of("with")[0]["huge_bytes_peak"].as_u64().expect("bytes");
    assert!(with < 8 << 20, "{with}");
    let faults = |way| of(way)[0]["page_faults"].as_u64().expect("faults");
    assert!(faults("base_pages") >= 64 << 8);
}

/// The tenth run is ended by a signal: four runs were dropped, and four are a whole round.
#[test]
fn an_interrupted_baseline_keeps_its_whole_rounds() {
    if !can_govern() {
        return;
    }
    let count = folder("interrupted-baseline").join("runs");
    fs::write(&count, "0").expect("a file");
    let script = format!(
        "n=$(cat {0}); n=$((n + 1)); echo $n >{0}; [ $n -lt 10 ] || kill -TERM $$",
        count.display()
    );
    let asked = ["run", "--baseline", "5", "--format", "json", "sh", "-c"];
    let output = run(&[&asked[..], &[script.as_str()]].concat());
    assert!(!output.status.success());
    let report = json(&String::from_utf8_lossy(&output.stdout));
    for way in ["base_pages", "huge_pages", "with", "without"] {
        assert_eq!(report[way].as_array().map(Vec::len), Some(1), "{report}");
    }
    let said = stderr(&output);
    assert!(said.contains("24 runs of the program"), "{said}");
    assert!(said.contains("interrupted after 1 whole rounds"), "{said}");
}

/// The demo's files are gone when it ends, so no command that it suggests names them.
#[test]
fn the_commands_of_the_demo_work_after_it() {
    let folder = folder("demo-commands");
    let page = folder.join("demo.html");
    let output = run(&["demo", "--html", path_of(&page)]);
    if stderr(&output).contains("has no recorder") {
        eprintln!("skipped: {}", stderr(&output));
        return;
    }
    let text = succeeded(&output);
    assert!(text.contains("-- COMMAND ARGUMENTS..."), "{text}");
    assert!(!text.contains("broadleaf-work-"), "{text}");
    let page = fs::read_to_string(&page).expect("the page");
    let commands = page.split("\"command\":\"").skip(1);
    let commands: Vec<&str> = commands.filter_map(|text| text.split('"').next()).collect();
    assert!(!commands.is_empty());
    for command in commands {
        assert!(!command.contains("broadleaf-work-"), "{command}");
    }
}
