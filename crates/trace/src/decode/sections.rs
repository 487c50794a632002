//! The sections of a stream chunk, unpacked.

use crate::chunk::MOST_CHUNK_BYTES;
use crate::compress::Unpacker;
use crate::error::{Bad, Section};
use crate::event_bytes;
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

/// One section as it stands in a chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Packed<'a> {
    /// How many bytes it has unpacked.
    raw: usize,
    stored: &'a [u8],
}

impl Packed<'_> {
    fn unpack(&self, unpacker: &mut Unpacker, into: &mut Vec<u8>) -> Result<(), &'static str> {
        if self.raw == self.stored.len() {
            into.clear();
            into.extend_from_slice(self.stored);
            return Ok(());
        }
        unpacker.unpack(self.stored, self.raw, into)
    }
}

/// The body of a stream chunk, taken apart.
fn split(body: &[u8]) -> Result<(StreamStart, [Packed<'_>; 7]), Bad> {
    let totals = |reason| Bad::new(Section::Totals, reason);
    let start = StreamStart::parse(body).map_err(totals)?;
    let mut from = Cursor::new(&body[start.length..]);
    let mut sections = [Packed::default(); 7];
    let mut all = 0u64;
    for section in &mut sections {
        let raw = from.number().map_err(totals)?;
        let stored = from.prefixed().map_err(totals)?;
        all = all.saturating_add(raw);
        if all > MOST_CHUNK_BYTES as u64 {
            return Err(totals(
                "the sections are larger than those of a chunk may be",
            ));
        }
        let raw = raw as usize;
        *section = Packed { raw, stored };
    }
    if from.is_empty() {
        Ok((start, sections))
    } else {
        Err(totals("something follows the last section"))
    }
}

/// Whether a stream chunk tells the end of its process. Where that cannot be found out, the chunk cannot be read either.
pub(crate) fn ends_space(body: &[u8], unpacker: &mut Unpacker, bytes: &mut Vec<u8>) -> bool {
    let Ok((_, [.., events])) = split(body) else {
        return false;
    };
    events.unpack(unpacker, bytes).is_ok() && event_bytes::any_space_end(bytes)
}

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
        let (start, all) = split(body)?;
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
