//! The failures of a command.

use std::ffi::OsStr;
use std::io;

use broadleaf_report::printable;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments or a file were wrong: exit status 2.
    #[error("{0}")]
    Wrong(String),
    /// The work itself failed: exit status 1.
    #[error("{0}")]
    Failed(String),
    /// A program ended with this status, or could not be run. The text is empty if there is nothing
    /// to report.
    #[error("{1}")]
    Status(u8, String),
    /// The reader of the output is gone: no message, exit status 0.
    #[error("the reader of the output went away")]
    NoReader,
}

impl Failure {
    /// A failure of arguments or files.
    pub fn wrong(message: impl ToString) -> Self {
        Self::Wrong(message.to_string())
    }

    /// A failure of the work.
    pub fn failed(message: impl ToString) -> Self {
        Self::Failed(message.to_string())
    }

    /// Returns true if the failure has a message.
    pub fn has_words(&self) -> bool {
        match self {
            Self::NoReader => false,
            Self::Status(_, words) => !words.is_empty(),
            Self::Wrong(_) | Self::Failed(_) => true,
        }
    }

    /// A program that cannot be started. The exit status is that of env(1), nice(1) and shells: 127
    /// if the program is not found, 126 otherwise.
    pub fn cannot_run(program: &OsStr, error: &io::Error) -> Self {
        let status = match error.kind() {
            io::ErrorKind::NotFound => 127,
            _ => 126,
        };
        let program = printable(&program.to_string_lossy());
        Self::Status(
            status,
            format!("{program}: cannot run it: {}", reason(error)),
        )
    }

    /// A named file that cannot be read.
    pub fn reading(name: &str, error: &io::Error) -> Self {
        Self::Wrong(format!("{name}: cannot read it: {}", reason(error)))
    }

    /// A failure to write to `name`.
    pub fn writing(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NoReader,
            _ => Self::Failed(format!("{name}: cannot write: {}", reason(error))),
        }
    }
}

/// The description of an error, without the number of the operating system.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
