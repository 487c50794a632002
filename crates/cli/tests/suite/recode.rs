//! `recode`: version 2 of a recording, of which every command says what it says of the recording.

use std::fs;
use std::io::Cursor;
use std::process::Command;

use crate::support::{
    broadleaf, file, folder, golden, lackey, names, refused, run, run_with, stderr, succeeded,
};
use broadleaf_trace::{
    Encoder, Event, EventEncoder, Grain, Header, StreamChunk, Totals, TraceIndex, TraceWriter,
    Visit,
};
use broadleaf_units::SpaceId;
use serde_json::Value;

/// Recodes a trace, and answers what was said.
fn recode(trace: &str, more: &[&str]) -> String {
    let output = run(&[&["recode", trace], more].concat());
    assert_eq!(succeeded(&output), "", "results alone go there");
    stderr(&output)
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("the answer is JSON")
}

/// What a command says of a trace as JSON, but for which file it is.
fn said(command: &str, trace: &str, more: &[&str]) -> String {
    let answer = succeeded(&run(&[&[command, trace, "--format", "json"], more].concat()));
    let hash = value(&answer)["trace"]["hash"].clone();
    let hash = hash.as_str().expect("the hash of what was read");
    answer.replace(hash, "HASH").replace(trace, "TRACE")
}

/// Recordings with events, one of them of several processes.
#[test]
fn golden_recordings_recoded_compare_alike() {
    let folder = folder("recode-golden");
    for recording in golden() {
        let name = recording.file_name().unwrap().to_str().unwrap();
        let trace = file(&folder, name, &fs::read(&recording).expect("a recording"));
        let recoded = trace.replace(".bl", ".2.bl");
        let told = recode(&trace, &[]);
        assert_eq!(
            told.lines().count(),
            2,
            "the result and the next command: {told}"
        );
        let accesses = value(&said("info", &trace, &[]))["accesses"].to_string();
        for part in [&recoded, " accesses, a trace of ", "; ", &trace] {
            assert!(told.contains(part), "{told}");
        }
        assert!(told.replace(',', "").contains(&accesses), "{told}");
        let machines = ["--machine", "skylake", "--machine", "skylake-unified-96"];
        for (command, more) in [
            ("compare", &machines[..]),
            ("compare", &["--policy", "4k,pop-64", "--curve"]),
            ("compare", &["--policy", "4k,freebsd", "--memory", "75%"]),
            ("advise", &[]),
        ] {
            let of_recoded = said(command, &recoded, more);
            assert_eq!(of_recoded, said(command, &trace, more), "{command} {name}");
        }
        // And what its reduced form says.
        let reduced = run(&["reduce", &recoded]);
        assert!(reduced.status.success(), "{}", stderr(&reduced));
        assert_eq!(
            said("compare", &recoded, &[]),
            said("compare", &trace, &[]),
            "{name}"
        );
    }
}

#[test]
fn it_holds_what_the_recording_says_about_itself() {
    let folder = folder("recode-info");
    for recording in golden() {
        let name = recording.file_name().unwrap().to_str().unwrap();
        let trace = file(&folder, name, &fs::read(&recording).expect("a recording"));
        recode(&trace, &[]);
        let recoded = trace.replace(".bl", ".2.bl");
        let [mut one, mut two] = [&trace, &recoded].map(|path| value(&said("info", path, &[])));
        for (answer, path, version) in [(&mut one, &trace, 1), (&mut two, &recoded, 2)] {
            let size = fs::metadata(path).expect("a trace").len();
            let of_file = answer["trace"].as_object_mut().expect("what file it is");
            assert_eq!(of_file.remove("version"), Some(version.into()));
            assert_eq!(of_file.remove("bytes"), Some(size.into()));
            answer["bytes_per_access"].take();
            let table = succeeded(&run(&["info", path]));
            let row = table.lines().find(|line| line.starts_with("version"));
            assert!(
                row.is_some_and(|row| row.ends_with(&format!(" {version}"))),
                "{table}"
            );
        }
        assert_eq!(one, two, "{name}");
    }
    let text = file(&folder, "x.lackey", lackey(10).as_bytes());
    assert_eq!(
        value(&said("info", &text, &[]))["trace"]["version"],
        Value::Null
    );
    assert!(!succeeded(&run(&["info", &text])).contains("version"));
}

#[test]
fn threads_make_no_difference() {
    let folder = folder("recode-threads");
    let trace = file(&folder, "x.bl", &long());
    let recoded = |count: &str| {
        let path = folder.join(count).display().to_string();
        recode(&trace, &["-o", &path, "--threads", count]);
        fs::read(path).expect("it was written")
    };
    let one = recoded("1");
    let index = TraceIndex::read(Cursor::new(&one)).expect("an index");
    assert!(index.chunks.len() > 8, "{} chunks", index.chunks.len());
    for count in ["2", "3", "20"] {
        assert!(recoded(count) == one, "{count} threads");
    }
    for count in ["0", "two"] {
        let output = broadleaf(&["recode", &trace, "--threads", count]).output();
        let output = output.expect("the command was built for this test");
        assert_eq!(output.status.code(), Some(2), "{count}");
        assert!(stderr(&output).contains("--threads"), "{}", stderr(&output));
    }
}

/// A recording of many chunks, no two of them alike.
fn long() -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    for round in 0..20u64 {
        let visits: Vec<Visit> = (0..1000 + 100 * round)
            .map(|at| Visit {
                unit: (round << 20) + at % (7 + round),
                loads: 1,
                loads_before_store: 1,
                ..Visit::default()
            })
            .collect();
        encoder.visits(&visits).expect("visits");
        let next = SpaceId(round as u32 % 3);
        let switch = Event::SpaceSwitch(next);
        encoder.event(&switch).expect("an event");
    }
    encoder.finish().expect("a trace")
}

#[test]
fn only_a_whole_recording_is_recoded() {
    let folder = folder("recode-whole");
    let bytes = long();
    let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
    let trailer: [u8; 8] = bytes[bytes.len() - 16..][..8].try_into().expect("8 bytes");
    let end = u64::from_le_bytes(trailer) as usize;
    let mut damaged = bytes.clone();
    let chunks: Vec<_> = (index.chunks.iter())
        .filter(|chunk| chunk.kind.holds_visits())
        .collect();
    let [first, second] = [3, 5].map(|at| chunks[at].offset);
    for chunk in [first, second] {
        damaged[chunk as usize + 20] ^= 1;
    }
    // The error names the first of two damaged places for any number of threads.
    let place = format!("byte {first} ");
    for (name, bytes, why) in [
        ("cut.bl", &bytes[..end], "cut short"),
        ("torn.bl", &bytes[..end - 3], "truncated"),
        ("damaged.bl", &damaged, &place),
    ] {
        let trace = file(&folder, name, bytes);
        for count in ["1", "4"] {
            let line = refused(&run(&["recode", &trace, "--threads", count]));
            for part in [&trace, why, "only a whole trace can be recoded"] {
                assert!(line.contains(part), "{line}");
            }
            // That is no option here.
            assert!(!line.contains("--keep-going"), "{line}");
        }
    }
    let missing = folder.join("missing.bl").display().to_string();
    assert!(refused(&run(&["recode", &missing])).contains(&missing));
    assert_eq!(names(&folder), ["cut.bl", "damaged.bl", "torn.bl"]);
}

/// A part with impossible contents and a valid checksum is refused. Errors of later parts are not
/// reported.
#[test]
fn what_a_part_cannot_mean_is_refused_in_order() {
    let folder = folder("recode-sealed");
    let mut writer = TraceWriter::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    for at in 0..12u32 {
        let mut events = EventEncoder::new();
        let event = Event::Fork { child: at };
        events.push(0, &event).expect("an event");
        let totals = Totals {
            loads: u64::from(at == 4),
            ..Totals::default()
        };
        let chunk = StreamChunk {
            totals,
            events: events.bytes(),
            ..StreamChunk::default()
        };
        writer.stream_chunk(at % 3, &chunk).expect("a chunk");
    }
    let mut bytes = writer.finish().expect("a trace");
    let index = TraceIndex::read(Cursor::new(&bytes)).expect("an index");
    let [first, second] = [4, 9].map(|at| index.chunks[at].offset);
    bytes[second as usize + 20] ^= 1;
    let trace = file(&folder, "x.bl", &bytes);
    for count in ["1", "3", "16"] {
        let line = refused(&run(&["recode", &trace, "--threads", count]));
        let place = format!("byte {first} is wrong in its totals");
        assert!(line.contains(&place), "{line}");
    }
    assert_eq!(names(&folder), ["x.bl"]);
}

#[test]
fn what_is_no_recording_of_version_1_is_refused() {
    let folder = folder("recode-refused");
    let recording = file(&folder, "x.bl", &long());
    let text = file(&folder, "x.lackey", lackey(100).as_bytes());
    assert!(run(&["reduce", &recording]).status.success());
    recode(&recording, &[]);
    let before = names(&folder);
    let of = |ending: &str| recording.replace(".bl", ending);
    for (trace, why) in [
        (text, "broadleaf import"),
        (of(".bl.reduced"), "give the trace itself"),
        (of(".2.bl"), "of version 2 already"),
    ] {
        let line = refused(&run(&["recode", &trace]));
        assert!(line.contains(&trace) && line.contains(why), "{line}");
    }
    let line = refused(&run_with(&["recode", "-"], &long()));
    assert!(line.contains("-o"), "{line}");
    assert_eq!(names(&folder), before);
}

#[test]
fn what_exists_is_not_overwritten() {
    let folder = folder("recode-overwrite");
    let trace = file(&folder, "x.bl", &long());
    let beside = file(&folder, "x.2.bl", b"precious");
    let elsewhere = file(&folder, "elsewhere", b"precious");
    for (path, more) in [(&beside, &[][..]), (&elsewhere, &["-o", &elsewhere])] {
        let line = refused(&run(&[&["recode", trace.as_str()], more].concat()));
        for part in [path.as_str(), "exists", "--force"] {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(fs::read(path).unwrap(), b"precious");
        recode(&trace, &[&["--force"], more].concat());
        assert!(fs::read(path).unwrap().starts_with(b"BROADLEAF\0\x02\0"));
    }
    let line = refused(&run(&["recode", &trace, "-o", &trace, "--force"]));
    assert!(line.contains("is read by this command"), "{line}");
    assert_eq!(fs::read(&trace).unwrap(), long());
}

#[test]
fn pipes_do_as_files_do() {
    let folder = folder("recode-pipes");
    let trace = file(&folder, "x.bl", &long());
    recode(&trace, &[]);
    let whole = fs::read(folder.join("x.2.bl")).expect("it was written");
    let output = run(&["recode", &trace, "-o", "-"]);
    assert!(output.status.success() && output.stdout == whole);
    let output = run_with(&["recode", "-", "-o", "-"], &long());
    assert!(output.status.success() && output.stdout == whole);
    let pipe = folder.join("pipe").display().to_string();
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, long())
    });
    recode(&pipe, &["-o", &format!("{pipe}.bl")]);
    writer
        .join()
        .expect("it does not panic")
        .expect("it was read");
    assert_eq!(fs::read(format!("{pipe}.bl")).unwrap(), whole);
}

/// Records `updates` updates at random pages, without grouping them.
fn random(folder: &std::path::Path, updates: u64) -> String {
    let text: String = broadleaf_trace::synth::updates(0x10_0000, 1 << 18, updates, 1)
        .map(|visit| format!(" M {:x},8\n", visit.unit << 12))
        .collect();
    let text = file(folder, "gups.lackey", text.as_bytes());
    let imported = run(&["import", "lackey", &text]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    text.replace(".lackey", ".bl")
}

#[test]
fn what_would_be_read_more_slowly_is_refused() {
    let folder = folder("recode-slower");
    let trace = random(&folder, (1 << 20) + 1000);
    let before = names(&folder);
    let text = refused(&run(&["recode", &trace]));
    assert!(text.contains("would be read more slowly"), "{text}");
    assert!(text.contains("--even-if-slower"), "{text}");
    assert_eq!(names(&folder), before, "something was written");
    recode(&trace, &["--even-if-slower"]);
    let recoded = trace.replace(".bl", ".2.bl");
    let of_two = said("compare", &recoded, &["--policy", "pop-64"]);
    assert_eq!(of_two, said("compare", &trace, &["--policy", "pop-64"]));
}
