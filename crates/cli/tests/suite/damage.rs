//! Recordings that are damaged or cut short: refused with the place and a remedy, or read up to the
//! damage.

use std::process::Output;

use crate::support::{file, folder, lackey, refused, run, run_with, stderr, succeeded};
use broadleaf_trace::{ChunkKind, Encoder, Event, Grain, Header, TraceIndex, Visit};
use broadleaf_units::SpaceId;
use serde_json::Value;

fn visit(unit: u64) -> Visit {
    Visit {
        unit,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }
}

fn visits(pages: std::ops::Range<u64>) -> Vec<Visit> {
    pages.map(|page| visit(0x2_0000 + page)).collect()
}

/// A recording of two processes: 100 accesses of the first, 200 of the second, 400 more of the
/// first.
fn recording() -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    for (space, pages) in [(0, 0..100), (1, 0..200), (0, 100..500)] {
        let switch = Event::SpaceSwitch(SpaceId(space));
        encoder.event(&switch).expect("an event");
        encoder.visits(&visits(pages)).expect("visits");
    }
    encoder.finish().expect("a trace")
}

/// Where the chunks of references begin, and where the index does.
fn offsets(bytes: &[u8]) -> (Vec<usize>, usize) {
    let index = TraceIndex::read(std::io::Cursor::new(bytes)).expect("an index");
    let streams = index
        .chunks
        .iter()
        .filter(|chunk| chunk.kind == ChunkKind::Stream)
        .map(|chunk| chunk.offset as usize)
        .collect();
    let trailer: [u8; 8] = bytes[bytes.len() - 16..][..8].try_into().expect("8 bytes");
    (streams, u64::from_le_bytes(trailer) as usize)
}

/// The recording with one bit of the chunk that begins there turned.
fn damaged_at(offset: usize) -> Vec<u8> {
    let mut bytes = recording();
    bytes[offset + 20] ^= 4;
    bytes
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&succeeded(output)).expect("the answer is JSON")
}

fn compare(path: &str, format: &str) -> Output {
    run(&[
        "compare",
        path,
        "--policy",
        "4k",
        "--format",
        format,
        "--keep-going",
    ])
}

#[test]
fn what_a_killed_recorder_left_is_refused_and_compared_on_demand() {
    let folder = folder("damage-cut");
    let bytes = recording();
    let (streams, index) = offsets(&bytes);
    // Cut after every chunk, and after the second: the chunks are whole, and the index is missing.
    for (cut, accesses) in [(index, 700), (streams[2], 300)] {
        let path = file(&folder, "cut.bl", &bytes[..cut]);
        for command in ["compare", "info"] {
            let line = refused(&run(&[command, &path]));
            for part in [
                &path,
                "is truncated",
                &format!("byte {cut} "),
                "--keep-going",
            ] {
                assert!(line.contains(part), "{part}: {line}");
            }
        }
        let output = compare(&path, "json");
        let answer = json(&output);
        assert_eq!(answer["trace"]["accesses"], accesses);
        let said = format!("it ends at byte {cut} ");
        assert!(answer["notes"].to_string().contains(&said), "{answer}");
        // Every format also prints the warning on standard error.
        for format in ["json", "csv", "parquet", "table"] {
            let output = compare(&path, format);
            assert!(output.status.success());
            assert!(stderr(&output).contains(&said), "{}", stderr(&output));
        }
        let info = json(&run(&["info", &path, "--keep-going", "--format", "json"]));
        assert_eq!(info["trace"]["complete"], false);
        assert_eq!(info["accesses"], accesses);
        assert!(info["trace"]["damage"].as_str().unwrap().contains(&said));
    }
}

#[test]
fn a_damaged_recording_is_read_up_to_the_damage_and_no_further() {
    let folder = folder("damage-inside");
    let bytes = recording();
    let (streams, _) = offsets(&bytes);
    let at = streams[1];
    let path = file(&folder, "x.bl", &damaged_at(at));
    for command in ["compare", "info"] {
        let line = refused(&run(&[command, &path]));
        assert!(
            line.contains(&format!("byte {at} ")) && line.contains("--keep-going"),
            "{line}"
        );
        let output = run(&[command, &path, "--keep-going", "--format", "json"]);
        let answer = json(&output);
        let accesses = match command {
            "compare" => &answer["trace"]["accesses"],
            _ => &answer["accesses"],
        };
        // The 400 whole accesses after the damage are not counted.
        assert_eq!(accesses, 100, "{command}");
        let told = answer.to_string();
        let lost = format!("{} of its {} bytes", bytes.len() - at, bytes.len());
        for part in [format!("byte {at} "), lost, "600 accesses".to_owned()] {
            assert!(told.replace(',', "").contains(&part), "{part}: {told}");
        }
    }
}

#[test]
fn damage_of_the_index_alone_loses_no_access() {
    let folder = folder("damage-index");
    let whole = recording();
    let (_, index) = offsets(&whole);
    let size = whole.len();
    // Damage in the index's head and body, in the pointer to the index, and in the final mark. The
    // last case is cut off inside the index.
    for (at, cut) in [
        (index + 1, size),
        (index + 20, size),
        (size - 16, size),
        (size - 3, size),
        (size - 30, size - 20),
    ] {
        let mut bytes = whole[..cut].to_vec();
        if cut == size {
            bytes[at] ^= 4;
        }
        let path = file(&folder, "x.bl", &bytes);
        let answer = json(&compare(&path, "json"));
        assert_eq!(answer["trace"]["accesses"], 700);
        let damage = answer["damage"].as_str().expect("it is damaged");
        assert!(damage.contains("no access was lost"), "{at}: {damage}");
        let info = json(&run(&["info", &path, "--keep-going", "--format", "json"]));
        assert_eq!(info["trace"]["damage"], damage);
    }
    // A chunk that only says it is the index is not taken for it.
    let (streams, _) = offsets(&whole);
    let mut bytes = whole;
    bytes[streams[2] + 4] = bytes[index + 4];
    let path = file(&folder, "x.bl", &bytes);
    let answer = json(&compare(&path, "json"));
    assert!(
        answer["damage"].to_string().contains("400 accesses"),
        "{answer}"
    );
}

#[test]
fn where_nothing_is_left_the_loss_is_said() {
    let folder = folder("damage-all");
    let (streams, _) = offsets(&recording());
    let path = file(&folder, "x.bl", &damaged_at(streams[0]));
    let line = refused(&compare(&path, "json"));
    for part in [
        "no load and no store",
        &format!("byte {} ", streams[0]),
        "700 accesses",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_remedy_is_offered_where_it_helps() {
    let folder = folder("damage-remedy");
    let mut bytes = recording();
    bytes[18] ^= 1;
    let head = file(&folder, "head.bl", &bytes);
    let short = file(&folder, "short.bl", &recording()[..20]);
    let text = format!("{}garbage\n L 1000,8\n", lackey(100));
    let text = file(&folder, "x.lackey", text.as_bytes());
    for command in ["compare", "info"] {
        for path in [&head, &short] {
            for more in [&[][..], &["--keep-going"]] {
                let line = refused(&run(&[&[command, path.as_str()], more].concat()));
                assert!(!line.contains("--keep-going"), "{line}");
            }
        }
        let line = refused(&run(&[command, &text]));
        assert!(line.contains("--keep-going"), "{line}");
        let output = run(&[command, &text, "--keep-going", "--format", "json"]);
        let told = json(&output).to_string();
        assert!(
            told.contains("line 404") && told.contains("18 of its"),
            "{told}"
        );
    }
}

/// No trace is empty, and no reduced form of one.
#[test]
fn an_empty_file_is_no_trace() {
    let folder = folder("damage-empty");
    for name in ["x.bl", "x.lackey", "x.bl.reduced"] {
        let path = file(&folder, name, b"");
        for command in ["info", "compare", "advise", "reduce", "recode"] {
            let line = refused(&run(&[command, &path]));
            assert!(line.contains(name) && line.contains("is empty"), "{line}");
        }
        let line = refused(&run(&["info", &path, "--keep-going"]));
        assert!(line.contains("is empty"), "{line}");
    }
    let line = refused(&run_with(&["info", "-"], b""));
    assert!(line.contains("standard input: is empty"), "{line}");
}

/// A trace that was cut anywhere is refused. With `--keep-going`, the answer is partial and the
/// exit status 0, unless no access is left to answer for.
#[test]
fn the_exit_status_says_whether_there_is_an_answer() {
    let folder = folder("damage-status");
    let bytes = recording();
    let (streams, index) = offsets(&bytes);
    let chunks = TraceIndex::read(std::io::Cursor::new(&bytes)).expect("an index");
    let mut starts = chunks.chunks.iter().map(|chunk| chunk.offset as usize);
    let first_end = starts.find(|&start| start > streams[0]).expect("a chunk");
    let step = bytes.len() / 40;
    let cuts = (1..bytes.len()).step_by(step);
    for cut in cuts.chain([streams[0], first_end - 1, first_end, index, bytes.len() - 1]) {
        let path = file(&folder, "cut.bl", &bytes[..cut]);
        refused(&run(&["info", &path]));
        refused(&run(&["compare", &path, "--policy", "4k"]));
        let output = compare(&path, "csv");
        if cut < first_end {
            refused(&output);
        } else {
            assert_eq!(output.status.code(), Some(0), "{cut}: {}", stderr(&output));
            assert!(stderr(&output).contains("is truncated"), "{cut}");
        }
    }
}
