//! Making version 2 of a trace, part by part.

use super::Effort;
use super::write::PhrasePacker;
use crate::Item;
use crate::chunk::PHRASES_VERSION;
use crate::error::{TraceError, WriteError};
use crate::event::Event;
use crate::header::Header;
use crate::part::{Closed, Part, PartReader};
use crate::write::{PackedChunk, TraceWriter};

/// Why a part could not be made one of version 2.
#[derive(Debug, thiserror::Error)]
pub enum RecodeError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] TraceError),
    /// What was made of it could not be packed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What became of a part.
#[derive(Debug)]
pub struct Recoded {
    /// Chunks for [`TraceWriter::write`], in order.
    pub chunks: Vec<PackedChunk>,
    /// The effort of reading these chunks.
    pub effort: Effort,
    /// What [`TraceReader::close`](crate::TraceReader::close) wants of the part.
    pub closed: Option<Closed>,
}

/// Makes the parts of a trace, whatever its version, parts of version 2: the same visits and events in the same order. Each is made without those before it, so
/// a thread needs one of these.
pub struct Recoder {
    reader: PartReader,
    packer: PhrasePacker,
}

impl Recoder {
    /// For parts of a trace with this header, packed with this level of Zstandard.
    ///
    /// # Errors
    /// Where there is no such level.
    pub fn new(header: &Header, level: i32) -> Result<Self, WriteError> {
        Ok(Self {
            reader: PartReader::new(header.grain, true),
            packer: PhrasePacker::new(level)?,
        })
    }

    /// What a part is in version 2.
    ///
    /// # Errors
    /// Where the part is damaged, or its chunks are longer than they may be.
    pub fn recode(&mut self, part: Part) -> Result<Recoded, RecodeError> {
        let process = part.info().process;
        // One that was damaged may have left something.
        self.packer.clear();
        self.reader.begin(part);
        while let Some(item) = self.reader.next_item()? {
            match item {
                Item::Visits(visits) => self.packer.visits(process, visits)?,
                // That is what the process of a chunk says.
                Item::Event(Event::SpaceSwitch(_)) => {}
                Item::Event(event) => self.packer.event(event),
            }
        }
        let (chunks, effort) = self.packer.finish(process)?;
        Ok(Recoded {
            chunks,
            effort,
            closed: self.reader.close(),
        })
    }

    /// Begins a trace of version 2: writes its head.
    ///
    /// # Errors
    /// Where `to` fails, or the header is longer than 2^24 bytes.
    pub fn writer<W: std::io::Write>(to: W, header: &Header) -> Result<TraceWriter<W>, WriteError> {
        TraceWriter::of_version(to, header, PHRASES_VERSION)
    }
}
