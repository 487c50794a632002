//! Recordings in windows, compared with recordings of the whole program.

use std::collections::BTreeSet;
use std::path::Path;

use broadleaf_record::valgrind::{Options, RecordError};
use broadleaf_trace::{
    Advice, Backing, Border, Event, Range, TouchOrigin, TraceReader, Visit, WindowBorder,
    WindowPlan, WindowUnit,
};

use crate::support::{
    RecordingPiece, TestRecording, can_record, compiled, folder, options, recorded, trace_with,
    with_qemu,
};

/// The options of a recording in windows.
fn in_windows(program: &Path, windows: WindowPlan) -> Options {
    Options {
        windows: Some(windows),
        ..options(&[program])
    }
}

/// The static program of these tests.
fn program(folder: &Path) -> Option<std::path::PathBuf> {
    if !can_record() {
        return None;
    }
    compiled("windows", &["-static"], folder)
}

/// The unit of each access of a recording, and the number of accesses before each instruction.
#[derive(Default)]
struct Accesses {
    units: Vec<u64>,
    stores: u64,
}

impl Accesses {
    fn add(&mut self, visit: &Visit) {
        self.stores += u64::from(visit.stores);
        let count = (visit.loads + visit.stores) as usize;
        self.units.extend(std::iter::repeat_n(visit.unit, count));
    }
}

/// The accesses and instructions of any block of the program are fewer.
const BLOCK: u64 = 200;

/// A window as it was recorded.
struct TestWindow {
    start: WindowBorder,
    end: WindowBorder,
    accesses: Accesses,
    instructions: u64,
}

fn windows(recording: &TestRecording) -> (Vec<TestWindow>, WindowBorder) {
    let (mut found, mut open, mut total) = (Vec::<TestWindow>::new(), false, None);
    recording.each(|_, piece| match piece {
        // The last instructions of a window may come after its end, without a reference.
        RecordingPiece::Visit(visit) if visit.lookups() == 0 => {}
        RecordingPiece::Visit(visit) => {
            let window = found.last_mut().filter(|_| open);
            let window = window.expect("references are inside windows");
            window.accesses.add(&visit);
            window.instructions += u64::from(visit.instructions);
        }
        RecordingPiece::Event(Event::Window(at)) => {
            if let (Some(window), true) = (found.last_mut(), open) {
                window.end = at;
            }
            open = matches!(at.border, Border::Start(_));
            match at.border {
                Border::Start(number) => {
                    assert_eq!(number, found.len() as u64);
                    found.push(TestWindow {
                        start: at,
                        end: at,
                        accesses: Accesses::default(),
                        instructions: 0,
                    });
                }
                Border::End => {}
                Border::Total => total = Some(at),
            }
        }
        RecordingPiece::Event(_) => {}
    });
    (found, total.expect("the position at the end"))
}

/// All references of a window are those of the program from the window's start to its end.
#[test]
fn a_window_holds_the_references_of_its_stretch() {
    let folder = folder();
    let Some(program) = program(folder.path()) else {
        return;
    };
    let whole = recorded(&[&program]);
    let mut all = Accesses::default();
    whole.each(|_, piece| {
        if let RecordingPiece::Visit(visit) = piece {
            all.add(&visit);
        }
    });
    let plan = |unit, skip, length, every| WindowPlan {
        unit,
        skip,
        length,
        every,
    };
    use WindowUnit::{Accesses as Of, Instructions, Microseconds};
    for (windows_of, at_least) in [
        (plan(Of, 50_000, 2_000, 30_000), 8),
        (plan(Of, 0, 1, 7_001), 30),
        (plan(Of, 123_456, 0, 0), 1),
        (plan(Instructions, 100_000, 9_999, 100_000), 5),
        (plan(Microseconds, 50, 20, 100), 2),
    ] {
        let recording = trace_with(&in_windows(&program, windows_of)).expect("it works");
        let (found, total) = windows(&recording);
        assert!(found.len() >= at_least, "{windows_of:?}: {}", found.len());
        assert_eq!(total.accesses, all.units.len() as u64);
        assert_eq!(total.instructions, whole.totals.instructions);
        for (number, window) in found.iter().enumerate() {
            let (start, end) = (window.start, window.end);
            let of = &all.units[start.accesses as usize..end.accesses as usize];
            assert!(window.accesses.units == of, "{windows_of:?} {number}");
            let instructions = end.instructions - start.instructions;
            // Instructions after the last reference come with the next one, in the next window.
            assert!(window.instructions.abs_diff(instructions) <= BLOCK);
            // A window begins with the first block at or after the place that was asked for.
            let asked = windows_of.skip + number as u64 * windows_of.every;
            let at = match windows_of.unit {
                Of => start.accesses,
                Instructions => start.instructions,
                Microseconds => continue,
            };
            assert!((asked..asked + BLOCK).contains(&at), "{asked} {at}");
        }
    }
}

/// The resident pages of a program.
#[derive(Clone, Default)]
struct Resident {
    pages: BTreeSet<u64>,
    stack: Vec<(u64, u64)>,
    heap: Option<(u64, u64)>,
}

const fn pages(range: Range) -> (u64, u64) {
    (range.start.0 >> 12, (range.start.0 + range.len) >> 12)
}

impl Resident {
    fn remove(&mut self, (from, to): (u64, u64)) {
        self.pages.retain(|page| !(from..to).contains(page));
    }

    fn event(&mut self, event: &Event, with_gaps: bool) {
        match event {
            Event::Populate { range, origin, .. } if with_gaps || *origin != TouchOrigin::Gap => {
                let (from, to) = pages(*range);
                self.pages.extend(from..to);
            }
            Event::Map(mapping) => {
                self.remove(pages(mapping.range));
                if mapping.backing == Backing::Stack {
                    self.stack.push(pages(mapping.range));
                }
            }
            Event::StackGrow(range) => self.stack.push(pages(*range)),
            Event::Unmap(range) | Event::Advise(range, Advice::DontNeed) => {
                self.remove(pages(*range));
            }
            Event::Brk(range) => {
                if let Some((_, before)) = self.heap.replace(pages(*range)) {
                    self.remove((pages(*range).1, before.max(pages(*range).1)));
                }
            }
            Event::Remap { from, to } => {
                let ((from, end), (to, _)) = (pages(*from), pages(*to));
                let moved: Vec<u64> = self.pages.range(from..end).map(|p| p - from).collect();
                self.remove((from, end));
                self.pages.extend(moved.iter().map(|page| to + page));
            }
            _ => {}
        }
    }

    /// The pages that are not of the stack, on which the kernel puts arguments.
    fn outside_stack(&self) -> BTreeSet<u64> {
        let in_stack = |page: &u64| self.stack.iter().any(|&(a, b)| (a..b).contains(page));
        (self.pages.iter().copied())
            .filter(|page| !in_stack(page))
            .collect()
    }
}

/// The resident pages before each of these numbers of accesses.
fn residents(recording: &TestRecording, at: &[u64], with_gaps: bool) -> Vec<BTreeSet<u64>> {
    let (mut resident, mut time) = (Resident::default(), 0);
    let (mut found, mut next) = (Vec::new(), at.iter().peekable());
    recording.each(|_, piece| match &piece {
        RecordingPiece::Visit(visit) => {
            while next
                .next_if(|&&at| at < time + u64::from(visit.loads + visit.stores))
                .is_some()
            {
                found.push(resident.outside_stack());
            }
            time += u64::from(visit.loads + visit.stores);
            if visit.lookups() > 0 {
                resident.pages.insert(visit.unit);
            }
        }
        RecordingPiece::Event(Event::Window(border)) => {
            time = border.accesses;
            if matches!(border.border, Border::Start(_)) {
                while next.next_if(|&&at| at <= time).is_some() {
                    found.push(resident.outside_stack());
                }
            }
        }
        RecordingPiece::Event(event) => resident.event(event, with_gaps),
    });
    found
}

/// The resident pages at the start of each window are those of the whole recording. Without the
/// events of gaps they are not.
#[test]
fn the_resident_pages_at_a_windows_start_are_those_of_the_program() {
    let folder = folder();
    let Some(program) = program(folder.path()) else {
        return;
    };
    let whole = recorded(&[&program]);
    let windows_of = WindowPlan {
        unit: WindowUnit::Accesses,
        skip: 30_000,
        length: 1_000,
        every: 25_000,
    };
    let recording = trace_with(&in_windows(&program, windows_of)).expect("it works");
    let (found, _) = windows(&recording);
    assert!(found.len() >= 8, "{}", found.len());
    let starts: Vec<u64> = found.iter().map(|window| window.start.accesses).collect();
    let expected = residents(&whole, &starts, true);
    let found = residents(&recording, &starts, true);
    assert_eq!(expected.len(), found.len());
    for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
        let missing: Vec<_> = expected.difference(found).collect();
        let added: Vec<_> = found.difference(expected).collect();
        // The kernel reads names of files, which no recording notes.
        assert!(
            missing.is_empty() && added.len() <= 1,
            "window {number}: {missing:x?} are missing, {added:x?} are too many"
        );
    }
    // A page is named again only after a store, or after it may have left memory.
    let (mut named, mut distinct) = (0, BTreeSet::new());
    for event in recording.events(0) {
        if let Event::Populate { range, origin, .. } = event
            && origin == TouchOrigin::Gap
        {
            let (from, to) = pages(range);
            named += to - from;
            distinct.extend(from..to);
        }
    }
    assert!(
        named < 3 * distinct.len() as u64,
        "{named} {}",
        distinct.len()
    );
    let without = residents(&recording, &starts, false);
    let most = expected.last().expect("a window");
    let kept = without.last().expect("a window");
    assert!(kept.len() * 2 < most.len(), "{} {}", kept.len(), most.len());
}

/// Each process has windows of its own, counted from its start.
#[test]
fn forked_processes_have_windows_of_their_own() {
    let folder = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled("children", &[], folder.path()) else {
        return;
    };
    let plan = WindowPlan {
        unit: WindowUnit::Accesses,
        skip: 1_000,
        length: 500,
        every: 5_000,
    };
    let recording = trace_with(&Options {
        follow_children: true,
        ..in_windows(&program, plan)
    })
    .expect("it works");
    assert!(recording.processes > 1, "{}", recording.processes);
    let (mut starts, mut totals) = (Vec::new(), 0);
    recording.each(|space, piece| {
        if let RecordingPiece::Event(Event::Window(at)) = piece {
            match at.border {
                Border::Start(0) => starts.push((space, at.accesses)),
                Border::Total => totals += 1,
                _ => {}
            }
        }
    });
    assert!(starts.len() > 1, "{starts:?}");
    let is_own = |&(_, at): &(u32, u64)| (1_000..1_200).contains(&at);
    assert!(starts.iter().all(is_own), "{starts:?}");
    assert!(totals >= recording.processes, "{totals}");
}

/// A reader that does not know windows would take parts for the whole, so the version is higher.
#[test]
fn only_recordings_with_windows_are_of_version_3() {
    if !can_record() {
        return;
    }
    let plan = WindowPlan {
        unit: WindowUnit::Accesses,
        skip: 100,
        length: 10,
        every: 1_000,
    };
    let command = Path::new("true");
    let recording = trace_with(&in_windows(command, plan)).expect("it works");
    let reader = TraceReader::new(&recording.bytes[..]).expect("a trace");
    assert_eq!((reader.version(), reader.header().windows), (3, Some(plan)));
    let whole = recorded(&["true"]);
    let reader = TraceReader::new(&whole.bytes[..]).expect("a trace");
    assert_eq!((reader.version(), reader.header().windows), (1, None));
}

#[test]
fn qemu_refuses_windows() {
    with_qemu(|| {
        let plan = WindowPlan {
            unit: WindowUnit::Accesses,
            skip: 100,
            length: 0,
            every: 0,
        };
        let refused = trace_with(&in_windows(Path::new("true"), plan)).map(|_| ());
        assert!(
            matches!(refused, Err(RecordError::EngineLacks(_))),
            "{refused:?}"
        );
        let words = refused.unwrap_err().to_string();
        assert!(words.contains("--engine valgrind"), "{words}");
    });
}
