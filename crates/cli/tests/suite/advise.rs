//! `advise` from end to end: what comes back, in each shape, and what is refused.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::support::programs::{MIB, Part, areas, map, program, range, recording, started, stores};
use crate::support::{broadleaf, file, folder, lackey, refused, run, run_with, stderr, succeeded};
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

/// Two processes, a heap that does not begin at a superpage, memory that was mapped where other
/// memory had been, a stack, and a file.
fn many_kinds() -> Vec<u8> {
    let (heap, stack, anonymous) = (0x100_1000, 0x7f0_0000_0000, 0x200_0000_0000);
    let pages = |start: u64, pages: u64| (0..pages).map(move |page| start + (page << 12));
    let mut used: Vec<u64> = Vec::new();
    for round in 0..40 {
        for part in 0..8 {
            used.extend(pages(0x120_0000 + 64 * 4096 * part, 64));
            used.extend(pages(stack - 2 * MIB + 64 * 4096 * part, 64));
            used.extend(pages(anonymous + 64 * 4096 * ((part + round) % 8), 64));
            used.extend(pages(0x300_0000_0000 + 64 * 4096 * part, 64));
            used.extend(pages(0x400_0000_0000 + 64 * 4096 * part, 64));
        }
    }
    let file = Backing::File {
        file: FileId(0),
        offset: 0x20_0000,
    };
    let events = [
        started(41, "/bin/one"),
        Event::Brk(range(heap, 0)),
        Event::Brk(range(heap, 0x4f_f000)),
        map(stack - 4 * MIB, 4 * MIB, Backing::Stack),
        // In a pool, what is mapped last takes the first place.
        map(0x500_0000_0000, 3 * MIB, Backing::Anonymous),
        map(0x510_0000_0000, MIB, Backing::Anonymous),
        Event::Unmap(range(0x500_0000_0000, 3 * MIB)),
        map(anonymous, 2 * MIB, Backing::Anonymous),
        map(0x300_0000_0000, 2 * MIB, Backing::SharedMemory),
        Event::File {
            id: FileId(0),
            size: 8 * MIB,
            path: "/data/table".to_owned(),
        },
        map(0x400_0000_0000, 2 * MIB, file),
    ];
    let mut parts: Vec<Part> = events.into_iter().map(Part::Event).collect();
    parts.push(Part::Visits(stores(used)));
    let again = (0..60).flat_map(|_| pages(anonymous, 512));
    let other = [
        Event::SpaceSwitch(SpaceId(1)),
        started(42, "/bin/two"),
        map(anonymous, 2 * MIB, Backing::Anonymous),
    ];
    parts.extend(other.into_iter().map(Part::Event));
    parts.push(Part::Visits(stores(again)));
    recording(&parts)
}

#[test]
fn each_format_expresses_what_it_can_and_says_what_it_cannot() {
    let folder = folder("advise-kinds");
    let small = "name = \"small\"\nsummary = \"a test's\"\nexplanation = \"\"\nsource = \"a test\"\n\
        [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = 16\nways = 16\nreplacement = \"lru\"\nindex = { 4k = \"none\", 2m = \"none\" }\n\
        [walk-cycles]\n4k = 30\n2m = 30\n";
    let machine = file(&folder, "small.toml", small.as_bytes());
    let trace = file(&folder, "x.bl", &many_kinds());
    let advise = |format: &str| {
        let files = ["--files=memory", FREE, "--machine", &machine];
        let first = ["advise", &trace, "--format", format];
        run(&[&first[..], &files].concat())
    };
    let table = succeeded(&advise("table"));
    for text in [
        "\nprocess ",
        "\n41 one ",
        "\n42 two ",
        " heap 0x1001000-0x1500000\n",
        " stack 0x7efffc00000-0x7f000000000\n",
        " shared memory 0x30000000000-0x30000200000\n",
        " /data/table + 0x200000, 0x40000000000-0x40000200000\n",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let c = succeeded(&advise("madvise"));
    for text in [
        "\nmadvise((void *)0x1200000, 2097152, MADV_HUGEPAGE); /* process 41 one, heap + 0x1ff000, 1 x 2 MiB, spares ",
        "\nmadvise((void *)0x7efffe00000, 2097152, MADV_HUGEPAGE); /* process 41 one, stack, 0x200000 below its end, ",
        "/* process 41 one, shared memory 0x30000000000-0x30000200000 + 0x0, ",
        ", needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part */\n",
    ] {
        assert!(c.contains(text), "{text}: {c}");
    }
    let output = advise("cbmm");
    let profile = succeeded(&output);
    // One pass over 512 pages misses each time: 40 rounds, less the misses that are left.
    assert_eq!(profile.lines().count(), 4, "{profile}");
    for (line, says) in [
        ("huge,heap,", ",addr,>,0x1200000,addr,<,0x1400000"),
        ("huge,mmap,", ",addr,>,0x20000000000,addr,<,0x20000200000"),
    ] {
        let found = profile.lines().find(|text| text.starts_with(line));
        assert!(found.is_some(), "{profile}");
        assert!(profile.contains(says), "{says}: {profile}");
    }
    let notes = stderr(&output);
    assert!(
        notes.contains("those of one process, 41 one; left out are those of 42 two"),
        "{notes}"
    );
    assert!(
        notes.contains(
            "0x7efffe00000-0x7f000000000 of process 41 one is left out: a profile knows the heap"
        ),
        "{notes}"
    );
    // The best are the best that a format can express.
    let best = |format: &str, top: &str| {
        let first = ["advise", &trace, "--format", format, top];
        let files = ["--files=memory", FREE, "--machine", &machine];
        succeeded(&run(&[&first[..], &files].concat()))
    };
    assert_eq!(best("cbmm", "--top=4"), profile);
    assert_eq!(best("mosalloc", "--top=2").lines().count(), 6);
    assert_eq!(best("madvise", "--top=1").matches("\nmadvise(").count(), 1);
    let output = advise("mosalloc");
    assert_eq!(
        succeeded(&output),
        "type,pageSize,startOffset,endOffset\n\
         brk,-1,0,6291456\nmmap,-1,0,4194304\nfile,-1,0,2097152\n\
         brk,2097152,0,4194304\nmmap,2097152,0,2097152\n"
    );
    let notes = stderr(&output);
    assert_eq!(
        notes
            .matches(" is left out: a layout covers the heap")
            .count(),
        3,
        "{notes}"
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
    let mut child = broadleaf(&["advise", &path, "--format=json", FREE])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
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
