//! `compare --memory`: what can be asked for, what is refused, and what the results say.

mod costs;
mod fragmentation;

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::{file, folder, refused, run, stderr, succeeded};
use serde_json::Value;

fn golden(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let path = path.join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// `compare` of a small recording under two policies, with these arguments.
fn compare(arguments: &[&str]) -> std::process::Output {
    let trace = golden("blocks.bl");
    let first = ["compare", &trace, "--policy", "4k,greedy"];
    run(&[&first, arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let output = compare(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&succeeded(&output)).expect("the answer is JSON")
}

/// What clap says of arguments that it refuses.
fn usage(arguments: &[&str]) -> String {
    let output = compare(arguments);
    assert_eq!(output.status.code(), Some(2));
    stderr(&output)
}

#[test]
fn bad_sizes_are_refused_with_what_would_be_good() {
    for (size, expected) in [
        (
            "much",
            "\"much\" is no size: write it as 512M, 1.5G, 25% or unlimited",
        ),
        ("-5", "is no size"),
        ("1e30", "is no size"),
        ("nan", "is no size"),
        ("0%", "a percentage is more than 0"),
        ("nan%", "a percentage is more than 0"),
        ("x%", "\"x\" is no number of percent: write 25%"),
        ("75", "75 bytes hold no page; did you mean 75%?"),
        ("12.5", "12.5 bytes hold no page; did you mean 12.5%?"),
    ] {
        let text = usage(&[&format!("--memory={size}")]);
        assert!(text.contains(expected), "{size}: {text}");
    }
    let text = usage(&["--memory=1M", "--swap=50"]);
    assert!(text.contains("did you mean 50%?"), "{text}");
    let text = usage(&["--memory=1M", "--occupied=120%"]);
    assert!(text.contains("is no part of a whole"), "{text}");
    for size in ["0", "4095"] {
        let text = refused(&compare(&[&format!("--memory={size}")]));
        let expected = format!(
            "skylake: memory of {size} bytes has no room for a page of 4096 bytes: write a larger size, such as 512M"
        );
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn parts_of_memory_need_a_size_of_it() {
    for (option, why) in [
        ("--occupied=30%", "memory without limit has no shares"),
        ("--movable=30%", "memory without limit is not occupied"),
        ("--seed=2", "memory without limit is not occupied"),
        ("--swap=1G", "memory without limit never does"),
        ("--fragmentation=30%", "memory without limit has no parts"),
        (
            "--buddyinfo=/proc/buddyinfo",
            "the rest of memory is occupied up to its size",
        ),
    ] {
        let text = refused(&compare(&[option]));
        let name = option.split('=').next().expect("a name");
        assert!(text.contains(&format!("broadleaf: {name} ")), "{text}");
        let end = format!("{why}: add a size, such as --memory 75%");
        assert!(text.trim_end().ends_with(&end), "{option}: {text}");
    }
}

/// These options serve memory without limit, and the answer says so.
#[test]
fn the_rest_of_what_belongs_to_memory_needs_no_size() {
    let trace = golden("blocks.bl");
    for option in [
        "--files=memory",
        "--costs=disk=1",
        "--rate=1e6/s",
        "--allocator=best-fit",
        "--code",
        &format!("--after={trace}"),
    ] {
        let answer = json(&[option]);
        let name = option.split('=').next().expect("a name");
        let note = format!("{name} asks for memory that is modelled down to the frame");
        assert!(answer["notes"].to_string().contains(&note), "{option}");
        assert_eq!(answer["memory"]["bytes"], Value::Null, "{option}");
        let asked = json(&["--memory=unlimited", option]);
        assert_eq!(answer["results"], asked["results"], "{option}");
        assert!(!asked["notes"].to_string().contains("--memory limits it"));
    }
}

#[test]
fn what_ran_before_leaves_its_files_in_memory_and_is_named() {
    let trace = golden("sort.bl");
    let json = |arguments: &[&str]| -> Value {
        let first = ["compare", &trace, "--memory=64M", "--format=json"];
        let output = run(&[&first, arguments].concat());
        serde_json::from_str(&succeeded(&output)).expect("the answer is JSON")
    };
    let alone = json(&[]);
    let after = json(&["--after", &trace, "--after", &trace]);
    let of = |answer: &Value, field: &str| answer["results"][0][field].as_u64().expect("a figure");
    assert_eq!(of(&alone, "accesses"), of(&after, "accesses"));
    assert_eq!(of(&alone, "page_faults"), of(&after, "page_faults"));
    // What the program stored to of its files is its own, and no longer the file's.
    let read = |answer: &Value| of(answer, "file_pages_read");
    assert!(read(&after) > 0 && read(&after) < read(&alone) / 3);
    let before = after["memory"]["after"].as_array().expect("a list");
    assert_eq!(before.len(), 2);
    assert_eq!(before[0]["path"], trace.as_str());
    assert_eq!(before[0]["hash"], after["trace"]["hash"]);
    assert_ne!(
        alone["provenance"]["config_hash"],
        after["provenance"]["config_hash"]
    );
    let text = succeeded(&compare(&["--memory=64M", "--after", &trace]));
    assert!(text.contains(&format!(", after {trace};")), "{text}");
    let text = refused(&compare(&["--memory=64M", "--after=/nowhere.bl"]));
    assert!(text.contains("/nowhere.bl"), "{text}");
}

#[test]
fn a_buddyinfo_that_is_read_is_never_the_output() {
    let folder = folder("buddyinfo-output");
    let text = b"Node 0, zone   Normal   900 300 40 9 8 7 6 5 4 3 2\n";
    let path = file(&folder, "free", text);
    let output = compare(&["--memory=64M", "--buddyinfo", &path, "-o", &path, "--force"]);
    refused(&output);
    assert_eq!(std::fs::read(&path).expect("it is there"), text);
}

#[test]
fn a_text_comes_to_its_end() {
    let lines: Vec<String> = (0..100)
        .map(|page| format!(" S {:x},8\n", 0x10000 + 4096 * page))
        .collect();
    let text = lines.concat();
    let trace = file(&folder("text"), "text.lackey", text.as_bytes());
    let rest = ["--policy=4k", "--memory=1M", "--format=json"];
    let of_file = run(&[&["compare", &trace, "--after", &trace], &rest[..]].concat());
    let of_input = support::run_with(&[&["compare", "-"], &rest[..]].concat(), text.as_bytes());
    for output in [of_file, of_input] {
        let answer: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
        assert_eq!(answer["results"][0]["page_faults"], 100);
    }
}

#[test]
fn what_is_wrong_with_a_trace_that_ran_before_is_said_of_that_one() {
    // An address that no processor translates.
    let text = " L 0100000000000000,8\n";
    let wrong = file(&folder("before"), "wrong.lackey", text.as_bytes());
    let text = refused(&compare(&["--memory=64M", "--after", &wrong]));
    let said = format!("{wrong}: the address 0x100000000000000 is not canonical");
    assert!(text.contains(&said), "{text}");
}

#[test]
fn a_policy_that_needs_frames_gets_memory_without_limit() {
    let blocks = golden("blocks.bl");
    let of = |arguments: &[&str]| {
        let all = [&["compare", &*blocks, "--format=json"], arguments].concat();
        let json: Value = serde_json::from_str(&succeeded(&run(&all))).expect("JSON");
        json
    };
    let mut chosen = of(&["--policy=4k,navarro"]);
    let asked = of(&["--policy=4k,navarro", "--memory=unlimited"]);
    // No run time is estimated for memory that was asked for.
    for result in chosen["results"].as_array_mut().expect("results") {
        assert!(result["run_time"].is_object());
        result["run_time"] = Value::Null;
    }
    assert_eq!(chosen["results"], asked["results"]);
    let notes = chosen["notes"].to_string();
    assert!(notes.contains("navarro allocates frames: every policy has memory without limit"));
    assert!(!asked["notes"].to_string().contains("without limit"));
    // A machine without 4 KiB pages needs frames too.
    let machine = of(&["--policy=4k", "--machine=alpha21264"]);
    assert!(
        machine["notes"]
            .to_string()
            .contains("alpha21264 has no TLB for")
    );
}

/// A curve of the model does not change any other count.
#[test]
fn curves_are_counted_in_every_memory() {
    let blocks = golden("blocks.bl");
    for rest in [
        &["--policy=navarro"][..],
        &["--policy=greedy", "--machine=zen4"],
        &["--policy=greedy", "--memory=64M"],
    ] {
        let of = |more: &[&str]| -> Value {
            let all = [&["compare", &*blocks, "--format=json"], rest, more].concat();
            serde_json::from_str(&succeeded(&run(&all))).expect("JSON")
        };
        let mut with = of(&["--curve"])["results"].take();
        let mut without = of(&[])["results"].take();
        for (with, without) in with
            .as_array_mut()
            .expect("results")
            .iter_mut()
            .zip(without.as_array_mut().expect("results"))
        {
            let curve = with["curve"].take();
            let points = curve.as_array().expect("a curve");
            assert!(points.iter().any(|point| point["misses"] != 0), "{rest:?}");
            without["curve"] = Value::Null;
            assert_eq!(with, without, "{rest:?}");
        }
        let all = [&["compare", &*blocks, "--curve"], rest].concat();
        let table = succeeded(&run(&all));
        assert!(
            table.contains("4k pages: misses against entries"),
            "{table}"
        );
    }
}

#[test]
fn rows_have_no_room_for_it() {
    for format in ["csv", "parquet"] {
        let format = format!("--format={format}");
        let text = refused(&compare(&["--memory=75%", "--over-time", &format]));
        assert!(text.contains("--format json has it"), "{text}");
    }
}

#[test]
fn a_broken_buddyinfo_is_refused_with_the_line() {
    let folder = folder("buddyinfo");
    let good = "Node 0, zone   Normal   900 300 40 9 8 7 6 5 4 3 2\n";
    let path = file(
        &folder,
        "broken",
        format!("{good}Node 0, zone\n").as_bytes(),
    );
    let text = refused(&compare(&["--memory=64M", "--buddyinfo", &path]));
    assert!(text.contains(&path) && text.contains("line 2"), "{text}");
    let text = refused(&compare(&["--memory=64M", "--buddyinfo", "/nowhere"]));
    assert!(text.contains("/nowhere"), "{text}");
    let path = file(&folder, "good", good.as_bytes());
    // It takes some 45 MiB, and what lies between.
    let text = refused(&compare(&["--memory=16M", "--buddyinfo", &path]));
    let (_, advised) = text.split_once("; --memory ").expect("advice");
    let (size, _) = advised.split_once(" would do").expect("advice");
    json(&["--memory", size, "--buddyinfo", &path]);
    let answer = json(&["--memory=64M", "--buddyinfo", &path]);
    assert_eq!(answer["memory"]["start"], "recorded");
}

#[test]
fn what_was_asked_for_stands_in_the_answer_and_in_its_hash() {
    let answer = json(&["--memory=32M", "--occupied=0.25", "--seed=9", "--swap=50%"]);
    let memory = &answer["memory"];
    assert_eq!(memory["bytes"], 32 << 20);
    assert_eq!(memory["swap_bytes"], 16 << 20);
    assert_eq!(
        (&memory["start"], &memory["files"]),
        (&"grouped".into(), &"disk".into())
    );
    assert_eq!(
        (memory["occupied"].as_f64(), &memory["seed"]),
        (Some(0.25), &9.into())
    );
    let unlimited = json(&["--memory=unlimited", "--swap=0%", "--files=memory"]);
    let memory = &unlimited["memory"];
    assert!(
        memory["bytes"].is_null() && memory["swap_bytes"] == 0,
        "{memory}"
    );
    let without = json(&[]);
    assert!(without.get("memory").is_none());
    let hash = |answer: &Value| answer["provenance"]["config_hash"].clone();
    assert_ne!(hash(&answer), hash(&unlimited));
    assert_ne!(hash(&without), hash(&unlimited));
}

#[test]
fn a_percentage_is_of_what_the_program_holds_without_superpages() {
    let peak = json(&[])["results"][0]["peak_resident_pages"].as_u64();
    let half = json(&["--memory=50%"])["memory"]["bytes"].as_u64();
    assert_eq!(half, peak.map(|pages| pages * 2048));
}

#[test]
fn samples_reach_from_the_peak_to_the_end() {
    let answer = json(&["--memory=75%"]);
    for result in answer["results"].as_array().expect("results") {
        let peak = result["peak_resident_pages"].as_u64().expect("a count");
        let seen = result["at_peak"]["resident_pages"]
            .as_u64()
            .expect("a count");
        assert!(
            seen <= peak && peak - seen <= peak / 64 + 512,
            "{seen} of {peak}"
        );
        let last = result["over_time"].as_array().and_then(|all| all.last());
        let last = last.expect("a sample");
        assert_eq!(last["time"], result["accesses"]);
        assert_eq!(last["resident_pages"], result["resident_pages"]);
        assert_eq!(last["page_faults"], result["page_faults"]);
    }
}

#[test]
fn what_stands_in_memory_is_not_read_from_the_disk() {
    let with = |files: &str| json(&["--memory=unlimited", files])["results"][1].clone();
    let (disk, memory) = (with("--files=disk"), with("--files=memory"));
    let read = disk["extra_disk_read_pages"].as_u64();
    assert!(read.is_some_and(|pages| pages > 0), "nothing to see");
    assert_eq!(memory["extra_disk_read_pages"], 0);
    assert_eq!(memory["file_pages_read"], 0);
    // Pages are filled as before, and not taken for zeroed ones.
    for same in ["extra_zeroed_pages", "peak_resident_pages", "promotions"] {
        assert_eq!(disk[same], memory[same], "{same}");
    }
}

#[test]
fn memory_that_is_used_up_is_a_line_and_no_row() {
    let enough_for_one = ["--memory=101%", "--swap=0%", "--files=memory"];
    let trace = golden("blocks.bl");
    let with = |policies: &str, format: &str| {
        let first = ["compare", &trace, "--policy", policies, "--format", format];
        succeeded(&run(&[&first[..], &enough_for_one].concat()))
    };
    let answer: Value = serde_json::from_str(&with("4k,greedy", "json")).expect("JSON");
    let (base, greedy) = (&answer["results"][0], &answer["results"][1]);
    assert!(base.get("out_of_memory_after").is_none());
    let end = greedy["out_of_memory_after"].as_u64().expect("it ends");
    assert_eq!(greedy["accesses"], end);
    assert_eq!(answer["advice"][0]["policy"], "4k");
    let csv = with("4k,greedy", "csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = lines[0]
        .iter()
        .position(|name| *name == "out_of_memory_after");
    let column = column.expect("a column");
    assert_eq!(
        (lines[1][column], lines[2][column]),
        ("", &*end.to_string())
    );
    let table = with("4k,greedy", "table");
    let rows = |name: &str| {
        let mut lines = table.lines();
        lines.any(|line| line.get(2..).is_some_and(|row| row.starts_with(name)))
    };
    assert!(rows("4k ") && !rows("greedy "), "{table}");
    assert!(
        table.contains("\ngreedy: memory was used up after "),
        "{table}"
    );
    let only = with("greedy", "table");
    assert!(only.contains("No recommendation: every policy"), "{only}");
}
