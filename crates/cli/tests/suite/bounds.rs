//! Bounds on the time and the memory that a trace takes: by its size, and by limits of the user.


use std::time::{Duration, Instant};

use broadleaf_trace::{BlockDef, BlockItem, Grain, Header, StreamChunk, Totals, TraceWriter};
use crate::support::{file, folder, refused, run, stderr, succeeded};

/// A recording of one block that loads from two pages and is executed so often, in a few bytes. It
/// says that it makes `loads` loads.
fn loop_of(executions: u64, loads: u64) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &Header::new(Grain::Page)).expect("a trace");
    let load = || BlockItem::Load { bytes: 8 };
    let block = BlockDef::new(vec![load(), load(), BlockItem::Exit]);
    writer.definitions(0, 0, &[block]).expect("a block");
    // Named with both references; named again; and a long run.
    let heads = [0x0a, 0x02, 0xf3];
    let mut runs = Vec::new();
    let mut more = executions - 2 - 15;
    while more >= 0x80 {
        runs.push(more as u8 | 0x80);
        more >>= 7;
    }
    runs.push(more as u8);
    let chunk = StreamChunk {
        totals: Totals {
            executions,
            loads,
            ..Totals::default()
        },
        sections: [&heads, &runs, &[0; 6], &[3], &[255, 255], &[0x40, 4]],
        ..StreamChunk::default()
    };
    writer.stream_chunk(0, &chunk).expect("a chunk");
    writer.finish().expect("a trace")
}

const HUGE: u64 = 1 << 33;

#[test]
fn a_few_bytes_that_ask_for_days_are_refused_at_once() {
    let folder = folder("bounds-loop");
    let honest = file(&folder, "honest.bl", &loop_of(100, 200));
    let answer = succeeded(&run(&["info", &honest, "--format", "json"]));
    assert!(answer.contains("\"accesses\": 200"), "{answer}");
    let huge = loop_of(HUGE, 2 * HUGE);
    assert!(huge.len() < 300);
    // One that says less in its totals makes no more work.
    for (name, bytes) in [("huge.bl", huge), ("lies.bl", loop_of(HUGE, 7))] {
        let trace = file(&folder, name, &bytes);
        for command in [
            &["info", &trace][..],
            &["compare", &trace, "--policy", "4k"],
            &["compare", &trace, "--policy", "4k", "--memory", "1G"],
            &["advise", &trace],
            &["recode", &trace],
            &["reduce", &trace],
        ] {
            let begun = Instant::now();
            let text = refused(&run(command));
            assert!(text.contains("--max-accesses"), "{command:?}: {text}");
            assert!(text.contains("bytes"), "{text}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{command:?}");
        }
    }
}

#[test]
fn a_limit_that_is_told_is_the_limit() {
    let folder = folder("bounds-limit");
    let trace = file(&folder, "loop.bl", &loop_of(1000, 2000));
    let text = refused(&run(&["info", &trace, "--max-accesses", "1999"]));
    assert!(text.contains("2,000 accesses or more in "), "{text}");
    assert!(text.contains("--max-accesses 2000 reads it"), "{text}");
    succeeded(&run(&["info", &trace, "--max-accesses", "2000"]));
    // Where the totals are too low, the chunk is damaged, and is not read to its end.
    let trace = file(&folder, "lies.bl", &loop_of(1 << 24, 7));
    let text = refused(&run(&["info", &trace]));
    assert!(text.contains("is wrong in its totals"), "{text}");
}

#[test]
fn devices_without_an_end_are_no_traces() {
    for device in ["/dev/zero", "/dev/urandom"] {
        for command in [
            &["info", device][..],
            &["compare", device],
            &["compare", "/dev/null", "--memory", "1G", "--after", device],
            &["advise", device],
            &["recode", device, "-o", "/dev/null", "--force"],
            &["import", "lackey", device, "-o", "/dev/null", "--force"],
        ] {
            let begun = Instant::now();
            let output = run(command);
            assert_eq!(output.status.code(), Some(2), "{command:?}");
            assert!(stderr(&output).lines().count() == 1, "{}", stderr(&output));
            assert!(begun.elapsed() < Duration::from_secs(10), "{command:?}");
        }
    }
}
