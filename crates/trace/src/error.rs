//! Errors of reading and of writing a trace.

use std::fmt;
use std::io;

/// A part of a trace, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// The file's head.
    Head,
    /// The first 16 bytes of a chunk.
    ChunkHead,
    /// A definitions chunk.
    Definitions,
    /// A code chunk.
    BlockCode,
    /// The totals and section lengths at the start of a stream chunk.
    Totals,
    /// The heads of executions, in a stream chunk.
    Heads,
    /// The long runs.
    Runs,
    /// The named patterns.
    Patterns,
    /// The masks.
    Masks,
    /// The units.
    Units,
    /// The places.
    Places,
    /// The access counts of visits, in a chunk of version 2.
    Counts,
    /// The words.
    Words,
    /// The codes.
    Codes,
    /// The events.
    Events,
    /// The columns of a reduced trace.
    Columns,
    /// The index.
    Index,
    /// The trailer after the index.
    End,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::ChunkHead => "chunk head",
            Self::Definitions => "definitions",
            Self::BlockCode => "code of blocks",
            Self::Totals => "totals",
            Self::Heads => "heads",
            Self::Runs => "runs",
            Self::Patterns => "patterns",
            Self::Masks => "masks",
            Self::Units => "units",
            Self::Places => "places",
            Self::Counts => "counts",
            Self::Words => "words",
            Self::Codes => "codes",
            Self::Events => "events",
            Self::Columns => "columns",
            Self::Index => "index",
            Self::End => "end",
        })
    }
}

/// An error in the content of one chunk, without the chunk's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section}: {reason}")]
pub struct Bad {
    /// The part of the chunk.
    pub section: Section,
    /// The fault in that part.
    pub reason: &'static str,
}

impl Bad {
    pub(crate) const fn new(section: Section, reason: &'static str) -> Self {
        Self { section, reason }
    }

    /// Adds the file offset of the chunk.
    pub(crate) const fn at(self, offset: u64) -> TraceError {
        TraceError::BadContent {
            offset,
            section: self.section,
            reason: self.reason,
        }
    }
}

/// An error of reading a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The underlying reader failed.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// The file has no bytes.
    #[error("is empty, not a trace")]
    Empty,
    /// The file begins as a trace and ends inside its head.
    #[error("is not a trace: it ends after {size} bytes, inside its head")]
    TooShort {
        /// The size of the file in bytes.
        size: u64,
    },
    /// The file does not begin with the magic bytes of a trace.
    #[error("is not a trace: it does not begin with \"BROADLEAF\"")]
    NotATrace,
    /// A later Broadleaf wrote the file.
    #[error(
        "is a trace of format version {version}, and this Broadleaf reads versions \
         up to {}: upgrade Broadleaf to read it",
        crate::VERSION
    )]
    Version {
        /// The version in the file's head.
        version: u16,
    },
    /// The file ends inside a chunk.
    #[error(
        "is truncated: it ends at byte {size}, inside the chunk at byte {offset}; \
         the part before byte {offset} is whole"
    )]
    Truncated {
        /// The end of the last whole chunk.
        offset: u64,
        /// The end of the file.
        size: u64,
    },
    /// The checksum of a chunk, or of the head at byte 0, does not agree.
    #[error("is damaged: the check of what begins at byte {offset} does not agree")]
    BadCheck {
        /// The start of the chunk.
        offset: u64,
    },
    /// A chunk's content is invalid.
    #[error("is damaged: the chunk at byte {offset} is wrong in its {section}: {reason}")]
    BadContent {
        /// The start of the chunk.
        offset: u64,
        /// The part of the chunk.
        section: Section,
        /// The fault in that part.
        reason: &'static str,
    },
}

/// An error of writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The underlying writer failed.
    #[error("cannot write the trace: {0}")]
    Io(#[from] io::Error),
    /// A value exceeds a limit of the format.
    #[error("the trace format cannot hold it: {0}")]
    TooLarge(&'static str),
    /// A block's items do not make patterns.
    #[error("invalid block definition: {0}")]
    Block(&'static str),
    /// A visit is invalid, or the header rules the visit out.
    #[error("invalid visit to unit {unit:#x}: {reason}")]
    Visit {
        /// The visit's unit.
        unit: u64,
        /// The fault of the visit.
        reason: &'static str,
    },
    /// A reader would refuse the event.
    #[error("invalid event: {0}")]
    Event(&'static str),
    /// The caller passed a switch of address spaces, which chunks express and events do not.
    #[error("a switch of address spaces is expressed by chunks, not by an event")]
    SpaceSwitch,
}
