//! Forks: a parent's fork comes before its child in the trace, and the child may come before the
//! parent's later actions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use broadleaf_trace::{Event, Grain, Item, PartReader, TraceReader};

use crate::support::{
    RecordingPiece, TestRecording, can_record, compiled, folder, has, options, trace_with,
};

/// The pages that the program `shares` fills.
const PAGES: std::ops::Range<u64> = 0x1000_0000..0x1000_0040;

fn followed<S: AsRef<std::ffi::OsStr>>(command: &[S]) -> TestRecording {
    let mut follow = options(command);
    follow.follow_children = true;
    trace_with(&follow).expect("the recording works")
}

/// Checks the order of a recording. Each process but the first begins after its fork, and before
/// its parent continues. A program comes after the program that it replaces. A fork ends its chunk.
/// Returns the process ids of the children in this order.
fn children_in_order(recording: &TestRecording) -> Vec<u32> {
    let (mut first, mut children) = (None, Vec::new());
    let mut latest: BTreeMap<u32, u32> = BTreeMap::new();
    let mut process_id: BTreeMap<u32, u32> = BTreeMap::new();
    // Address spaces that forked, and their children that have not begun.
    let mut unborn: BTreeMap<u32, u32> = BTreeMap::new();
    recording.each(|space, piece| {
        // Instructions after the last reference come at a chunk's end.
        if !matches!(piece, RecordingPiece::Visit(visit) if visit.lookups() == 0) {
            assert_eq!(
                unborn.get(&space),
                None,
                "{space} went on before its child began"
            );
        }
        match piece {
            RecordingPiece::Event(Event::Fork { child }) => {
                assert!(
                    !latest.contains_key(&child),
                    "{child} began before its fork"
                );
                children.push(child);
                unborn.insert(space, child);
            }
            RecordingPiece::Event(Event::SpaceStart { pid, .. }) => {
                let first = *first.get_or_insert(pid);
                assert!(
                    pid == first || children.contains(&pid),
                    "{pid} began before its fork"
                );
                let before = latest.insert(pid, space);
                assert!(
                    before < Some(space),
                    "it began before the one that it replaces"
                );
                unborn.retain(|_, child| *child != pid);
                process_id.insert(space, pid);
            }
            _ => {}
        }
        // All items of a space come after its start, and before another space replaces it.
        let pid = process_id.get(&space).expect("it began");
        assert_eq!(latest[pid], space, "it continues after its end");
    });
    assert_eq!(
        children.len(),
        children.iter().collect::<BTreeSet<_>>().len(),
        "each child is reported once"
    );
    assert_eq!(forks_that_end_chunks(recording), children.len());
    children
}

fn forks_that_end_chunks(recording: &TestRecording) -> usize {
    let mut trace = TraceReader::new(&recording.bytes[..]).expect("it is a trace");
    let mut reader = PartReader::new(Grain::Page, false);
    let mut forks = 0;
    while let Some(part) = trace.next_part().expect("it can be read") {
        reader.begin(part);
        let mut ends = false;
        while let Some(item) = reader.next_item().expect("it can be read") {
            match item {
                Item::Event(event) => ends = matches!(event, Event::Fork { .. }),
                // As above.
                Item::Visits(visits) => ends &= visits.iter().all(|visit| visit.lookups() == 0),
            }
        }
        forks += usize::from(ends);
        trace.close(reader.close().expect("a part was read"));
    }
    forks
}

/// Returns the loads and stores of the shared pages, by space.
fn shared_accesses(recording: &TestRecording) -> BTreeMap<u32, (u64, u64)> {
    let mut made: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    recording.each(|space, piece| match piece {
        RecordingPiece::Visit(visit) if PAGES.contains(&visit.unit) => {
            let made = made.entry(space).or_default();
            made.0 += u64::from(visit.loads);
            made.1 += u64::from(visit.stores);
        }
        _ => {}
    });
    made
}

/// Records `shares` with this number of children.
fn shared_with(program: &Path, children: u64) {
    let recording = followed(&[program, Path::new(&children.to_string())]);
    assert!(recording.status.success(), "{:?}", recording.status);
    assert_eq!(children_in_order(&recording).len() as u64, children);
    let pages = PAGES.end - PAGES.start;
    let made = shared_accesses(&recording);
    assert_eq!(made.len() as u64, 1 + children);
    assert_eq!(made[&0], (0, pages * (1 + children)), "the parent");
    for (space, made) in made.into_iter().skip(1) {
        assert_eq!(made, (pages, 0), "child {space}");
    }
}

#[test]
pub(crate) fn a_fork_comes_before_its_child() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("shares", &[], place.path()) else {
        return;
    };
    for _ in 0..20 {
        shared_with(&program, 1);
    }
}

#[test]
pub(crate) fn fifty_children_at_a_time_are_in_order() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("shares", &[], place.path()) else {
        return;
    };
    shared_with(&program, 50);
}

/// A parent that its child suspends, as `vfork` does, cannot name the child. A killed parent never
/// does.
#[test]
pub(crate) fn a_fork_from_which_the_parent_never_returns_is_reported() {
    use std::os::unix::process::ExitStatusExt;
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("shares", &[], place.path()) else {
        return;
    };
    let recording = followed(&[&program, Path::new("suspended")]);
    assert_eq!(recording.status.signal(), Some(9));
    assert_eq!(children_in_order(&recording).len(), 1);
    let pages = PAGES.end - PAGES.start;
    let made = shared_accesses(&recording);
    assert_eq!((made[&0], made[&1]), ((0, pages), (pages, 0)));
}

#[test]
pub(crate) fn children_of_every_kind_are_in_order() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("children", &[], place.path()) else {
        return;
    };
    assert_eq!(children_in_order(&followed(&[program])).len(), 4);
}

/// The threads that do not fork are stopped anywhere, and their references belong to the parent.
#[test]
pub(crate) fn a_fork_among_busy_threads_is_in_order() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("spinning", &["-pthread"], place.path()) else {
        return;
    };
    let recording = followed(&[program]);
    assert!(recording.status.success(), "{:?}", recording.status);
    assert_eq!(children_in_order(&recording).len(), 12);
}

#[test]
pub(crate) fn a_pipeline_is_in_order() {
    if !can_record() || !has("sort") {
        return;
    }
    let line = "printf '%s\\n' c a b | sort | wc -l >/dev/null; (exit 3) & wait";
    let recording = followed(&["sh", "-c", line]);
    assert!(recording.status.success(), "{:?}", recording.status);
    assert_eq!(children_in_order(&recording).len(), 4);
}

/// A very short program may end before the reader of the program before it has noticed that one's
/// end.
#[test]
pub(crate) fn a_program_comes_after_the_program_that_it_replaces() {
    if !can_record() {
        return;
    }
    let place = folder();
    let Some(program) = compiled("again", &["-static", "-nostdlib"], place.path()) else {
        return;
    };
    let recording = followed(&[&program, Path::new("aaaaaaaaaa")]);
    assert!(recording.status.success(), "{:?}", recording.status);
    assert_eq!(recording.spaces, 11);
    assert_eq!(children_in_order(&recording), []);
}
