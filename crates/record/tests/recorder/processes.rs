//! Threads and processes: each visit belongs to its thread and process.

use std::collections::{BTreeMap, BTreeSet};

use broadleaf_record::valgrind::record;
use broadleaf_trace::Event;

use crate::support::{RecordingPiece, can_record, compiled, folder, options, recorded, trace_with};

#[test]
pub(crate) fn a_visit_belongs_to_the_thread_that_runs() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("threads", &["-pthread"], place.path()) else {
        return;
    };
    let said = place.path().join("said");
    let recording = recorded(&[&program, &said]);
    let text = std::fs::read_to_string(said).expect("an address");
    let first = u64::from_str_radix(text.trim(), 16).expect("an address") >> 12;
    // A thread number may be used again after its thread has ended, so threads are distinguished by
    // the count of starts.
    let (mut alive, mut starts) = (BTreeMap::new(), 0);
    let mut running = None;
    let mut by_part: BTreeMap<u64, BTreeMap<u32, (u64, u64)>> = BTreeMap::new();
    recording.each(|_, piece| match piece {
        RecordingPiece::Event(Event::ThreadStart(thread)) => {
            starts += 1;
            assert_eq!(
                alive.insert(thread, starts),
                None,
                "{thread:?} starts twice"
            );
        }
        RecordingPiece::Event(Event::ThreadSwitch(thread)) => running = Some(thread),
        RecordingPiece::Event(Event::ThreadEnd(thread)) => drop(alive.remove(&thread)),
        RecordingPiece::Visit(visit) => {
            let part = visit.unit.wrapping_sub(first) / 64;
            if part < 3 {
                let thread = alive[&running.expect("a thread runs")];
                let count = by_part.entry(part).or_default().entry(thread).or_default();
                count.0 += u64::from(visit.loads);
                count.1 += u64::from(visit.stores);
            }
        }
        RecordingPiece::Event(_) => {}
    });
    let owners: BTreeSet<_> = by_part.values().flat_map(BTreeMap::keys).collect();
    assert_eq!(owners.len(), 3, "{by_part:?}");
    for threads in by_part.values() {
        assert_eq!(threads.values().collect::<Vec<_>>(), [&(200_000, 200_000)]);
    }
}

#[test]
pub(crate) fn children_of_every_kind_are_followed_or_left_alone() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("children", &[], place.path()) else {
        return;
    };
    let alone = trace_with(&options(&[&program])).expect("the recording works");
    assert_eq!(
        alone.status.code(),
        Some(23),
        "the shell that it executes at last"
    );
    assert_eq!((alone.processes, alone.spaces), (1, 2));
    let mut follow = options(&[&program]);
    follow.follow_children = true;
    let all = trace_with(&follow).expect("the recording works");
    assert_eq!(all.status.code(), Some(23));
    // The program itself and the shell; a fork, and a fork that fails to execute. A vfork and a
    // spawn, each before and after its execution.
    assert_eq!((all.processes, all.spaces), (5, 8));
    let (mut forks, mut pids) = (BTreeSet::new(), BTreeSet::new());
    let mut ends = Vec::new();
    for space in 0..all.spaces {
        for event in all.events(space) {
            match event {
                Event::Fork { child } => drop(forks.insert(child)),
                Event::SpaceStart { pid, .. } => drop(pids.insert(pid)),
                Event::SpaceEnd { status } => ends.push(status),
                _ => {}
            }
        }
    }
    ends.sort_unstable();
    assert_eq!(ends, [0, 0, 7, 11, 23].map(|code| Some(code << 8)));
    assert_eq!(forks.len(), 4);
    assert!(forks.is_subset(&pids), "{forks:?} {pids:?}");
    assert_eq!(pids.len(), 5);
}

#[test]
pub(crate) fn a_program_that_is_killed_is_recorded_up_to_there() {
    use std::os::unix::process::ExitStatusExt;
    if !can_record() {
        return;
    }
    let recording = recorded(&["sh", "-c", "kill -9 $$"]);
    assert_eq!(recording.status.signal(), Some(9));
    assert!(recording.visits(0).len() > 1000);
    let statuses = recording
        .events(0)
        .into_iter()
        .filter_map(|event| match event {
            Event::SpaceEnd { status } => status,
            _ => None,
        });
    // As `wait` reports it: the number of the signal.
    assert_eq!(statuses.collect::<Vec<_>>(), [9]);
}

/// The actions before a pause are in the file during the pause.
#[test]
pub(crate) fn a_pause_finds_the_recording_safe() {
    if !can_record() {
        return;
    }
    let mut safe = 0;
    let command = options(&["sleep", "4"]);
    let finished = record(&command, Vec::new(), &mut |now| safe = now.accesses);
    let totals = finished.expect("the recording works").totals;
    let all = totals.loads + totals.stores;
    assert!(safe > all / 2, "{safe} of {all}");
}

#[test]
pub(crate) fn a_pipeline_s_output_is_right_and_all_of_it_is_recorded() {
    if !can_record() {
        return;
    }
    let place = folder();
    let (file, out) = (place.path().join("f"), place.path().join("out"));
    std::fs::write(&file, "some text to pack\n".repeat(3000)).expect("a file");
    let line = format!(
        "gzip -c {} | wc -l >{}; /bin/true",
        file.display(),
        out.display()
    );
    let mut results = Vec::new();
    for follow_children in [false, true] {
        let mut what = options(&["sh", "-c", &line]);
        what.follow_children = follow_children;
        let recording = trace_with(&what).expect("the recording works");
        assert!(recording.status.success());
        let programs: BTreeSet<String> = (0..recording.spaces)
            .flat_map(|space| recording.events(space))
            .filter_map(|event| match event {
                Event::SpaceStart { command, .. } => Some(command[0].clone()),
                _ => None,
            })
            .collect();
        let has = |name: &str| programs.iter().any(|program| program.ends_with(name));
        assert!(has("sh"), "{programs:?}");
        for name in ["gzip", "wc", "true"] {
            assert_eq!(has(name), follow_children, "{name}: {programs:?}");
        }
        results.push(std::fs::read_to_string(&out).expect("the output"));
    }
    assert_eq!(results[0], results[1]);
}
