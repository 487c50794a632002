//! The sections of a stream chunk, unpacked.

use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::index::StreamStart;
use crate::section::{Stream, split};

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

/// The sections of the chunk that is being read. Their memory is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) heads: Stream,
    pub(super) runs: Stream,
    pub(super) patterns: Stream,
    pub(super) masks: Stream,
    pub(super) units: Stream,
    pub(super) places: Stream,
    pub(super) events: Stream,
}

impl Sections {
    fn in_order(&mut self) -> [&mut Stream; STREAM_SECTIONS] {
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

    /// Whether all was used that there is.
    pub(super) fn all_used(&mut self) -> Result<(), Bad> {
        for (stream, section) in self.in_order().into_iter().zip(ORDER) {
            if !stream.is_empty() {
                return Err(Bad::new(section, "more is there than the heads ask for"));
            }
        }
        Ok(())
    }
}
