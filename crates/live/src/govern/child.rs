//! A program that is started here: its start, its signals and its end.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};

use broadleaf_governor::{
    Governor, Kernel, Linux, MayLack, ProcessTree, Usage, Ward, inherit_closed_streams,
    inherit_signals, wait_for,
};

use crate::use_of_blocks;
use broadleaf_study::failure::{Failure, reason};

/// The error of the kernel for a file that it does not know how to run (`errno.h`).
const ENOEXEC: i32 = 8;

/// The signals that reach this process while it runs a program. The command passes them on to the
/// program.
pub trait ProgramSignals: Sync {
    /// Called before a program starts. From then on, signals are for the program.
    fn hand_over(&self) -> Box<dyn HandedOver>;

    /// Called when the program was stopped, as by Ctrl-Z.
    fn program_stopped(&self);
}

/// Signals that are for a program. They are for this process again when the value is dropped.
pub trait HandedOver {
    /// Called after the program has started.
    fn started(&self, pid: u32);

    /// Called after the program has ended, if no other follows.
    fn ended(self: Box<Self>);
}

/// Starts a command.
pub(super) fn start(command: &[OsString]) -> Result<Child, Failure> {
    let mut builder = Command::new(&command[0]);
    builder.args(&command[1..]);
    inherit_signals(&mut builder);
    inherit_closed_streams(&mut builder, MayLack::All);
    match builder.spawn() {
        // The shell runs a script that does not name its interpreter, as `nice` has it.
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

/// Starts a command that is ready. The failure has the exit status that shells and `nice` return
/// for a program that cannot be started.
pub(super) fn spawn(mut command: Command) -> Result<Child, Failure> {
    inherit_signals(&mut command);
    command
        .spawn()
        .map_err(|error| Failure::cannot_run(command.get_program(), &error))
}

/// A governor of a child and of all processes that it starts.
pub(super) fn governor_of(
    child: &Child,
    ward: Ward,
    dry: bool,
) -> Result<Governor<Linux>, Failure> {
    let mut kernel = use_of_blocks::kernel(ward.policy());
    // A child that has ended exists until it is waited for.
    let root = kernel.process(child.id());
    Ok(Governor::new(kernel, ward, ProcessTree::of(root), dry))
}

/// Waits for a child on a thread of its own. The receiver gets the exit status and the usage.
pub(super) fn ending(
    child: Child,
    signals: &'static dyn ProgramSignals,
) -> Receiver<io::Result<(ExitStatus, Usage)>> {
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        // The receiver is gone if the work has failed already.
        let _ = sender.send(wait_for(child.id(), |_| signals.program_stopped()));
    });
    ended
}

pub(super) fn cannot_wait(error: io::Error) -> Failure {
    Failure::Failed(format!("cannot wait for the program: {}", reason(&error)))
}
