//! The sections of a stream chunk, unpacked.

use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::index::StreamStart;
use crate::section::{SectionBytes, split};

/// The number of sections.
pub(crate) const STREAM_SECTIONS: usize = 7;

/// The sections in file order.
const ORDER: [Section; STREAM_SECTIONS] = [
    Section::Heads,
    Section::Runs,
    Section::Patterns,
    Section::Masks,
    Section::Units,
    Section::Places,
    Section::Events,
];

/// The sections of the current chunk. The next chunk reuses their memory.
#[derive(Debug, Default)]
pub(super) struct StreamSections {
    pub(super) heads: SectionBytes,
    pub(super) runs: SectionBytes,
    pub(super) patterns: SectionBytes,
    pub(super) masks: SectionBytes,
    pub(super) units: SectionBytes,
    pub(super) places: SectionBytes,
    pub(super) events: SectionBytes,
}

impl StreamSections {
    fn in_order(&mut self) -> [&mut SectionBytes; STREAM_SECTIONS] {
        [
            &mut self.heads,
            &mut self.runs,
            &mut self.patterns,
            &mut self.masks,
            &mut self.units,
            &mut self.places,
            &mut self.events,
        ]
    }

    /// Unpacks the body of a stream chunk.
    pub(super) fn unpack(
        &mut self,
        body: &[u8],
        unpacker: &mut Unpacker,
    ) -> Result<StreamStart, Bad> {
        let (start, all) = split::<STREAM_SECTIONS>(body)?;
        for ((stream, packed), section) in self.in_order().into_iter().zip(all).zip(ORDER) {
            stream.at = 0;
            packed
                .unpack(unpacker, &mut stream.bytes)
                .map_err(|reason| Bad::new(section, reason))?;
        }
        Ok(start)
    }

    /// Returns an error if a section has unused bytes.
    pub(super) fn all_used(&mut self) -> Result<(), Bad> {
        for (stream, section) in self.in_order().into_iter().zip(ORDER) {
            if !stream.is_empty() {
                return Err(Bad::new(section, "there are bytes that no head uses"));
            }
        }
        Ok(())
    }
}
