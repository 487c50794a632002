//! Mappings have the places that the kernel gives them natively, modulo 2 MiB. Native runs without
//! address randomization are the reference.

use std::path::Path;
use std::process::Command;

use broadleaf_record::valgrind::Options;
use broadleaf_trace::{Backing, Event, TraceReader};
use broadleaf_units::PageSize;

use crate::support::{
    TestRecording, can_record, compiled, folder, has, is_emulated, options, plain_environment,
    recorded, trace_with,
};

const SUPERPAGE: u64 = 2 << 20;
const PAGE: u64 = 4096;

/// A region that the program reported: its name, start and length.
type PlacedRegion = (String, u64, u64);

fn regions(path: &Path) -> Vec<PlacedRegion> {
    let text = std::fs::read_to_string(path).expect("the program wrote its regions");
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    text.lines()
        .map(|line| {
            let mut words = line.rsplitn(3, ' ');
            let (length, start) = (
                words.next().expect("a length"),
                words.next().expect("a start"),
            );
            let name = words.next().expect("a name");
            (name.to_owned(), number(start), number(length))
        })
        .collect()
}

/// Returns the native regions of a program. Returns `None` and prints the reason if randomization
/// cannot be switched off.
fn natively(program: &Path, place: &Path) -> Option<Vec<PlacedRegion>> {
    if !has("setarch") {
        return None;
    }
    let run = || {
        let said = place.join("native");
        let mut command = Command::new("setarch");
        command
            .arg("-R")
            .args([program, &said, &place.join("file")]);
        plain_environment(&mut command);
        let output = command.output().expect("setarch starts");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if words.contains("set personality") {
            eprintln!("skipped: {words}");
            return None;
        }
        assert!(output.status.success(), "{words}");
        Some(regions(&said))
    };
    let (first, second) = (run()?, run()?);
    assert_eq!(first, second, "nothing is random");
    Some(first)
}

/// The end of the mappings that the loader makes, modulo 2 MiB, and whether the first one there is
/// a file: of `cat`, which runs natively. `None` if it is not known.
fn loader_begins_with_a_file() -> Option<(u64, bool)> {
    let maps = Command::new("setarch")
        .args(["-R", "cat", "/proc/self/maps"])
        .output()
        .ok()?;
    let maps = String::from_utf8_lossy(&maps.stdout).into_owned();
    let lines: Vec<&str> = maps.lines().collect();
    let vvar = lines.iter().position(|line| line.contains("[vvar"))?;
    let start = |line: &str| u64::from_str_radix(line.split('-').next()?, 16).ok();
    let below = lines.get(vvar.checked_sub(1)?)?;
    Some((start(lines[vvar])? % SUPERPAGE, below.contains('/')))
}

/// Returns true if the loader itself asks for other mappings than natively. The emulated processor
/// and kernel have other features, for which it reserves other memory.
fn loader_differs(recording: &TestRecording) -> bool {
    let Some((end, is_file)) = loader_begins_with_a_file() else {
        return false;
    };
    let events = recording.events(0);
    let first = events.iter().find_map(|event| match event {
        Event::Map(mapping) if (mapping.range.start.0 + mapping.range.len) % SUPERPAGE == end => {
            Some(mapping)
        }
        _ => None,
    });
    first.is_some_and(|first| matches!(first.backing, Backing::File { .. }) != is_file)
}

fn same_as_natively(name: &str, flags: &[&str]) {
    if !can_record() {
        return;
    }
    let place = folder();
    let place = place.path();
    let Some(program) = compiled("places", flags, place) else {
        return;
    };
    let Some(native) = natively(&program, place) else {
        return;
    };
    let said = place.join("recorded");
    let recording = recorded(&[&program, &said, &place.join("file")]);
    assert!(recording.status.success(), "{:?}", recording.status);
    if is_emulated() && loader_differs(&recording) {
        eprintln!("skipped: the loader itself maps other memory on the emulated processor");
        return;
    }
    let here = regions(&said);
    let events = recording.events(0);
    let is_event = |start: u64| {
        events.iter().any(|event| match event {
            Event::Map(mapping) => mapping.range.start.0 == start,
            Event::Remap { to, .. } => to.start.0 == start,
            _ => false,
        })
    };
    assert_eq!(native.len(), here.len());
    for (native, here) in native.iter().zip(&here) {
        assert_eq!(native.0, here.0);
        let place = |region: &PlacedRegion| region.1 % SUPERPAGE / PAGE;
        assert_eq!(
            place(native),
            place(here),
            "{name}: {} of {:#x} bytes is at {:#x} natively, here at {:#x}",
            here.0,
            here.2,
            native.1,
            here.1
        );
        if here.2 >= PAGE && !here.0.contains("malloc") {
            assert!(is_event(here.1), "{name}: {here:x?} is among the events");
        }
    }
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Misplaced { .. }))
    );
    eprintln!("{name}: {} regions as natively", here.len());
}

#[test]
pub(crate) fn of_a_program_with_its_position_free() {
    same_as_natively("position-independent", &["-pie", "-fpie", "-pthread"]);
}

#[test]
pub(crate) fn of_a_program_with_a_fixed_position() {
    same_as_natively("fixed", &["-no-pie", "-fno-pie", "-pthread"]);
}

#[test]
pub(crate) fn of_a_static_program() {
    same_as_natively("static", &["-static", "-pthread"]);
}

#[test]
pub(crate) fn a_mapping_without_room_is_reported() {
    if !can_record() {
        return;
    }
    let place = folder();
    let place = place.path();
    let Some(program) = compiled("places", &["-pthread"], place) else {
        return;
    };
    let recording = recorded(&[
        &program,
        &place.join("said"),
        &place.join("file"),
        Path::new("more"),
    ]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let events = recording.events(0);
    let large = (15 << 30) + PAGE;
    let at = events.iter().position(|event| {
        matches!(event, Event::Map(m) if m.range.len == large && m.backing == Backing::Anonymous)
    });
    let at = at.expect("the large mapping");
    let Event::Misplaced { at: range, native } = &events[at + 1] else {
        panic!("{:?} is followed by {:?}", events[at], events[at + 1]);
    };
    assert_eq!(range.len, large);
    assert_ne!(range.start.0 % SUPERPAGE, native.0 % SUPERPAGE);
}

/// Mappings are as far from a boundary as their offsets in their objects, and a file is one object
/// (Talluri 1995, section 6.8).
#[test]
fn mappings_can_be_aligned_to_page_sizes() {
    if !can_record() {
        return;
    }
    let place = folder();
    let place = place.path();
    let Some(program) = compiled("places", &["-pthread"], place) else {
        return;
    };
    let sizes = ["64k", "2m"].map(|name| PageSize::from_short_name(name).expect("a size"));
    let said = place.join("said");
    let recording = trace_with(&Options {
        align: sizes.to_vec(),
        ..options(&[&program, &said, &place.join("file")])
    });
    let recording = recording.expect("the recording works");
    assert!(recording.status.success(), "{:?}", recording.status);
    let (mut by_size, mut by_kernel) = ([0, 0], 0);
    for (name, start, length) in regions(&said) {
        let (_, kind) = name.split_once(':').expect("a number");
        let (offset, object) = match kind {
            "private" | "private again" | "shared" | "none" | "stack-like" | "file"
            | "file, shared" | "memfd" | "moved" => (0, length),
            "file, from 4096" => (PAGE, length + PAGE),
            _ => continue,
        };
        let largest = sizes.iter().rposition(|size| size.bytes() <= object);
        let Some(largest) = largest else { continue };
        let size = sizes[largest].bytes();
        assert_eq!(
            start % size,
            offset,
            "{name} of {length:#x} bytes is at {start:#x}"
        );
        by_size[largest] += 1;
        by_kernel += u32::from(object < SUPERPAGE);
    }
    assert!(by_size[0] > 5 && by_size[1] > 20, "{by_size:?}");
    assert!(by_kernel > 5, "the kernel would align none of these");
    let header = TraceReader::new(&recording.bytes[..]).expect("it is a trace");
    let notes = &header.header().notes;
    assert!(
        notes.iter().any(|note| note.contains("64k, 2m")),
        "{notes:?}"
    );
}
