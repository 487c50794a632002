//! Bounds on the time and the memory that a trace takes: by its size, and by limits of the user.

use std::time::{Duration, Instant};

use crate::support::{file, folder, refused, run, stderr, succeeded};
use broadleaf_trace::{
    Advice, BlockDef, BlockItem, Encoder, Event, Grain, Header, KernelTouch, Range, StreamChunk,
    Totals, TouchOrigin, TraceWriter, Visit,
};
use broadleaf_units::VirtAddr;

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

/// A recording of one load and of these events.
fn with_events(events: impl IntoIterator<Item = Event>) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    for event in events {
        encoder.event(&event).expect("an event");
    }
    let load = Visit {
        unit: 1 << 20,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    };
    encoder.visits(&[load]).expect("a visit");
    encoder.finish().expect("a trace")
}

fn pages(count: u64) -> Range {
    Range {
        start: VirtAddr(1 << 32),
        len: count << 12,
    }
}

/// A system call populates the first `count` pages of a range.
fn populate(count: u64) -> Event {
    Event::Populate {
        range: pages(count),
        touch: KernelTouch::Store,
        origin: TouchOrigin::Buffer,
    }
}

const MOST_OF_AN_EVENT: u64 = Event::MOST_POPULATED >> 12;

/// A recording of few bytes in which system calls populate 64 MiB `times` times. With `anew`, the
/// memory is given back each time, and each page is a fault again.
fn populated(times: u32, anew: bool) -> Vec<u8> {
    let gone = anew.then(|| Event::Advise(pages(MOST_OF_AN_EVENT), Advice::DontNeed));
    let each = [Some(populate(MOST_OF_AN_EVENT)), gone];
    with_events((0..times).flat_map(|_| each.clone()).flatten())
}

#[test]
fn system_calls_that_populate_for_days_are_refused_at_once() {
    let folder = folder("bounds-populated");
    for anew in [false, true] {
        let bytes = populated(1 << 20, anew);
        assert!(bytes.len() < 1 << 14, "{}", bytes.len());
        let trace = &file(&folder, "populated.bl", &bytes);
        // These do not replay the events.
        let said = succeeded(&run(&["info", trace]));
        assert!(said.contains("1,048,576 populate"), "{said}");
        succeeded(&run(&["recode", trace, "-o", "/dev/null", "--force"]));
        for command in [
            &["compare", trace, "--policy", "4k"][..],
            &["compare", trace, "--policy", "4k", "--keep-going"],
            &["compare", trace, "--policy", "4k", "--memory", "1G"],
            &["compare", trace, "--policy", "4k", "--curve"],
            &["advise", trace],
            &["reduce", trace],
        ] {
            let begun = Instant::now();
            let text = refused(&run(command));
            for part in [
                trace.as_str(),
                "populate",
                "in its first ",
                "--max-accesses",
            ] {
                assert!(text.contains(part), "{command:?}: {text}");
            }
            assert!(begun.elapsed() < Duration::from_secs(5), "{command:?}");
        }
    }
}

/// A buffer of 1 MiB that is filled anew 100,000 times, and 64 GiB that are populated at once. Both
/// take few bytes.
#[test]
fn honest_population_is_within_the_limit() {
    let folder = folder("bounds-honest");
    let buffer = with_events((0..100_000).map(|_| populate(256)));
    let large = (0..1024).map(|part| Event::Populate {
        range: Range {
            start: VirtAddr(part * Event::MOST_POPULATED),
            len: Event::MOST_POPULATED,
        },
        touch: KernelTouch::AsMapped,
        origin: TouchOrigin::Request,
    });
    for (name, bytes) in [("buffer.bl", buffer), ("large.bl", with_events(large))] {
        let trace = file(&folder, name, &bytes);
        succeeded(&run(&["compare", &trace, "--policy", "4k"]));
    }
}

#[test]
fn the_limit_of_populated_pages_can_be_raised_and_lowered() {
    let folder = folder("bounds-populated-limit");
    let trace = file(&folder, "populated.bl", &populated(2, false));
    let compare = |most: &str| run(&["compare", &trace, "--policy", "4k", "--max-accesses", most]);
    let accesses = 2 * MOST_OF_AN_EVENT * 16;
    let text = refused(&compare(&(accesses - 1).to_string()));
    assert!(text.contains("populate 32,768 pages or more"), "{text}");
    assert!(
        text.contains(&format!("--max-accesses {accesses} ")),
        "{text}"
    );
    succeeded(&compare(&accesses.to_string()));
}

/// The reduced form of a trace is a file of its own.
#[test]
fn a_reduced_form_is_bounded_too() {
    let folder = folder("bounds-reduced");
    let trace = file(&folder, "populated.bl", &populated(8192, false));
    let most = (8192 * MOST_OF_AN_EVENT * 16).to_string();
    succeeded(&run(&["reduce", &trace, "--max-accesses", &most]));
    let reduced = format!("{trace}.reduced");
    for trace in [&trace, &reduced] {
        let text = refused(&run(&["compare", trace, "--policy", "4k"]));
        assert!(
            text.contains("reduced: system calls populate 134,217,728 pages"),
            "{text}"
        );
    }
}
