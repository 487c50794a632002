//! `advise` from end to end: what comes back, in each shape, and what is refused.

mod formats;

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::programs::{MIB, Part, areas, map, program, range, recording, started, stores};
use crate::support::{
    broadleaf, file, folder, lackey, refused, run, run_unread, run_with, stderr, succeeded,
};
use broadleaf_trace::{Backing, Encoder, Event, Grain, Header};
use broadleaf_units::{FileId, SpaceId};
use serde_json::Value;

/// Nothing costs anything, so that whatever spares a walk or a fault is worth it.
const FREE: &str = "--costs=fault=0,zero-kib=0,copy-kib=0,promotion=0";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&succeeded(output)).expect("the answer is JSON")
}

/// Compares the advice for a small recording with a golden file for each `shape`.
/// `scripts/golden.sh` rewrites the file, and CHANGELOG.md says why it changed.
fn assert_golden(shape: &str, ending: &str) {
    let arguments = [
        "advise",
        "blocks.bl",
        "--files=memory",
        "--costs=zero-kib=50",
        "--format",
        shape,
    ];
    let output = broadleaf(&arguments).current_dir(golden()).output();
    let fresh = succeeded(&output.expect("the command was built for this test"));
    let kept = golden().join(format!("blocks.advise.{ending}"));
    if std::env::var_os("BROADLEAF_UPDATE").is_some() {
        std::fs::write(&kept, &fresh).expect("the advice is written");
    }
    let stands = std::fs::read_to_string(&kept).unwrap_or_default();
    assert_eq!(stands, fresh, "{} moved", kept.display());
}

#[test]
fn golden_advice_has_not_moved() {
    assert_golden("table", "txt");
    assert_golden("madvise", "c");
    assert_golden("cbmm", "cbmm.csv");
    assert_golden("mosalloc", "mosalloc.csv");
}

#[test]
fn json_has_the_promised_shape() {
    let folder = folder("advise-json");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let answer = json(&run(&["advise", &trace, "--format=json", FREE]));
    assert_eq!(answer["schema"], "broadleaf.advice/1");
    assert_eq!(answer["policy"], "offline(cycles=all,sizes=2m)");
    assert_eq!(answer["machine"], "skylake");
    assert_eq!(answer["exact"], false);
    assert_eq!(answer["trace"]["path"], trace.as_str());
    assert_eq!(answer["trace"]["accesses"], 60_000);
    assert_eq!(answer["memory"]["costs"]["fault"], 0);
    assert_eq!(answer["ranked_by"], "gain");
    for part in ["version", "commit", "config_hash", "host"] {
        assert!(answer["provenance"][part].is_string(), "{part}");
    }
    let policies: Vec<&Value> = answer["results"].as_array().unwrap().iter().collect();
    assert_eq!(policies.len(), 2);
    assert_eq!(policies[0]["policy"], "4k");
    assert_eq!(policies[1]["policy"], answer["policy"]);
    let ranges = answer["ranges"].as_array().unwrap();
    assert_eq!(ranges.len(), 8);
    let gains: Vec<i64> = ranges
        .iter()
        .map(|range| range["cycles_gained"].as_i64().unwrap())
        .collect();
    assert!(gains.is_sorted_by(|one, other| one >= other), "{gains:?}");
    let heap = ranges
        .iter()
        .find(|range| range["mapping"]["backing"] == "heap")
        .expect("one in the heap");
    assert_eq!(heap["pid"], 41);
    assert_eq!(heap["command"][0], "/bin/heat");
    assert_eq!(heap["superpages"], 1);
    assert_eq!(heap["superpage_bytes"], 2 * MIB);
    assert_eq!(heap["start"], areas()[5].start);
    assert_eq!(heap["end"], areas()[5].start + 2 * MIB);
    assert_eq!(heap["added_bytes"], 0);
    assert_eq!(heap["gained_per_added_kib"], Value::Null);
    // 256 of 512 pages are used.
    let half = ranges
        .iter()
        .find(|range| range["start"] == areas()[1].start)
        .expect("the one that is used in part");
    assert_eq!(half["added_bytes"], MIB);
    assert_eq!(half["faults_spared"], 255);
    assert!(half["gained_per_added_kib"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_best_are_told_by_what_is_asked() {
    let folder = folder("advise-top");
    let trace = file(&folder, "x.bl", &program(&areas(), 60_000, None));
    let starts = |arguments: &[&str]| -> Vec<u64> {
        let first = ["advise", &trace, "--format=json", FREE];
        let answer = json(&run(&[&first, arguments].concat()));
        let ranges = answer["ranges"].as_array().unwrap();
        assert_eq!(answer["ranges_left_out"], 8 - ranges.len());
        let starts = ranges.iter().map(|range| range["start"].as_u64().unwrap());
        starts.collect()
    };
    let areas = areas();
    // The one of two superpages gains most in all, the hottest one most for each byte.
    assert_eq!(starts(&["--top=1"]), [areas[4].start]);
    assert_eq!(starts(&["--top=1", "--by=byte"]).len(), 1);
    let by_byte = starts(&["--by=byte"]);
    let place = |of: usize| by_byte.iter().position(|start| *start == areas[of].start);
    assert!(
        place(2) < place(6),
        "three superpages of the same use: {by_byte:?}"
    );
    let table = succeeded(&run(&["advise", &trace, "--top=2", FREE]));
    assert!(
        table.contains("\nThe table shows the best 2 of 8 ranges. --top 8 shows all.\n"),
        "{table}"
    );
    assert!(table.contains("\nWhole gain: "), "{table}");
    assert_eq!(
        run(&["advise", &trace, "--top=0", FREE]).status.code(),
        Some(2)
    );
}

#[test]
fn nothing_that_pays_is_a_result() {
    let trace = golden().join("sort.bl");
    let trace = trace.to_str().unwrap();
    for (format, starts) in [
        ("table", "No range is worth a superpage"),
        ("json", "{"),
        ("madvise", "/* Where superpages pay in "),
        ("cbmm", ""),
        ("mosalloc", "type,pageSize,startOffset,endOffset\nbrk,-1,0,"),
    ] {
        let output = run(&["advise", trace, "--format", format]);
        let text = succeeded(&output);
        assert!(text.starts_with(starts), "{format}: {text}");
        let said = [text, stderr(&output)].concat();
        assert!(
            said.contains("No range is worth a superpage"),
            "{format}: {said}"
        );
    }
}

#[test]
fn a_trace_without_mappings_has_advice_without_names() {
    let folder = folder("advise-lackey");
    let path = file(&folder, "x.lackey", lackey(10_000).as_bytes());
    let answer = json(&run(&["advise", &path, "--format=json", FREE]));
    let ranges = answer["ranges"].as_array().unwrap();
    assert!(!ranges.is_empty());
    assert_eq!(ranges[0]["pid"], Value::Null);
    assert_eq!(ranges[0]["command"], Value::Array(Vec::new()));
    assert_eq!(ranges[0]["mapping"], Value::Null);
    let c = succeeded(&run(&["advise", &path, "--format=madvise", FREE]));
    assert!(c.contains("/* mapping not recorded, "), "{c}");
    for format in ["cbmm", "mosalloc"] {
        let output = run(&["advise", &path, "--format", format, FREE]);
        succeeded(&output);
        let notes = stderr(&output);
        assert!(
            notes.contains("the trace does not contain its mapping"),
            "{notes}"
        );
    }
    // From a pipe, too.
    let piped = run_with(
        &["advise", "-", "--format=json", FREE],
        lackey(10_000).as_bytes(),
    );
    assert_eq!(json(&piped)["ranges"], answer["ranges"]);
}

#[test]
fn pipes_and_files_give_the_same_on_any_number_of_threads() {
    let folder = folder("advise-pipes");
    let bytes = program(&areas(), 60_000, None);
    let path = file(&folder, "x.bl", &bytes);
    let expected = succeeded(&run(&["advise", &path, "--format=cbmm", FREE]));
    let piped = run_with(&["advise", "-", "--format=cbmm", FREE], &bytes);
    assert_eq!(succeeded(&piped), expected);
    let one = run(&["advise", &path, "--format=cbmm", FREE, "--threads=1"]);
    assert_eq!(succeeded(&one), expected);
    let out = folder.join("advice.csv");
    let arguments = [
        "advise",
        &path,
        "--format=cbmm",
        FREE,
        "-o",
        out.to_str().unwrap(),
    ];
    assert_eq!(succeeded(&run(&arguments)), "");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
    assert!(refused(&run(&arguments)).contains("exists already"));
    succeeded(&run(&[&arguments[..], &["--force"]].concat()));
    let own = run(&["advise", &path, "-o", &path, "--force"]);
    assert!(refused(&own).contains("is read by this command"));
    // A reader that goes away is no failure.
    let output = run_unread(&["advise", &path, "--format=json", FREE]);
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn what_cannot_be_advised_on_is_refused() {
    let folder = folder("advise-refused");
    let trace = golden().join("blocks.bl").to_str().unwrap().to_owned();
    let empty = Encoder::new(Vec::new(), &Header::new(Grain::Page)).unwrap();
    let empty = file(&folder, "empty.bl", &empty.finish().unwrap());
    let reduced = folder.join("x.reduced").to_str().unwrap().to_owned();
    succeeded(&run(&["reduce", &trace, "-o", &reduced]));
    let missing = folder.join("missing.bl").to_str().unwrap().to_owned();
    for (arguments, says) in [
        (&["advise", &missing][..], "No such file"),
        (
            &["advise", &empty],
            "holds no load and no store, so there is nothing to advise on",
        ),
        (
            &["advise", &reduced],
            "advice needs the whole trace, since what a superpage spares depends on each visit",
        ),
        (
            &["advise", &trace, "--policy=pop-64"],
            "pop-64 does not look at the whole trace, so it gives no advice: --policy takes offline",
        ),
        (
            &["advise", &trace, "--policy=foresight"],
            "foresight does not look at the whole trace",
        ),
        (
            &["advise", &trace, "--policy=oflline"],
            "did you mean offline",
        ),
        (
            &["advise", &trace, "--policy=offline(cycles=some)"],
            "tlb and all",
        ),
        (&["advise", &trace, "--machine=skylark"], "skylake"),
    ] {
        let line = refused(&run(arguments));
        assert!(line.contains(says), "{says}: {line}");
    }
    let cut = program(&areas(), 60_000, None);
    // The index is lost, and nothing else.
    let cut = file(&folder, "cut.bl", &cut[..cut.len() - 20]);
    assert!(refused(&run(&["advise", &cut])).contains("--keep-going"));
    let answer = run(&["advise", &cut, "--keep-going", "--format=json"]);
    assert!(stderr(&answer).contains("cut.bl: "), "{}", stderr(&answer));
    assert!(json(&answer)["damage"].is_string());
}

#[test]
fn a_size_that_the_machine_lacks_is_named() {
    let trace = golden().join("blocks.bl").to_str().unwrap().to_owned();
    let line = refused(&run(&["advise", &trace, "--machine=alpha21264"]));
    assert!(
        line.contains("offline(cycles=all,sizes=2m) makes pages of 2m, which the machine lacks: alpha21264 has 8k, 64k, 512k, 4m"),
        "{line}"
    );
    let some = [
        "--machine=alpha21264",
        "--policy=offline(cycles=all,sizes=64k+2m)",
        "--files=memory",
    ];
    let table = succeeded(&run(&[&["advise", &trace][..], &some].concat()));
    assert!(table.contains("alpha21264 has no pages of 2m"), "{table}");
    let sizes = [
        "--machine=alpha21264",
        "--policy=offline(cycles=all)",
        "--files=memory",
    ];
    let table = succeeded(&run(&[&["advise", &trace][..], &sizes, &[FREE]].concat()));
    assert!(
        table.contains(" x 64 KiB ") || table.contains(" x 512 KiB "),
        "{table}"
    );
}

/// Other formats are written from one replay, and equal those that are asked for alone.
#[test]
fn other_formats_come_from_the_same_replay() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    let trace = golden.to_str().expect("UTF-8");
    let folder = folder("advise-also");
    let [hints, json] = ["hints.c", "advice.json"].map(|name| folder.join(name));
    let also = |format: &str, path: &Path| format!("--also={format}={}", path.display());
    let (hints_too, json_too) = (also("madvise", &hints), also("json", &json));
    let table = succeeded(&run(&["advise", trace, &hints_too, &json_too]));
    assert_eq!(table, succeeded(&run(&["advise", trace])));
    for (format, path) in [("madvise", &hints), ("json", &json)] {
        let alone = succeeded(&run(&["advise", trace, "--format", format]));
        let written = std::fs::read_to_string(path).expect("it was written");
        assert_eq!(written, alone, "{format}");
    }
    let refused = refused(&run(&["advise", trace, &hints_too]));
    assert!(refused.contains("--force"), "{refused}");
    let wrong = run(&["advise", trace, "--also", "madvise"]);
    assert!(stderr(&wrong).contains("json=advice.json"));
}
