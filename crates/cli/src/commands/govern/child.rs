//! A program that is started here: its beginning, and its end.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};

use broadleaf_governor::{
    Governor, Kernel, Linux, MayLack, ProcessTree, Usage, Ward, inherit_closed_streams,
    inherit_signals, wait_for,
};

use crate::interrupt::stop_as_child;
use broadleaf_study::failure::{Failure, reason};

/// What the kernel answers to a file that it does not know how to run (`errno.h`).
const ENOEXEC: i32 = 8;

/// Starts a command.
pub(super) fn start(command: &[OsString]) -> Result<Child, Failure> {
    let mut builder = Command::new(&command[0]);
    builder.args(&command[1..]);
    inherit_signals(&mut builder);
    inherit_closed_streams(&mut builder, MayLack::All);
    match builder.spawn() {
        // A script that does not say what runs it: the shell does, as `nice` would have it.
        Err(error) if error.raw_os_error() == Some(ENOEXEC) => {
            let mut shell = Command::new("sh");
            shell.args(command);
            inherit_closed_streams(&mut shell, MayLack::All);
            spawn(shell)
        }
        Err(error) => Err(Failure::cannot_run(&command[0], &error)),
        Ok(child) => Ok(child),
    }
}

/// Starts what was put together. A program that cannot be started is answered as shells and `nice` do.
pub(super) fn spawn(mut command: Command) -> Result<Child, Failure> {
    inherit_signals(&mut command);
    command
        .spawn()
        .map_err(|error| Failure::cannot_run(command.get_program(), &error))
}

/// A governor of a child and all that it starts.
pub(super) fn governor_of(
    child: &Child,
    ward: Ward,
    dry: bool,
) -> Result<Governor<Linux>, Failure> {
    let mut kernel = Linux::new();
    // It is there until somebody waits for it, even where it has ended.
    let root = kernel.process(child.id());
    Ok(Governor::new(kernel, ward, ProcessTree::of(root), dry))
}

/// Tells when a child has ended, how, and what it came to.
pub(super) fn ending(child: Child) -> Receiver<io::Result<(ExitStatus, Usage)>> {
    let (told, ended) = channel();
    std::thread::spawn(move || {
        // Nobody listens where the work has failed already.
        let _ = told.send(wait_for(child.id(), |_| stop_as_child()));
    });
    ended
}

pub(super) fn cannot_wait(error: io::Error) -> Failure {
    Failure::Failed(format!("cannot wait for the program: {}", reason(&error)))
}
