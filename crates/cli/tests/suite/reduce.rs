//! `reduce`, and `compare` with what it makes: the same answers, read in place of the trace where
//! it may be and nowhere else.

mod parts;
mod writing;

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{
    broadleaf, file, folder, golden, lackey, names, refused, run, run_with, stderr, succeeded,
};
use broadleaf_trace::{Backing, Encoder, Event, Grain, Header, Mapping, Range, TraceIndex, Visit};
use broadleaf_units::{Rights, VirtAddr};
use serde_json::Value;

const PAGES: u64 = 3000;

/// What `compare` answers as JSON, with more arguments.
fn compare(trace: &str, more: &[&str]) -> Output {
    run(&[&["compare", trace, "--format", "json"], more].concat())
}

/// The same, from a comparison that had nothing to say beside.
fn quietly(trace: &str, more: &[&str]) -> String {
    let output = compare(trace, more);
    let answer = succeeded(&output);
    assert_eq!(stderr(&output), "");
    answer
}

fn reduce(trace: &str, more: &[&str]) -> String {
    let output = run(&[&["reduce", trace], more].concat());
    assert_eq!(succeeded(&output), "", "results alone go there");
    stderr(&output)
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("the answer is JSON")
}

/// Flips a bit after the head of a reduced trace, so that every reader refuses the trace.
fn damage(reduced: &str) {
    let mut bytes = fs::read(reduced).expect("a reduced trace");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("4 bytes")) as usize;
    bytes[16 + length + 8 + 40] ^= 4;
    fs::write(reduced, bytes).expect("it can be written");
}

/// Recordings with events, one of them of several processes; every policy, also on a machine whose
/// first level is in one piece.
#[test]
fn golden_recordings_compare_alike_byte_for_byte() {
    let folder = folder("reduce-golden");
    for recording in golden() {
        let name = recording.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(&recording).expect("a recording");
        for machines in [
            &["--machine", "skylake"][..],
            &["--machine", "skylake", "--machine", "skylake-unified-96"],
        ] {
            let trace = file(&folder, name, &bytes);
            let beside = format!("{trace}.reduced");
            let without = quietly(&trace, machines);
            let told = reduce(&trace, machines);
            assert!(told.contains(&beside), "{told}");
            assert_eq!(quietly(&trace, machines), without, "{name}");
            // That is what was read: it is refused where it is damaged.
            damage(&beside);
            assert!(refused(&compare(&trace, machines)).contains(&beside));
            fs::remove_file(&beside).expect("it is there");
        }
    }
}

#[test]
fn text_is_reduced_too() {
    let folder = folder("reduce-text");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let without = quietly(&trace, &[]);
    reduce(&trace, &[]);
    assert_eq!(names(&folder), ["x.lackey", "x.lackey.reduced"]);
    assert_eq!(quietly(&trace, &[]), without);
}

/// A page that is visited again and again is in the reduced form a few times.
#[test]
fn what_is_left_is_said() {
    let folder = folder("reduce-said");
    let line = " L 20000000,8\n L 20001000,8\n";
    let trace = file(&folder, "x.lackey", line.repeat(50_000).as_bytes());
    let told = reduce(&trace, &[]);
    assert_eq!(
        told.lines().count(),
        2,
        "the result and the next command: {told}"
    );
    assert!(
        told.contains(": keeps 2 visits of 100,000 accesses, a file of "),
        "{told}"
    );
    let reduced = fs::metadata(folder.join("x.lackey.reduced")).expect("it is beside");
    assert!(reduced.len() < 1000, "{}", reduced.len());
}

#[test]
fn it_is_read_for_machines_that_it_was_made_for_and_no_others() {
    let folder = folder("reduce-machines");
    // Within the reach of one of the machines.
    let trace = file(&folder, "x.lackey", lackey(1200).as_bytes());
    let beside = format!("{trace}.reduced");
    // The difference is in the first level alone.
    let skylake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/skylake.toml");
    let text = fs::read_to_string(skylake).expect("a machine");
    let small = text.replace("entries = 1536", "entries = 96");
    let small = small.replace("[18:12] ^ va[25:19]", "[14:12]");
    let small = small.replace("va[27:21]", "va[23:21]");
    let small = file(&folder, "small.toml", small.as_bytes());
    let machines = ["skylake", "skylake-va23", &small];
    let policies = ["--policy", "4k,pop-64,freebsd"];
    let ask = |machine| compare(&trace, &[&policies[..], &["--machine", machine]].concat());
    let without = machines.map(|machine| succeeded(&ask(machine)));
    assert_ne!(value(&without[0])["results"], value(&without[2])["results"]);
    reduce(&trace, &["--machine", "skylake"]);
    for (machine, without) in machines.iter().zip(&without) {
        assert_eq!(succeeded(&ask(machine)), *without, "{machine}");
    }
    // Every reader refuses the damaged file.
    damage(&beside);
    for (machine, without) in machines.iter().zip(&without) {
        if *machine == "skylake-va23" {
            let output = ask(machine);
            assert_eq!(succeeded(&output), *without);
            assert_eq!(stderr(&output), "", "nothing is wrong with that");
        } else {
            assert!(refused(&ask(machine)).contains(&beside), "{machine}");
        }
    }
    let both = ["--machine", "skylake", "--machine", "skylake-va23"];
    assert!(compare(&trace, &both).status.success());
    reduce(&trace, &[&both[..], &["--force"]].concat());
    for (machine, without) in machines.iter().zip(&without) {
        assert_eq!(succeeded(&ask(machine)), *without, "{machine}");
    }
    damage(&beside);
    for machine in machines {
        assert!(refused(&ask(machine)).contains(&beside), "{machine}");
    }
}

/// Curves ask what changes something in TLBs of any geometry.
#[test]
fn curves_are_counted_on_the_trace_itself() {
    let folder = folder("reduce-curves");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let more = ["--policy", "4k,greedy", "--curve"];
    let without = quietly(&trace, &more);
    reduce(&trace, &[]);
    assert_eq!(quietly(&trace, &more), without);
    let line = refused(&compare(&format!("{trace}.reduced"), &more));
    assert!(line.contains("--curve needs the whole trace"), "{line}");
    let limited = ["--policy", "4k", "--memory", "75%"];
    let line = refused(&compare(&format!("{trace}.reduced"), &limited));
    assert!(
        line.contains("modelled down to the frame needs the whole trace"),
        "{line}"
    );
    assert!(line.contains("give the trace itself"), "{line}");
    let line = refused(&run(&["info", &format!("{trace}.reduced")]));
    assert!(line.contains("only `broadleaf compare` reads"), "{line}");
}

#[test]
fn a_trace_that_changed_is_read_itself() {
    let folder = folder("reduce-changed");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    reduce(&trace, &[]);
    file(&folder, "x.lackey", lackey(PAGES / 2).as_bytes());
    let output = compare(&trace, &["--policy", "4k"]);
    let answer = value(&succeeded(&output));
    assert_eq!(answer["trace"]["accesses"], PAGES);
    let told = stderr(&output);
    assert_eq!(told.lines().count(), 1, "{told}");
    for part in ["x.lackey.reduced", "was made of another trace", "x.lackey"] {
        assert!(told.contains(part), "{told}");
    }
    // Reduced again it is read again.
    reduce(&trace, &["--force"]);
    assert_eq!(value(&quietly(&trace, &["--policy", "4k"])), answer);
}

#[test]
fn damage_is_refused_with_a_remedy() {
    let folder = folder("reduce-damage");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let beside = format!("{trace}.reduced");
    let without = quietly(&trace, &["--policy", "4k"]);
    reduce(&trace, &[]);
    let whole = fs::read(&beside).expect("a reduced trace");
    let remedied = |bytes: &[u8]| {
        fs::write(&beside, bytes).expect("it can be written");
        for given in [&trace, &beside] {
            // What can be made again is not read in part.
            for more in [&[][..], &["--keep-going"]] {
                let line = refused(&compare(given, more));
                for part in [&beside, "reduce the trace again", "remove this file"] {
                    assert!(line.contains(part), "{line}");
                }
            }
        }
    };
    remedied(&whole[..whole.len() - 1]);
    remedied(&[&whole[..], &[0]].concat());
    damage(&beside);
    remedied(&fs::read(&beside).expect("it is there"));
    // One that does not even say what it is is passed over.
    for bytes in [&whole[..20], b"something else", b""] {
        fs::write(&beside, bytes).expect("it can be written");
        let output = compare(&trace, &["--policy", "4k"]);
        assert_eq!(succeeded(&output), without);
        let told = stderr(&output);
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(told.matches(&beside).count(), 1, "{told}");
        assert!(told.contains("itself is read"), "{told}");
    }
}

#[test]
fn it_can_be_given_directly() {
    let folder = folder("reduce-directly");
    let trace = file(&folder, "x.lackey", lackey(PAGES).as_bytes());
    let other = folder.join("other").display().to_string();
    reduce(&trace, &["-o", &other]);
    assert_eq!(
        names(&folder),
        ["other", "x.lackey"],
        "nothing stands beside"
    );
    let mut of_trace = value(&quietly(&trace, &[]));
    // The settings of this machine need each visit.
    let results = of_trace["results"].as_array_mut().expect("results");
    results.retain(|result| {
        result["policy"]
            .as_str()
            .is_some_and(|name| !name.starts_with("linux"))
    });
    let directly = value(&quietly(&other, &[]));
    assert_eq!(directly["results"], of_trace["results"]);
    assert_eq!(directly["trace"]["hash"], of_trace["trace"]["hash"]);
    assert_eq!(directly["trace"]["path"], other.as_str());
    let bytes = fs::read(&other).expect("it was written");
    let piped = run_with(&["compare", "-", "--format", "json"], &bytes);
    assert_eq!(
        value(&succeeded(&piped))["results"],
        of_trace["results"],
        "foresight reads it twice"
    );
    let line = refused(&compare(&other, &["--machine", "skylake-unified-64"]));
    for part in [&other, "va[24:22]", "reduce it with --machine"] {
        assert!(line.contains(part), "{line}");
    }
    for command in ["info", "reduce"] {
        let line = refused(&run(&[command, &other]));
        assert!(
            line.contains(&other) && line.contains("broadleaf compare"),
            "{line}"
        );
    }
}

fn map(start: u64, pages: u64) -> Event {
    Event::Map(Mapping {
        range: Range {
            start: VirtAddr(start),
            len: pages << 12,
        },
        protection: Rights::READ_WRITE,
        shared: false,
        backing: Backing::Anonymous,
    })
}

fn visits(units: std::ops::Range<u64>) -> Vec<Visit> {
    let one = |unit| Visit {
        unit,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    };
    units.map(one).collect()
}

/// References come first and their mapping afterwards, so that it has to be read again: from a pipe
/// too.
#[test]
fn a_mapping_told_late_is_no_matter() {
    let folder = folder("reduce-late");
    for grain in [Grain::Page, Grain::Line] {
        let shift = 12 - grain.shift();
        let mut encoder = Encoder::new(Vec::new(), &Header::new(grain)).expect("a head");
        for pages in [0x2_0000..0x2_0100, 0x2_0000..0x2_0300] {
            let units = visits(pages.start << shift..pages.end << shift);
            encoder.visits(&units).expect("visits");
            encoder.event(&map(0x2_0000 << 12, 1024)).expect("an event");
        }
        let trace = file(&folder, "x.bl", &encoder.finish().expect("a trace"));
        let policies = ["--policy", "greedy,4k"];
        let without = quietly(&trace, &policies);
        assert_eq!(value(&without)["results"][0]["promotions"], 2);
        reduce(&trace, &["--force"]);
        assert_eq!(quietly(&trace, &policies), without);
        let beside = folder.join("x.bl.reduced");
        let bytes = fs::read(&beside).expect("it was written");
        let arguments = ["compare", "-", "--format", "json", "--policy", "greedy,4k"];
        let piped = value(&succeeded(&run_with(&arguments, &bytes)));
        assert_eq!(piped["results"], value(&without)["results"]);
        fs::remove_file(&beside).expect("it is there");
    }
}
