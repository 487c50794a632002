//! What is wrong with a trace, or with what was to become one.

use std::fmt;
use std::io;

/// Which part of a trace is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// The file's head.
    Head,
    /// The first 16 bytes of a chunk.
    ChunkHead,
    /// A definitions chunk.
    Definitions,
    /// The totals and section lengths at the start of a stream chunk.
    Totals,
    /// The heads of a stream chunk.
    Heads,
    /// Its long runs.
    Runs,
    /// Its named patterns.
    Patterns,
    /// Its masks.
    Masks,
    /// Its units.
    Units,
    /// Its places.
    Places,
    /// What visits come to, in a chunk of version 2.
    Counts,
    /// Its words.
    Words,
    /// Its codes.
    Codes,
    /// Its events.
    Events,
    /// The columns of a reduced trace.
    Columns,
    /// The index.
    Index,
    /// What follows the index.
    End,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::ChunkHead => "chunk head",
            Self::Definitions => "definitions",
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

/// What is wrong with the content of one chunk, wherever in a file it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section}: {reason}")]
pub struct Bad {
    /// In which part of the chunk.
    pub section: Section,
    /// What is wrong there.
    pub reason: &'static str,
}

impl Bad {
    pub(crate) const fn new(section: Section, reason: &'static str) -> Self {
        Self { section, reason }
    }

    /// The error of a chunk that stands at this byte of the file.
    pub(crate) const fn at(self, offset: u64) -> TraceError {
        TraceError::BadContent {
            offset,
            section: self.section,
            reason: self.reason,
        }
    }
}

/// Why a trace could not be read (on).
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// What the trace is read from failed.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// There are no bytes at all.
    #[error("is empty, not a trace")]
    Empty,
    /// It begins as a trace does and ends before one could begin.
    #[error("is not a trace: it ends after {size} bytes, inside its head")]
    TooShort {
        /// How many bytes there are.
        size: u64,
    },
    /// It begins as no trace does.
    #[error("is not a trace: it does not begin with \"BROADLEAF\"")]
    NotATrace,
    /// It was written by a later Broadleaf.
    #[error(
        "is a trace of format version {version}, and this Broadleaf reads versions up to {}: upgrade Broadleaf to read it",
        crate::VERSION
    )]
    Version {
        /// The version that it says it has.
        version: u16,
    },
    /// The file ends inside a chunk.
    #[error(
        "is truncated: it ends at byte {size}, inside the chunk at byte {offset}; the part before byte {offset} is whole"
    )]
    Truncated {
        /// Where whole chunks end.
        offset: u64,
        /// Where the file ends.
        size: u64,
    },
    /// The bytes of a chunk, or of the head at byte 0, are not those that were written.
    #[error("is damaged: the check of what begins at byte {offset} does not agree")]
    BadCheck {
        /// Where the chunk begins.
        offset: u64,
    },
    /// A chunk says what it cannot mean.
    #[error("is damaged: the chunk at byte {offset} is wrong in its {section}: {reason}")]
    BadContent {
        /// Where the chunk begins.
        offset: u64,
        /// In which part of it.
        section: Section,
        /// What is wrong there.
        reason: &'static str,
    },
}

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What it is written to failed.
    #[error("cannot write the trace: {0}")]
    Io(#[from] io::Error),
    /// Something is larger than the format can hold.
    #[error("the trace format cannot hold it: {0}")]
    TooLarge(&'static str),
    /// Blocks whose items do not make patterns.
    #[error("a block cannot be defined so: {0}")]
    Block(&'static str),
    /// A visit that says what it cannot mean, or that the header rules out.
    #[error("a visit to unit {unit:#x} cannot be: {reason}")]
    Visit {
        /// The visit's unit.
        unit: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An event that a reader would refuse.
    #[error("an event cannot be: {0}")]
    Event(&'static str),
    /// A switch of address spaces is no event of the format: chunks tell of it.
    #[error("a switch of address spaces is told by chunks, not by an event")]
    SpaceSwitch,
}
