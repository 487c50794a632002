//! Sections: the parts of a chunk of visits after the chunk's totals.

use crate::chunk::MOST_CHUNK_BYTES;
use crate::compress::{Packer, Unpacker};
use crate::error::{Bad, Section};
use crate::index::StreamStart;
use crate::varint::{self, Cursor};

/// Appends a section. Compresses the section if compression saves more than `gain` bytes.
pub(crate) fn put(
    out: &mut Vec<u8>,
    raw: &[u8],
    gain: usize,
    packer: &mut Packer,
) -> std::io::Result<()> {
    varint::put(out, raw.len() as u64);
    // A frame of incompressible data is at least 10 bytes longer than the data.
    let packed = if raw.len() > 16 {
        Some(packer.pack(raw)?)
    } else {
        None
    };
    let stored = packed
        .as_deref()
        .filter(|packed| packed.len() + gain < raw.len());
    let stored = stored.unwrap_or(raw);
    varint::put(out, stored.len() as u64);
    out.extend_from_slice(stored);
    Ok(())
}

/// One section as stored in a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PackedSection<'a> {
    /// The decompressed length in bytes.
    raw: usize,
    stored: &'a [u8],
}

impl PackedSection<'_> {
    pub(crate) fn unpack(
        &self,
        unpacker: &mut Unpacker,
        into: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        if self.raw == self.stored.len() {
            into.clear();
            into.extend_from_slice(self.stored);
            return Ok(());
        }
        unpacker.unpack(self.stored, self.raw, into)
    }
}

/// Splits a body into its totals and its sections.
pub(crate) fn split<const SECTIONS: usize>(
    body: &[u8],
) -> Result<(StreamStart, [PackedSection<'_>; SECTIONS]), Bad> {
    let totals = |reason| Bad::new(Section::Totals, reason);
    let start = StreamStart::parse(body).map_err(totals)?;
    let mut from = Cursor::new(&body[start.length..]);
    let mut sections = [PackedSection::default(); SECTIONS];
    let mut all = 0u64;
    for section in &mut sections {
        let raw = from.number().map_err(totals)?;
        let stored = from.prefixed().map_err(totals)?;
        all = all.saturating_add(raw);
        if all > MOST_CHUNK_BYTES as u64 {
            return Err(totals("the sections exceed the size limit of a chunk"));
        }
        let raw = raw as usize;
        *section = PackedSection { raw, stored };
    }
    if from.is_empty() {
        Ok((start, sections))
    } else {
        Err(totals("there are bytes after the last section"))
    }
}

/// The bytes of one section and the position of the reader in them.
#[derive(Debug, Default)]
pub(crate) struct SectionBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
}

impl SectionBytes {
    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, &'static str> {
        varint::take(&self.bytes, &mut self.at)
    }

    pub(crate) fn take(&mut self, count: u64) -> Option<&[u8]> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
}
