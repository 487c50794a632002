//! Programs that outlive their recording. A recorder that ends removes its folder, so a program
//! that does not find the folder runs to its end without being recorded.

use std::fs;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use broadleaf_trace::Grain;

use super::errors::RecordError;
use super::launch::Workplace;
use super::session::{Clock, Engine, Options};

/// Returns folders without a recorder. Returns `None` and prints the reason if programs cannot be
/// recorded here.
fn workplace() -> Option<Workplace> {
    match Workplace::new(Engine::Valgrind, None) {
        Ok(workplace) => Some(workplace),
        Err(error @ RecordError::NotBuilt) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn start(workplace: &Workplace, script: &str) -> Child {
    let options = Options {
        guest: None,
        engine: Engine::Valgrind,
        command: ["sh", "-c", script].map(Into::into).into(),
        grain: Grain::Page,
        instructions: false,
        code: false,
        sites: false,
        align: Vec::new(),
        windows: None,
        follow_children: true,
        clock: Clock::default(),
        prepare: |_| (),
        level: 1,
        recorder: "test".into(),
        measured: None,
    };
    workplace
        .start(Path::new("sh"), None, &options)
        .expect("the program starts")
}

/// Waits for a program. Kills it after a minute.
fn end_of(mut child: Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status;
        }
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it can be killed");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_that_begins_after_the_recording_runs_unrecorded() {
    let Some(workplace) = workplace() else { return };
    fs::remove_dir_all(workplace.ring("")).expect("the folder goes");
    let status = end_of(start(&workplace, "exit 7"));
    assert_eq!(status.code(), Some(7), "{status}");
}

/// No recorder empties the ring of this program, so the ring fills and the program waits.
#[test]
fn a_program_that_waits_for_a_recorder_goes_on_when_the_recording_has_ended() {
    let Some(mut workplace) = workplace() else {
        return;
    };
    let script = "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; exit 7";
    let program = start(&workplace, script);
    while workplace.control.announced().expect("the pipe").is_empty() {
        thread::sleep(Duration::from_millis(20));
    }
    fs::remove_dir_all(workplace.ring("")).expect("the folder goes");
    let status = end_of(program);
    assert_eq!(status.code(), Some(7), "{status}");
}
