//! The sections of a stream chunk, unpacked.

use crate::chunk::MOST_CHUNK_BYTES;
use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::index::StreamStart;
use crate::varint::{self, Cursor};

/// The sections in file order.
const ORDER: [Section; 7] = [
    Section::Heads,
    Section::Runs,
    Section::Patterns,
    Section::Masks,
    Section::Units,
    Section::Places,
    Section::Events,
];

/// One section, and how far it was read.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
}

impl Stream {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, &'static str> {
        varint::take(&self.bytes, &mut self.at)
    }

    pub(super) fn take(&mut self, count: u64) -> Option<&[u8]> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

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
    fn in_order(&mut self) -> [&mut Stream; 7] {
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
        let totals = |reason| Bad::new(Section::Totals, reason);
        let start = StreamStart::parse(body).map_err(totals)?;
        let mut from = Cursor::new(&body[start.length..]);
        let mut all = 0u64;
        for (stream, section) in self.in_order().into_iter().zip(ORDER) {
            let raw = from.number().map_err(totals)?;
            let stored = from.prefixed().map_err(totals)?;
            all = all.saturating_add(raw);
            if all > MOST_CHUNK_BYTES as u64 {
                return Err(totals(
                    "the sections are larger than those of a chunk may be",
                ));
            }
            let raw = raw as usize;
            stream.at = 0;
            if raw == stored.len() {
                stream.bytes.clear();
                stream.bytes.extend_from_slice(stored);
            } else {
                unpacker
                    .unpack(stored, raw, &mut stream.bytes)
                    .map_err(|reason| Bad::new(section, reason))?;
            }
        }
        if from.is_empty() {
            Ok(start)
        } else {
            Err(totals("something follows the last section"))
        }
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
