//! Processors for which the engine has no code.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::counts::SharedCounts;
use super::{Mechanism, TrapError, TrapOptions};

/// Refuses the run.
///
/// # Errors
/// Always.
pub(super) fn mechanism(_wanted: Option<Mechanism>) -> Result<Mechanism, TrapError> {
    Err(TrapError::Lacks("the trap engine runs on 64-bit x86 alone"))
}

/// Never called: [`mechanism`] refuses the run first.
pub(super) fn become_program(
    _options: &TrapOptions,
    _program: (&Path, &[OsString]),
    _shared: &'static SharedCounts,
    _tell: OwnedFd,
) -> ! {
    std::process::exit(1)
}
