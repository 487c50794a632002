//! Where a trace could not be read on, and why.

use std::io;

use broadleaf_import::LackeyError;
use broadleaf_trace::TraceError;

/// What is wrong with a trace behind its beginning: what stands before is whole.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// A recording is damaged, or ends inside a chunk.
    #[error("{0}")]
    Recording(TraceError),
    /// A recording ends between two chunks, as one does whose recorder was killed.
    #[error(
        "is truncated: it ends at byte {size} without an index, because the recording was cut short; the chunks before that byte are whole"
    )]
    CutShort {
        /// How many bytes there are.
        size: u64,
    },
    /// A foreign trace holds something else.
    #[error("is damaged: {0}")]
    Lackey(LackeyError),
}

impl Damage {
    /// Up to where the trace is whole.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Recording(
                TraceError::Truncated { offset, .. }
                | TraceError::BadCheck { offset }
                | TraceError::BadContent { offset, .. },
            )
            | Self::CutShort { size: offset }
            | Self::Lackey(LackeyError::BadLine { offset, .. }) => *offset,
            // What is wrong with a head, or with the file itself.
            Self::Recording(_) | Self::Lackey(_) => 0,
        }
    }
}

/// Why a pass stopped before the trace's end.
pub enum Stop {
    Io(io::Error),
    Damage(Damage),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Io(error) => Self::Io(error),
            error => Self::Damage(Damage::Recording(error)),
        }
    }
}

impl From<LackeyError> for Stop {
    fn from(error: LackeyError) -> Self {
        match error {
            LackeyError::Io(error) => Self::Io(error),
            error => Self::Damage(Damage::Lackey(error)),
        }
    }
}
