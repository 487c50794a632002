//! Parts of a trace that are reduced by themselves, and joined.

use super::*;
use broadleaf_oracle::OwnedItem;
use broadleaf_oracle::random::Script;

/// Reduces each of `of` parts, and returns their files.
fn reduce_parts(trace: &str, of: usize, more: &[&str]) -> Vec<String> {
    let parts = (1..=of).map(|number| {
        let (part, output) = (format!("{number}/{of}"), format!("{trace}.{number}of{of}"));
        let told = reduce(trace, &[&["--part", &part, "-o", &output], more].concat());
        assert!(told.contains(&output) && told.contains("--join"), "{told}");
        output
    });
    parts.collect()
}

fn join(parts: &[String], output: &str) -> Output {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    run(&[&["reduce", "-o", output, "--force", "--join"], &parts[..]].concat())
}

/// Joins any parts of a trace in a mixed order, and compares with the reduced form of the trace.
fn assert_joined_equals_whole(trace: &str, numbers: &[usize], more: &[&str]) {
    let (whole, joined) = (format!("{trace}.whole"), format!("{trace}.joined"));
    reduce(trace, &[&["-o", &whole, "--force"], more].concat());
    let form = fs::read(&whole).expect("a form");
    for &of in numbers {
        let threads = ["1", "3"][of % 2];
        let mut parts = reduce_parts(trace, of, &[&["--threads", threads], more].concat());
        parts.reverse();
        parts.rotate_left(of / 2);
        let told = join(&parts, &joined);
        assert_eq!(succeeded(&told), "");
        let equal = fs::read(&joined).expect("a joined form") == form;
        assert!(equal, "{trace} in {of} parts");
        parts.iter().for_each(|part| fs::remove_file(part).unwrap());
    }
}

/// Recordings of one chunk and of several processes, in both versions of the format.
#[test]
fn joined_parts_of_recordings_are_the_form_of_the_recording() {
    let folder = folder("reduce-parts-golden");
    for recording in golden() {
        let name = recording.file_name().unwrap().to_str().unwrap();
        let trace = file(&folder, name, &fs::read(&recording).expect("a recording"));
        let recoded = trace.replace(".bl", ".2.bl");
        assert!(run(&["recode", &trace, "-o", &recoded]).status.success());
        let both = ["--machine", "skylake,skylake-unified-96"];
        assert_joined_equals_whole(&recoded, &[3], &both);
        // More parts than chunks.
        assert_joined_equals_whole(&trace, &[1, 2, 3, 4, 5, 24], &[]);
        // The joined form is read in place of the trace.
        let without = quietly(&trace, &[]);
        let beside = format!("{trace}.reduced");
        fs::rename(format!("{trace}.joined"), &beside).expect("it is there");
        assert_eq!(quietly(&trace, &[]), without, "{name}");
        damage(&beside);
        assert!(refused(&compare(&trace, &[])).contains(&beside));
    }
}

/// Random traces with changes of mappings, switches and ends of address spaces.
#[test]
fn joined_parts_of_random_traces_are_the_form_of_the_trace() {
    let folder = folder("reduce-parts-random");
    for seed in 0..8 {
        let recording = Script::from_seed(seed + 7_000_000).recording();
        let mut header = Header::new(recording.grain);
        (header.options.events, header.options.children) = (true, true);
        let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
        encoder.visits(&visits(0x9000..0x9001)).expect("a visit");
        for (number, item) in recording.items.iter().enumerate() {
            match item {
                OwnedItem::Visits(visits) => {
                    let plain = visits.iter().filter(|visit| !visit.fetch);
                    let lead = broadleaf_trace::Lead::None;
                    let plain = plain.map(|&visit| Visit { lead, ..visit });
                    encoder.visits(&plain.collect::<Vec<Visit>>())
                }
                OwnedItem::Event(event) => encoder.event(event),
            }
            .expect("an item");
            if number % 5 == 4 {
                encoder
                    .visits(&[long_visit(0x9000, 1 << 30)])
                    .expect("a visit");
                encoder.flush().expect("a chunk");
            }
        }
        let bytes = encoder.finish().expect("a trace");
        let trace = file(&folder, &format!("{seed}.bl"), &bytes);
        assert_joined_equals_whole(&trace, &[2, 5, 9], &["--max-accesses", "1000000000000"]);
    }
}

/// A visit of many loads. A section, the smallest part of a trace, has 2^24 accesses.
fn long_visit(unit: u64, loads: u32) -> Visit {
    Visit {
        unit,
        loads,
        loads_before_store: loads,
        ..Visit::default()
    }
}

/// A trace of several sections, which visit the same pages.
fn several_chunks(first: u64, header: &Header) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), header).expect("a head");
    for _ in 0..6 {
        let long = [0, 1, 3].map(|page| long_visit(first + page, 6_000_000));
        encoder.visits(&long).expect("visits");
        encoder
            .visits(&visits(first..first + 2000))
            .expect("visits");
        encoder.flush().expect("a chunk");
    }
    encoder.finish().expect("a trace")
}

#[test]
fn a_part_reads_its_own_chunks_and_no_others() {
    let folder = folder("reduce-parts-own");
    let bytes = several_chunks(0x9000, &Header::new(Grain::Page));
    let trace = file(&folder, "x.bl", &bytes);
    let index = TraceIndex::read(std::io::Cursor::new(&bytes)).expect("an index");
    let streams = index.chunks.iter().filter(|chunk| chunk.totals.loads > 0);
    let streams: Vec<u64> = streams.map(|chunk| chunk.offset).collect();
    assert!(streams.len() >= 6);
    let parts = reduce_parts(&trace, 3, &[]);
    // A damaged chunk is of one part.
    let mut damaged = bytes.clone();
    damaged[streams[3] as usize + 30] ^= 4;
    fs::write(&trace, &damaged).expect("it can be written");
    let made = (1..=3).map(|number| {
        let (part, output) = (format!("{number}/3"), parts[number - 1].clone());
        run(&["reduce", &trace, "--part", &part, "-o", &output, "--force"])
    });
    let made: Vec<Output> = made.collect();
    assert_eq!(
        made.iter().filter(|output| output.status.success()).count(),
        2
    );
    let failed = made.iter().find(|output| !output.status.success());
    let line = refused(failed.expect("one of them"));
    let offset = streams[3].to_string();
    for part in [trace.as_str(), "only a whole trace", &offset] {
        assert!(line.contains(part), "{line}");
    }
}

/// A part reads no chunk of another part, but for the checks at the ends of some.
#[test]
fn a_part_needs_no_chunk_of_another_part() {
    let folder = folder("reduce-parts-lacking");
    let header = Header::new(Grain::Page);
    let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
    for chunk in 0..6 {
        let long = [0, 1, 3].map(|page| long_visit(0x9000 + page, 6_000_000));
        encoder.visits(&long).expect("visits");
        let scattered = (0..4000u64).map(|at| long_visit(at * at * (chunk + 7) % 100_003, 1));
        encoder
            .visits(&scattered.collect::<Vec<_>>())
            .expect("visits");
        encoder.flush().expect("a chunk");
    }
    let bytes = encoder.finish().expect("a trace");
    let trace = file(&folder, "x.bl", &bytes);
    let index = TraceIndex::read(std::io::Cursor::new(&bytes)).expect("an index");
    let parts = reduce_parts(&trace, 3, &[]);
    let whole: Vec<Vec<u8>> = parts.iter().map(|part| fs::read(part).unwrap()).collect();
    let streams = (0..index.chunks.len()).filter(|&at| index.chunks[at].totals.loads > 0);
    let streams: Vec<usize> = streams.collect();
    // The first chunk of the first part, but for its check. A part reads 1 KiB before its chunks.
    let range = index.chunk_range(streams[0]);
    let next = index.chunk_range(streams[1]);
    assert!(next.end - range.end > 1024, "{next:?}");
    let mut lacking = bytes.clone();
    lacking[range.start as usize..range.end as usize - 8].fill(0);
    fs::write(&trace, &lacking).expect("it can be written");
    for number in [2, 3] {
        let (part, output) = (format!("{number}/3"), parts[number - 1].clone());
        let made = run(&["reduce", &trace, "--part", &part, "-o", &output, "--force"]);
        assert!(made.status.success(), "{}", stderr(&made));
        assert!(fs::read(output).expect("a part") == whole[number - 1]);
    }
}

/// More parts than files that the process may open, and a form on standard output.
#[test]
fn any_number_of_parts_are_joined_with_few_open_files() {
    let folder = folder("reduce-parts-many");
    let trace = several_chunks(0x9000, &Header::new(Grain::Page));
    let trace = file(&folder, "x.bl", &trace);
    let parts = reduce_parts(&trace, 30, &[]);
    let whole = format!("{trace}.whole");
    reduce(&trace, &["-o", &whole]);
    let joined = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 20 && exec \"$@\"", "sh"])
        .arg(broadleaf(&[]).get_program())
        .args(["reduce", "-o", "-", "--join"])
        .args(&parts)
        .output()
        .expect("a shell");
    assert!(joined.status.success(), "{}", stderr(&joined));
    assert!(joined.stdout == fs::read(&whole).expect("a form"));
    let told = stderr(&joined);
    assert!(told.contains("broadleaf compare FILE"), "{told}");
    assert!(!told.contains("compare -"), "{told}");
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let folder = folder("reduce-parts-refused");
    let header = Header::new(Grain::Page);
    let trace = file(&folder, "x.bl", &several_chunks(0x9000, &header));
    let other = file(&folder, "y.bl", &several_chunks(0xa000, &header));
    let parts = reduce_parts(&trace, 4, &[]);
    let others = reduce_parts(&other, 4, &[]);
    let fewer = reduce_parts(&trace, 3, &[]);
    let machine = format!("{trace}.unified");
    let more = ["--machine", "skylake-unified-96", "--part", "2/4"];
    reduce(&trace, &[&more[..], &["-o", &machine]].concat());
    let mut bytes = fs::read(&parts[1]).expect("a part");
    let cut = file(&folder, "cut", &bytes[..bytes.len() - 30]);
    let short = file(&folder, "short", &bytes[..11]);
    bytes[200] ^= 4;
    let damaged = file(&folder, "damaged", &bytes);
    let with = |second: &str| {
        let mut parts = parts.clone();
        parts[1] = second.to_owned();
        parts
    };
    let output = folder.join("joined").display().to_string();
    let twice = [&parts[..], &parts[2..3]].concat();
    for (given, why) in [
        (
            parts[..3].to_vec(),
            "is one of 4 parts, and these are missing: 4/4",
        ),
        (parts[2..3].to_vec(), "these are missing: 1/4, 2/4, 4/4"),
        (twice, "are both part 3/4"),
        (with(&others[1]), "are of different traces"),
        (with(&fewer[1]), "divide the trace otherwise"),
        (with(&machine), "are for different machines"),
        (with(&cut), "is damaged or cut short"),
        (with(&short), "is damaged or cut short"),
        (with(&damaged), "is damaged"),
        (with(&trace), "is no part of a reduced trace"),
    ] {
        let line = refused(&join(&given, &output));
        assert!(line.contains(why), "{line}");
        assert!(!Path::new(&output).exists());
    }
    // A check covers each byte of a part.
    let whole = fs::read(&parts[1]).expect("a part");
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut bytes = whole.clone();
        bytes[at] ^= 16;
        fs::write(&damaged, bytes).expect("it can be written");
        refused(&join(&with(&damaged), &output));
    }
    assert!(join(&parts, &output).status.success());
    // Other commands say what to do with a part, and no file of it is overwritten.
    let line = refused(&compare(&parts[0], &[]));
    assert!(line.contains("broadleaf reduce --join"), "{line}");
    let line = refused(&join(&parts, &parts[0]));
    assert!(line.contains("is read by this command"), "{line}");
}

#[test]
fn only_recordings_with_an_index_have_parts() {
    let folder = folder("reduce-parts-index");
    let text = file(&folder, "x.lackey", lackey(10).as_bytes());
    let bytes = several_chunks(0x9000, &Header::new(Grain::Page));
    let cut = file(&folder, "cut.bl", &bytes[..bytes.len() - 20]);
    let whole = file(&folder, "x.bl", &bytes);
    let output = folder.join("part").display().to_string();
    for (trace, part, why) in [
        (&text, "1/2", "has no index"),
        (&cut, "1/2", "only a whole trace can be reduced"),
        (&whole, "1/2", ""),
    ] {
        let made = run(&["reduce", trace, "--part", part, "-o", &output]);
        match why {
            "" => assert_eq!(succeeded(&made), ""),
            why => assert!(refused(&made).contains(why), "{}", stderr(&made)),
        }
    }
    for (arguments, why) in [
        (&["reduce", &whole, "--part", "1/2"][..], "-o"),
        (&["reduce", "--join", &output], "-o"),
        (&["reduce", &whole, "--part", "3/2", "-o", &output], "I/N"),
        (
            &["reduce", &whole, "-o", &output, "--join", &whole],
            "--join",
        ),
        (&["reduce"], "TRACE"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}
