//! The sections of a chunk of phrases, decompressed.

use crate::compress::{Packer, Unpacker};
use crate::error::{Bad, Section};
use crate::index::StreamStart;
use crate::section::{self, SectionBytes};

/// The number of sections.
pub(crate) const PHRASE_SECTIONS: usize = 6;

/// The sections in file order.
const ORDER: [Section; PHRASE_SECTIONS] = [
    Section::Units,
    Section::Counts,
    Section::Words,
    Section::Codes,
    Section::Codes,
    Section::Events,
];

/// The sections of a chunk. The next chunk reuses their memory.
#[derive(Debug, Default)]
pub(super) struct PhraseSections {
    pub(super) units: Vec<u8>,
    pub(super) counts: Vec<u8>,
    pub(super) words: Vec<u8>,
    /// The low bytes of the codes. `high` holds the high bytes.
    pub(super) low: Vec<u8>,
    pub(super) high: Vec<u8>,
    pub(super) events: SectionBytes,
}

impl PhraseSections {
    pub(super) fn clear(&mut self) {
        for section in self.in_order() {
            section.clear();
        }
        self.events.at = 0;
    }

    fn in_order(&mut self) -> [&mut Vec<u8>; PHRASE_SECTIONS] {
        [
            &mut self.units,
            &mut self.counts,
            &mut self.words,
            &mut self.low,
            &mut self.high,
            &mut self.events.bytes,
        ]
    }

    /// Unpacks the body of a chunk.
    pub(super) fn unpack(
        &mut self,
        body: &[u8],
        unpacker: &mut Unpacker,
    ) -> Result<StreamStart, Bad> {
        let (start, all) = section::split::<PHRASE_SECTIONS>(body)?;
        self.events.at = 0;
        for ((bytes, packed), section) in self.in_order().into_iter().zip(all).zip(ORDER) {
            packed
                .unpack(unpacker, bytes)
                .map_err(|reason| Bad::new(section, reason))?;
        }
        Ok(start)
    }

    /// Appends the packed sections to a chunk.
    pub(super) fn pack(&mut self, out: &mut Vec<u8>, packer: &mut Packer) -> std::io::Result<()> {
        self.in_order()
            .into_iter()
            // Decompression takes as long as decoding, so compression must save an eighth.
            .try_for_each(|raw| section::put(out, raw, raw.len() / 8, packer))
    }
}
