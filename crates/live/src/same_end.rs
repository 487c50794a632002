//! The end of a command that ran a program: as the program ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use broadleaf_governor::end_by;
use broadleaf_study::failure::Failure;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Ends this process as the program ended: by the same signal, or with the same status. The
/// returned failure holds the status.
pub fn as_program(status: ExitStatus) -> Failure {
    if let Some(signal) = status.signal() {
        // The program left its own core file, and this process would write over the file.
        forbid_core();
        // A stop signal does not end this process. The status does.
        end_by(signal);
        return Failure::Status(128 + signal as u8, String::new());
    }
    Failure::Status(status.code().unwrap_or(1) as u8, String::new())
}

/// Makes this process leave no core file from here on.
fn forbid_core() {
    let none = Rlimit {
        current: Some(0),
        ..getrlimit(Resource::Core)
    };
    let _ = setrlimit(Resource::Core, none);
    // A program that collects core files gets them whatever the limit says.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
