//! Why a foreign trace could not be read or written.

use std::fmt;
use std::io;

/// The place of a record in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The format's name for a record: "record" or "line".
    pub noun: &'static str,
    /// The record's number, from 1.
    pub number: u64,
    /// Bytes before the record.
    pub offset: u64,
    /// The offset counts decompressed bytes.
    pub decompressed: bool,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { noun, number, .. } = self;
        let (of, offset) = if self.decompressed {
            ("decompressed ", self.offset)
        } else {
            ("", self.offset)
        };
        write!(f, "{noun} {number} (at {of}byte {offset})")
    }
}

/// Why a foreign trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input cannot be read.
    #[error("{name}: cannot read it: {error}")]
    Io {
        /// The file.
        name: String,
        /// The system's error.
        error: io::Error,
    },
    /// A record is wrong.
    #[error("{name}: {spot}: {reason}")]
    Record {
        /// The file.
        name: String,
        /// The place of the record.
        spot: Spot,
        /// The fault, and the remedy.
        reason: String,
    },
    /// The input as a whole is wrong.
    #[error("{name}: {reason}")]
    Input {
        /// The file or folder.
        name: String,
        /// The fault, and the remedy.
        reason: String,
    },
}

impl ImportError {
    /// The refusal of an input as a whole.
    pub(crate) fn input(name: &str, reason: impl Into<String>) -> Self {
        Self::Input {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }

    /// The refusal of a record.
    pub(crate) fn record(name: &str, spot: Spot, reason: impl Into<String>) -> Self {
        Self::Record {
            name: name.to_owned(),
            spot,
            reason: reason.into(),
        }
    }

    /// A failure to read.
    pub(crate) fn io(name: &str, error: io::Error) -> Self {
        Self::Io {
            name: name.to_owned(),
            error,
        }
    }
}

/// Why a trace could not be written in a foreign format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The trace has no form in the format.
    #[error("{0}")]
    NoForm(String),
}
