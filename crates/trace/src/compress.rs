//! Zstandard compression with bounds on the decompressed size.

use std::io::Read;

use zstd::bulk::{Compressor, Decompressor};

const DAMAGED: &str = "cannot decompress";
const LARGE: &str = "the decompressed data exceeds the limit";

/// The default compression level.
pub const DEFAULT_LEVEL: i32 = 1;

/// A compressor that reuses one context.
pub(crate) struct Packer {
    level: i32,
    compressor: Compressor<'static>,
}

impl Packer {
    /// A packer with this Zstandard level.
    pub(crate) fn new(level: i32) -> std::io::Result<Self> {
        Ok(Self {
            level,
            compressor: Compressor::new(level)?,
        })
    }

    pub(crate) fn set_level(&mut self, level: i32) -> std::io::Result<()> {
        if level != self.level {
            self.compressor.set_compression_level(level)?;
            self.level = level;
        }
        Ok(())
    }

    /// Compresses `raw` into one frame.
    pub(crate) fn pack(&mut self, raw: &[u8]) -> std::io::Result<Vec<u8>> {
        self.compressor.compress(raw)
    }
}

/// A decompressor that reuses one context.
pub(crate) struct Unpacker(Option<Decompressor<'static>>);

impl Unpacker {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Unpacks a frame that holds exactly `length` bytes into `into`.
    pub(crate) fn unpack(
        &mut self,
        packed: &[u8],
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        into.clear();
        // A Zstandard block takes at least 3 bytes and holds at most 128 KiB, so a short frame
        // cannot claim a large length.
        if length / (1 << 17) > packed.len() / 3 {
            return Err("the claimed length exceeds what the frame can hold");
        }
        into.reserve(length);
        let decompressor = match &mut self.0 {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(|_| "no memory to decompress")?),
        };
        let count = decompressor
            .decompress_to_buffer(packed, into)
            .map_err(|_| DAMAGED)?;
        if count == length {
            Ok(())
        } else {
            Err("the decompressed length differs from the claimed length")
        }
    }
}

/// Decompresses a frame of unknown size to at most `most` bytes.
pub(crate) fn unpack_unsized(packed: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    let mut raw = Vec::new();
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(|_| DAMAGED)?;
    decoder.window_log_max(27).map_err(|_| DAMAGED)?;
    decoder
        .by_ref()
        .take(most as u64 + 1)
        .read_to_end(&mut raw)
        .map_err(|_| DAMAGED)?;
    if raw.len() > most {
        return Err(LARGE);
    }
    Ok(raw)
}
