//! Errors of reading a trace.

use std::io;
use std::sync::Arc;

use broadleaf_report::number::grouped;
use broadleaf_trace::TraceError;

use super::damage::{Damage, PassStop};
use crate::failure::{Failure, reason};

/// An error of reading a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is not a readable recording, or its head is damaged.
    #[error("{name}: {error}")]
    Head {
        /// The name of the trace.
        name: String,
        /// The error.
        error: TraceError,
    },
    /// The trace is damaged after its head.
    #[error("{name}: {damage}; --keep-going reads what is before the damage, if there is anything")]
    Damaged {
        /// The name of the trace.
        name: String,
        /// The damage.
        damage: Damage,
    },
    /// The trace does not show where instructions end.
    #[error(
        "{0}: does not tell where instructions end, so they cannot begin again: a recording of \
         `broadleaf record` tells it; a recoded or reduced copy, a text or an import does not"
    )]
    NoInstructions(String),
    /// The trace has no code of its blocks.
    #[error(
        "{0}: has no code of its instructions, and the machine follows dependences and branches: \
         record the program with `broadleaf record --code --grain line`; a recoded or reduced copy, \
         a text or an import has no code"
    )]
    NoCode(String),
    /// The reduced form of a trace is damaged.
    #[error(
        "{name}: {error}: reduce the trace again, or remove this file so that the trace itself is \
         read"
    )]
    Reduced {
        /// The name of the reduced form.
        name: String,
        /// The error.
        error: TraceError,
    },
    /// The recording holds more accesses than its size allows.
    #[error(
        "{name}: holds {} accesses or more in {} bytes, and {}: --max-accesses {accesses} reads it",
        grouped(*accesses), grouped(*bytes), limit(*most, *given)
    )]
    TooLong {
        /// The name of the trace.
        name: String,
        /// The accesses up to the end of the chunk that exceeds the limit.
        accesses: u64,
        /// The size of the recording in bytes.
        bytes: u64,
        /// The limit, in accesses.
        most: u64,
        /// True if the user gave the limit.
        given: bool,
    },
    /// System calls populate more pages than the file's size allows.
    #[error(
        "{name}: system calls populate {} pages or more in its first {} bytes, and {} are \
         populated at most for a recording of {} bytes: --max-accesses {accesses} allows as many, \
         at 16 accesses a page",
        grouped(*pages), grouped(*understood), grouped(*most), grouped(*bytes)
    )]
    TooPopulated {
        /// The name of the trace.
        name: String,
        /// The pages up to the end of the chunk that exceeds the limit.
        pages: u64,
        /// The bytes of the file up to the end of the chunk that exceeds the limit.
        understood: u64,
        /// The size of the recording in bytes.
        bytes: u64,
        /// The limit, in pages.
        most: u64,
        /// The accesses that the pages count as.
        accesses: u64,
    },
    /// The decoder that several replays share failed.
    #[error("{0}")]
    Shared(Arc<ReadError>),
    /// The file or the pipe failed.
    #[error("{name}: cannot read it: {}", reason(error))]
    Io {
        /// The name of the trace.
        name: String,
        /// The error.
        error: io::Error,
    },
}

/// Names a limit on accesses, and its source.
fn limit(most: u64, given: bool) -> String {
    match given {
        true => format!("--max-accesses allows {}", grouped(most)),
        false => format!("{} are read at most of so small a recording", grouped(most)),
    }
}

impl ReadError {
    /// The name of the file and its fault, without a remedy for a damaged reduced form.
    pub(crate) fn fault(&self) -> String {
        match self {
            Self::Reduced { name, error } => format!("{name}: {error}"),
            other => other.to_string(),
        }
    }

    pub(crate) fn reduced(name: &str, error: TraceError) -> Self {
        let name = name.to_owned();
        match error {
            TraceError::Io(error) => Self::Io { name, error },
            error => Self::Reduced { name, error },
        }
    }

    pub(crate) fn head(name: &str, error: TraceError) -> Self {
        let name = name.to_owned();
        match error {
            TraceError::Io(error) => Self::Io { name, error },
            error => Self::Head { name, error },
        }
    }

    pub(crate) fn after_head(name: &str, stop: PassStop) -> Self {
        let name = name.to_owned();
        match stop {
            PassStop::Io(error) => Self::Io { name, error },
            PassStop::Damage(damage) => Self::Damaged { name, damage },
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Io { .. } => Self::failed(error),
            ReadError::Shared(shared) if matches!(**shared, ReadError::Io { .. }) => {
                Self::failed(error)
            }
            ReadError::Head { .. }
            | ReadError::Damaged { .. }
            | ReadError::NoInstructions(_)
            | ReadError::NoCode(_)
            | ReadError::Reduced { .. }
            | ReadError::Shared(_)
            | ReadError::TooLong { .. }
            | ReadError::TooPopulated { .. } => Self::wrong(error),
        }
    }
}
