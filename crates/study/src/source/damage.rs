//! The position and the kind of a trace's damage.

use std::io;

use broadleaf_import::LackeyError;
use broadleaf_report::number::grouped;
use broadleaf_trace::TraceError;

use super::Trace;

/// Damage after a trace's beginning. All data before the damage is whole.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// A recording is damaged, or ends inside a chunk.
    #[error("{0}")]
    Recording(TraceError),
    /// A recording ends between two chunks, because the recorder was killed.
    #[error(
        "is truncated: it ends at byte {size} without an index, because the recording was cut \
         short; the chunks before that byte are whole"
    )]
    CutShort {
        /// The size of the file in bytes.
        size: u64,
    },
    /// A foreign trace has invalid content.
    #[error("is damaged: {0}")]
    Lackey(LackeyError),
}

impl Damage {
    /// The offset up to which the trace is whole.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::Recording(
                TraceError::Truncated { offset, .. }
                | TraceError::BadCheck { offset }
                | TraceError::BadContent { offset, .. },
            )
            | Self::CutShort { size: offset }
            | Self::Lackey(LackeyError::BadLine { offset, .. }) => *offset,
            // The head or the file itself is faulty.
            Self::Recording(_) | Self::Lackey(_) => 0,
        }
    }
}

/// The reason why a pass stopped before the trace's end.
pub enum PassStop {
    Io(io::Error),
    Damage(Damage),
}

impl From<TraceError> for PassStop {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Io(error) => Self::Io(error),
            error => Self::Damage(Damage::Recording(error)),
        }
    }
}

impl From<LackeyError> for PassStop {
    fn from(error: LackeyError) -> Self {
        match error {
            LackeyError::Io(error) => Self::Io(error),
            error => Self::Damage(Damage::Lackey(error)),
        }
    }
}

impl Trace {
    /// A description of the unread data, with `keep_going`; known after [`Trace::finish`].
    pub fn damage(&self) -> Option<String> {
        let damage = self.damage.as_ref()?;
        Some(match damage {
            Damage::CutShort { .. } => format!("{damage}, and all of that was read"),
            Damage::Recording(_) if self.lost == Some(0) => {
                format!("{damage}; no access was lost, because that is the index or comes after it")
            }
            Damage::Recording(_) | Damage::Lackey(_) => format!(
                "{damage}; it was read up to there, and {} of its {} bytes, with {}, were lost",
                grouped(self.bytes.saturating_sub(damage.offset())),
                grouped(self.bytes),
                match self.lost {
                    Some(lost) => format!("{} accesses", grouped(lost)),
                    None => "an unknown number of accesses".to_owned(),
                }
            ),
        })
    }

    /// A note for readers of results on the unread data.
    pub fn note(&self) -> Option<String> {
        self.damage().map(|damage| format!("the trace {damage}"))
    }
}
