//! `run`: a program that is started under a policy.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use broadleaf_governor::{Governor, Kernel, Linux, Tree, Usage, allow_only_advised};

use super::journal::Notes;
use super::limits::{ManyFiles, no_core};
use super::outcome::{Ended, Where, tell};
use super::{baseline, govern, obstacles, say, ward};
use crate::args::Run;
use crate::failure::{Failure, reason};
use crate::interrupt::LeftToChild;

pub(crate) fn run(options: &Run) -> Result<(), Failure> {
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
        return baseline::run(options, rounds, place);
    }
    if !governs {
        say(format_args!(
            "{} runs without a governor",
            options.command[0].display()
        ));
        let left = LeftToChild::awaiting();
        let child = start(&options.command)?;
        left.begun();
        let (status, _) = broadleaf_governor::wait_for(child.id()).map_err(cannot_wait)?;
        left.ended();
        return Err(Failure::as_program(status));
    }
    if !options.govern.dry_run {
        only_source();
    }
    let began = Instant::now();
    let mut journal = Notes::begin(&options.govern, ward.policy(), &options.command)?;
    let left = LeftToChild::awaiting();
    let child = start(&options.command)?;
    left.begun();
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
    };
    if let Err(failure) = tell(&options.govern, place, &mut governor, &ended) {
        // The program has done its work, whether or not anybody hears of the governor's.
        say(format_args!("what was done cannot be told: {failure}"));
    }
    Err(Failure::as_program(status))
}

/// Makes the governor the only source of superpages in what is started from here, where the kernel can.
pub(super) fn only_source() {
    // Where it cannot (before Linux 6.18), the obstacles have said what follows from it.
    let _ = allow_only_advised();
}

/// Starts a command.
pub(super) fn start(command: &[OsString]) -> Result<Child, Failure> {
    let mut builder = Command::new(&command[0]);
    builder.args(&command[1..]);
    spawn(builder)
}

/// Starts what was put together. A program that cannot be started is answered as shells and `nice` do.
pub(super) fn spawn(mut command: Command) -> Result<Child, Failure> {
    command.spawn().map_err(|error| {
        let status = if error.kind() == io::ErrorKind::NotFound {
            127
        } else {
            126
        };
        let message = format!(
            "{}: cannot run it: {}",
            command.get_program().display(),
            reason(&error)
        );
        Failure::Status(status, message)
    })
}

/// A governor of a child and all that it starts.
pub(super) fn governor_of(
    child: &Child,
    ward: broadleaf_governor::Ward,
    dry: bool,
) -> Result<Governor<Linux>, Failure> {
    let mut kernel = Linux::new();
    // It is there until somebody waits for it, even where it has ended.
    let root = kernel.process(child.id());
    Ok(Governor::new(kernel, ward, Tree::of(root), dry))
}

/// Tells when a child has ended, how, and what it came to.
pub(super) fn ending(child: Child) -> Receiver<io::Result<(ExitStatus, Usage)>> {
    let (told, ended) = channel();
    std::thread::spawn(move || {
        // Nobody listens where the work has failed already.
        let _ = told.send(broadleaf_governor::wait_for(child.id()));
    });
    ended
}

pub(super) fn cannot_wait(error: io::Error) -> Failure {
    Failure::Failed(format!("cannot wait for the program: {}", reason(&error)))
}

impl Failure {
    /// The end of a program as this process's own: with the same status, or by the same signal.
    pub(super) fn as_program(status: ExitStatus) -> Self {
        if let Some(signal) = status.signal() {
            // The program has left a core if it was to leave one, and ours would be written over it.
            no_core();
            // Where it does not end this process, as one that stops does not, the status does.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            return Self::Status(128 + signal as u8, String::new());
        }
        Self::Status(status.code().unwrap_or(1) as u8, String::new())
    }
}
