//! `run`: a program that is started under a policy.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use broadleaf_governor::{Governor, Linux, ProcessTree, allow_only_advised, end_by, wait_for};

use broadleaf_report::View;

use super::child::{cannot_wait, ending, governor_of, start};
use super::journal::Notes;
use super::limits::{ManyFiles, no_core};
use super::outcome::{Ended, Where, tell};
use super::{baseline, govern, obstacles, say, ward};
use crate::args::Run;
use crate::interrupt::{LeftToChild, stop_as_child};
use broadleaf_study::failure::Failure;

pub(crate) fn run(options: &Run, view: View) -> Result<(), Failure> {
    let ward = ward(&options.govern)?;
    let place = Where::of(&options.govern)?;
    let obstacles = obstacles(false, options.govern.dry_run);
    for obstacle in &obstacles {
        say(obstacle);
    }
    let governs = !obstacles.iter().any(|obstacle| obstacle.is_fatal());
    if let Some(rounds) = options.baseline {
        if !governs {
            return Err(Failure::failed(
                "nothing can be compared: the program would run without superpages both times",
            ));
        }
        return baseline::run(options, rounds, place, view);
    }
    let began = Instant::now();
    if !governs {
        say(format_args!(
            "{} runs without a governor",
            options.command[0].display()
        ));
        let left = LeftToChild::awaiting();
        let child = start(&options.command)?;
        left.begun(Some(child.id()));
        let (status, usage) = wait_for(child.id(), |_| stop_as_child()).map_err(cannot_wait)?;
        left.ended();
        if options.govern.journal.is_some() {
            say("no journal is written, for nothing was governed");
        }
        let mut nobody = Governor::new(Linux::new(), ward, ProcessTree::default(), true);
        let ended = Ended {
            status: Some(status),
            usage: Some(usage),
            elapsed: began.elapsed(),
            notes: obstacles.iter().map(ToString::to_string).collect(),
        };
        if place.0.is_some()
            && let Err(failure) = tell(&options.govern, place, &mut nobody, &ended)
        {
            say(format_args!("cannot report what was done: {failure}"));
        }
        return Err(as_program(status));
    }
    if !options.govern.dry_run {
        only_source();
    }
    let mut journal = Notes::begin(&options.govern, ward.policy(), &options.command)?;
    let left = LeftToChild::awaiting();
    let child = start(&options.command)?;
    left.begun(Some(child.id()));
    let mut governor = governor_of(&child, ward, options.govern.dry_run)?;
    let _many = ManyFiles::allowed();
    let ended = ending(child);
    let mut status = None;
    govern(
        &mut governor,
        |ticked| journal.note(ticked),
        |wait| match ended.recv_timeout(wait) {
            Ok(outcome) => {
                status = Some(outcome);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        },
    );
    let (status, usage) = match status {
        Some(status) => status,
        None => ended.recv().map_err(Failure::failed)?,
    }
    .map_err(cannot_wait)?;
    left.ended();
    let ended = Ended {
        status: Some(status),
        usage: Some(usage),
        elapsed: began.elapsed(),
        notes: Vec::new(),
    };
    if !options.govern.dry_run {
        tell_who_goes_on(&mut governor);
    }
    if let Err(failure) = tell(&options.govern, place, &mut governor, &ended) {
        // The program has done its work, whether or not anybody hears of the governor's.
        say(format_args!("cannot report what was done: {failure}"));
    }
    Err(as_program(status))
}

/// Says which processes live on: nobody makes superpages in them any more, not even the kernel.
fn tell_who_goes_on(governor: &mut Governor<Linux>) {
    let living = governor.living();
    if living.is_empty() {
        return;
    }
    let pids: Vec<String> = living.iter().map(ToString::to_string).collect();
    let pids = pids.join(" ");
    say(format_args!(
        "processes that the program started are still running: {pids}. Nothing makes superpages in them now. To continue: broadleaf attach {pids}"
    ));
}

/// Makes the governor the only source of superpages in what is started from here, where the kernel can.
pub(super) fn only_source() {
    // Where it cannot (before Linux 6.18), the obstacles have said what follows from it.
    let _ = allow_only_advised();
}

/// Ends this process as the program ended: by the same signal, or with the same status. The returned
/// failure holds the status.
pub(super) fn as_program(status: ExitStatus) -> Failure {
    if let Some(signal) = status.signal() {
        // The program left its own core file, and this process would write over the file.
        no_core();
        // A stop signal does not end this process. The status does.
        end_by(signal);
        return Failure::Status(128 + signal as u8, String::new());
    }
    Failure::Status(status.code().unwrap_or(1) as u8, String::new())
}
