//! Conversion of a trace into version 2, part by part.

use super::DecodingEffort;
use super::write::PhrasePacker;
use crate::Item;
use crate::chunk::PHRASES_VERSION;
use crate::error::{TraceError, WriteError};
use crate::event::Event;
use crate::header::Header;
use crate::part::{Closed, Part, PartReader};
use crate::write::{PackedChunk, TraceWriter};

/// An error of converting a part into version 2.
#[derive(Debug, thiserror::Error)]
pub enum RecodeError {
    /// The part could not be read.
    #[error(transparent)]
    Read(#[from] TraceError),
    /// The visits and events could not be packed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The result of converting a part.
#[derive(Debug)]
pub struct Recoded {
    /// Chunks for [`TraceWriter::write`], in order.
    pub chunks: Vec<PackedChunk>,
    /// The effort of reading these chunks.
    pub effort: DecodingEffort,
    /// The value for [`TraceReader::close`](crate::TraceReader::close).
    pub closed: Option<Closed>,
}

/// A converter of parts of any version into parts of version 2, with equal visits and events in
/// equal order. Conversion needs no earlier part, so each thread can have a converter.
pub struct Recoder {
    reader: PartReader,
    packer: PhrasePacker,
}

impl Recoder {
    /// A converter of parts of a trace with this header. Chunks have this Zstandard level.
    ///
    /// # Errors
    /// Returns an error if there is no such level.
    pub fn new(header: &Header, level: i32) -> Result<Self, WriteError> {
        Ok(Self {
            reader: PartReader::new(header.grain, true),
            packer: PhrasePacker::new(level)?,
        })
    }

    /// Converts a part.
    ///
    /// # Errors
    /// Returns an error if the part is damaged, or if its chunks exceed a limit.
    pub fn recode(&mut self, part: Part) -> Result<Recoded, RecodeError> {
        let process = part.info().process;
        // A damaged part may have left data.
        self.packer.clear();
        self.reader.begin(part);
        while let Some(item) = self.reader.next_item()? {
            match item {
                Item::Visits(visits) => self.packer.visits(process, visits)?,
                // The chunk's process implies the switch.
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
    /// Returns an error if `to` fails, or if the header is longer than 2^24 bytes.
    pub fn writer<W: std::io::Write>(to: W, header: &Header) -> Result<TraceWriter<W>, WriteError> {
        TraceWriter::of_version(to, header, PHRASES_VERSION)
    }
}
