//! Zstandard, with bounds on what comes out.

use std::io::Read;

use zstd::bulk::{Compressor, Decompressor};

const DAMAGED: &str = "it cannot be unpacked";
const LARGE: &str = "it is larger unpacked than may be";

/// The level of compression where none is asked for.
pub const DEFAULT_LEVEL: i32 = 1;

/// Packs many pieces with one context.
pub(crate) struct Packer {
    level: i32,
    compressor: Compressor<'static>,
}

impl Packer {
    /// A packer of this level of Zstandard.
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

    /// A frame of these bytes.
    pub(crate) fn pack(&mut self, raw: &[u8]) -> std::io::Result<Vec<u8>> {
        self.compressor.compress(raw)
    }
}

/// Unpacks many pieces with one context.
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
        // A frame of Zstandard holds at most 128 KiB for each block, and a block takes 3 bytes at least: memory is asked for
        // only where the bytes are there that could fill it.
        if length / (1 << 17) > packed.len() / 3 {
            return Err("it says that it is larger than it can be");
        }
        into.reserve(length);
        let decompressor = match &mut self.0 {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(|_| "no memory to unpack it")?),
        };
        let count = decompressor
            .decompress_to_buffer(packed, into)
            .map_err(|_| DAMAGED)?;
        if count == length {
            Ok(())
        } else {
            Err("it does not hold as many bytes as it says")
        }
    }
}

/// Unpacks a frame of unknown size, at most `most` bytes.
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
