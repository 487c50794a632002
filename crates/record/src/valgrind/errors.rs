//! The reasons for which a recording fails.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use broadleaf_trace::WriteError;

use super::process::BadWords;

/// The reason for which a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command is empty.
    #[error("no program to record was given")]
    NoCommand,
    /// The program's file was not found, or is not executable.
    #[error("{}: cannot run it: {error}", program.display())]
    NoProgram {
        /// The program's name, as it was given.
        program: OsString,
        /// The error with which `execvp` would fail.
        error: io::Error,
    },
    /// Valgrind cannot run the program.
    #[error("{program:?} {why}")]
    CannotRun {
        /// The program's file, or that of a script's interpreter.
        program: OsString,
        /// The reason, and the user's remedy.
        why: &'static str,
    },
    /// Valgrind was missing when this program was built.
    #[error(
        "this build of Broadleaf has no recorder, because Valgrind was missing when it was built \
        (on Debian: apt-get install valgrind gcc make, then build again)"
    )]
    NotBuilt,
    /// A C compiler was missing when this program was built.
    #[error(
        "this build of Broadleaf has no recorder for QEMU, because a C compiler was missing when \
        it was built (on Debian: apt-get install gcc make, then build again)"
    )]
    QemuNotBuilt,
    /// QEMU is not installed.
    #[error(
        "--engine qemu runs programs under {0}, and PATH has no {0} \
        (on Debian: apt-get install qemu-user)"
    )]
    NoQemu(&'static str),
    /// QEMU's program loads no plugins.
    #[error(
        "{} loads no plugins: --engine qemu needs a QEMU that was built with them, such as \
        qemu-user 7.2 of Debian 12",
        .0.display()
    )]
    NoPlugins(PathBuf),
    /// QEMU for whole systems is not installed.
    #[error(
        "--engine qemu-system runs a guest under qemu-system-x86_64, and PATH has none \
        (on Debian: apt-get install qemu-system-x86)"
    )]
    NoQemuSystem,
    /// No guest was given.
    #[error(
        "--engine qemu-system needs the folder of a guest (--guest): workloads/guest/build.py \
        builds one"
    )]
    NoGuest,
    /// QEMU has a version for which there is no plugin.
    #[error(
        "{} has version {version}: --engine qemu-system has plugins for QEMU 7.2 of Debian 12 and \
        for QEMU 10 of its backports",
        qemu.display()
    )]
    QemuVersion {
        /// The program of QEMU.
        qemu: PathBuf,
        /// Its version.
        version: String,
    },
    /// The folder holds no guest, or the guest cannot run.
    #[error("the guest in {}: {why}", folder.display())]
    Guest {
        /// The guest's folder.
        folder: PathBuf,
        /// The reason, and the user's remedy.
        why: String,
    },
    /// The engine has no such option.
    #[error("--engine qemu has no {0}: record with --engine valgrind")]
    EngineLacks(&'static str),
    /// The program began to run, but nothing was recorded.
    #[error(
        "the program ended ({0}) before it could be recorded; \
        the words of Valgrind or QEMU are above, if it had any"
    )]
    NothingRecorded(ExitStatus),
    /// The trace could not be written. The part that was written before can be read.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The recorder and this program disagree.
    #[error("{0}")]
    Tool(String),
    /// A folder for the recorder's own files could not be made.
    #[error("cannot make the recorder's files in {}: {error}", folder.display())]
    Folder {
        /// The path at which the folder was to be made.
        folder: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused another operation.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A path contains a zero byte.
    #[error(transparent)]
    Path(#[from] std::ffi::NulError),
}

impl From<BadWords> for RecordError {
    fn from(e: BadWords) -> Self {
        Self::Tool(e.to_string())
    }
}
