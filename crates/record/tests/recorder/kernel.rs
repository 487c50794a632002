//! The kernel's work for a program: populated memory, clocks, and system calls that
//! Valgrind lacks. Also locked instructions, which Valgrind splits.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use broadleaf_record::valgrind::Clock;
use broadleaf_trace::{Event, KernelTouch, TouchOrigin};

use crate::support::{
    TestRecording, can_record, compiled, folder, is_emulated, options, recorded, totals, trace_with,
};

const PAGE: u64 = 4096;

/// `programs/locked.c` has 1,000 locked instructions and no other reference.
#[test]
pub(crate) fn a_locked_instruction_is_one_load_and_one_store() {
    let place = folder();
    let flags = ["-nostdlib", "-static", "-mcx16"];
    if !can_record() {
        return;
    }
    let Some(program) = compiled("locked", &flags, place.path()) else {
        return;
    };
    let counted = totals(&recorded(&[program]).visits(0));
    assert_eq!((counted.loads, counted.stores), (1000, 1000));
}

/// The hardware asks for write access at once, so the kernel sees one store fault. Linux counted
/// 13,659 faults of a Go program that adds to each element of a fresh array. With the load first,
/// the model counted 21,940.
#[test]
pub(crate) fn an_instruction_that_modifies_memory_stores_first() {
    let place = folder();
    if !can_record() {
        return;
    }
    let flags = ["-nostdlib", "-static"];
    let Some(program) = compiled("modified", &flags, place.path()) else {
        return;
    };
    let visits = recorded(&[program]).visits(0);
    let modified: Vec<_> = visits.iter().filter(|visit| visit.accesses() > 0).collect();
    assert_eq!(modified.len(), 10);
    for visit in modified {
        let counts = (visit.loads, visit.stores, visit.loads_before_store);
        assert_eq!(counts, (1, 1, 0), "page {:#x}", visit.unit);
    }
}

/// The pages of each kind that a recording of `programs/populated.c` populates on request, in
/// order.
#[test]
pub(crate) fn populated_memory_is_reported_by_page() {
    use KernelTouch::{AsMapped, Load, Store};
    let place = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled("populated", &[], place.path()) else {
        return;
    };
    let recording = recorded(&[program]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let (mut requested, mut buffers) = (Vec::new(), Vec::new());
    for event in recording.events(0) {
        let Event::Populate {
            range,
            touch,
            origin,
        } = event
        else {
            continue;
        };
        assert_eq!((range.start.0 % PAGE, range.len % PAGE), (0, 0));
        let populated = (range.len / PAGE, touch);
        match origin {
            TouchOrigin::Request => requested.push(populated),
            TouchOrigin::Buffer => buffers.push(populated),
            TouchOrigin::Gap => panic!("the recording has no gap"),
        }
    }
    let expected = [
        (11, Load),
        (12, Store),
        (13, AsMapped),
        (14, AsMapped),
        (16, AsMapped), // without the 15 pages of MLOCK_ONFAULT
        (16384, Load),
        (20000 - 16384, Load),
    ];
    assert_eq!(requested, expected);
    // A buffer that is filled a thousand times makes one event.
    let of_buffer = buffers.iter().filter(|buffer| **buffer == (17, Store));
    assert_eq!(of_buffer.count(), 1, "{buffers:?}");
    assert!(buffers.len() < 30, "{buffers:?}");
}

/// Records `command` and expects that this takes less than a minute.
fn recorded_soon(command: &[&Path]) -> TestRecording {
    let (done, recording) = mpsc::channel();
    let command = options(command);
    thread::spawn(move || done.send(trace_with(&command)));
    let recording = recording.recv_timeout(Duration::from_secs(60));
    let recording = recording.expect("the recording ends within a minute");
    recording.expect("the recording works")
}

/// `programs/written.c` names 64 TiB in calls that read 18, 19, 21 and 16 pages.
#[test]
pub(crate) fn a_call_reports_the_pages_that_it_read_and_not_those_that_it_names() {
    let place = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled("written", &[], place.path()) else {
        return;
    };
    let recording = recorded_soon(&[&program, &place.path().join("out")]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let first = (1 << 32) + (1 << 30);
    let read = recording.events(0).into_iter().filter_map(|event| {
        let Event::Populate { range, touch, .. } = event else {
            return None;
        };
        (range.start.0 >= first && range.start.0 < 2 * first).then(|| {
            assert_eq!(touch, KernelTouch::Load);
            range.len / PAGE
        })
    });
    assert_eq!(read.collect::<Vec<_>>(), [18, 19, 21, 16]);
}

#[test]
pub(crate) fn pages_move_and_leave_their_mapping() {
    let place = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled("remapped", &[], place.path()) else {
        return;
    };
    let native = Command::new(&program).status().expect("it starts");
    if !native.success() {
        eprintln!("skipped: this kernel does not know MREMAP_DONTUNMAP");
        return;
    }
    let recording = recorded(&[program]);
    assert!(recording.status.success(), "{:?}", recording.status);
    let events = recording.events(0);
    let moves = events.windows(2).filter_map(|pair| match pair {
        [Event::Remap { from, to }, next] => Some((from, to, next)),
        _ => None,
    });
    let moves: Vec<_> = moves.collect();
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (from, to, next) in moves {
        assert_eq!((from.len, to.len), (40 * PAGE, 40 * PAGE));
        let Event::Map(mapping) = next else {
            panic!("{next:?} follows a move");
        };
        assert_eq!(mapping.range, *from);
    }
}

/// Returns the figures that `programs/clocks.c` prints under a clock. The first are milliseconds of
/// execution by the monotonic clock, its coarse form, time since boot, processor time, the
/// thread's, and the date. Then come milliseconds of a sleep and of a wait until a deadline, and
/// the number of steps back. The last figure is 1 if the deadline was still the program's own after
/// the wait.
fn times(clock: Clock) -> Option<Vec<i64>> {
    let place = folder();
    let program = compiled("clocks", &["-lpthread"], place.path())?;
    let printed = place.path().join("printed");
    let script = format!("exec {} >{}", program.display(), printed.display());
    let mut what = options(&["sh", "-c", &script]);
    what.clock = clock;
    let recording = trace_with(&what).expect("the recording works");
    assert!(recording.status.success());
    let text = std::fs::read_to_string(printed).expect("what it printed");
    let numbers = text.split_whitespace().map(|number| number.parse());
    Some(numbers.collect::<Result<_, _>>().expect("numbers"))
}

/// The program executes 40 to 60 million instructions. That takes 400 to 600 ms by a clock of 100
/// to a microsecond, on any machine.
#[test]
pub(crate) fn the_programs_clock_runs_by_its_instructions() {
    if !can_record() {
        return;
    }
    let Some(times) = times(Clock::Program(100)) else {
        return;
    };
    eprintln!("{times:?}");
    let [elapsed, coarse, since_boot, process, thread, ..] = times[..] else {
        panic!("{times:?}");
    };
    for by_instructions in [elapsed, coarse, since_boot, process, thread] {
        assert!((300..1500).contains(&by_instructions), "{times:?}");
    }
    let [.., slept, waited, back, same_deadline] = times[..] else {
        panic!("{times:?}");
    };
    assert!((200..1000).contains(&slept), "{times:?}");
    assert!((195..1000).contains(&waited), "{times:?}");
    assert_eq!((back, same_deadline), (0, 1), "{times:?}");
}

/// Records a program that checks its clocks by itself, under this clock.
fn clocks_hold(name: &str, flags: &[&str], clock: Clock, follow_children: bool) {
    let place = folder();
    if !can_record() {
        return;
    }
    let Some(program) = compiled(name, flags, place.path()) else {
        return;
    };
    let mut what = options(&[&program]);
    (what.clock, what.follow_children) = (clock, follow_children);
    let recording = trace_with(&what).expect("the recording works");
    assert!(recording.status.success(), "{:?}", recording.status);
}

/// Processor time never goes back. The processor time of a child begins at zero.
#[test]
pub(crate) fn processor_time_goes_on_and_begins_anew_in_a_child() {
    // QEMU gives a program the clock of the machine.
    let flags: &[&str] = match is_emulated() {
        true => &["-DREAL_CLOCK=1"],
        false => &[],
    };
    for follow_children in [false, true] {
        clocks_hold("processor_time", flags, Clock::Program(1), follow_children);
    }
}

/// Two threads may wait by one deadline, and a handler may leave a wait.
#[test]
pub(crate) fn a_deadline_stays_the_programs_own() {
    clocks_hold("deadlines", &["-pthread"], Clock::Date(1_000_000), false);
}

#[test]
pub(crate) fn only_the_clock_of_the_date_runs_the_date() {
    if !can_record() {
        return;
    }
    // The clocks are slow, so hardly any real time is as long.
    let (Some(program), Some(date)) = (times(Clock::Program(1)), times(Clock::Date(1))) else {
        return;
    };
    eprintln!("{program:?}, {date:?}");
    assert!(program[0] > 30_000 && program[5] < 30_000, "{program:?}");
    assert!(date[0] > 30_000 && date[5] > 30_000, "{date:?}");
}
