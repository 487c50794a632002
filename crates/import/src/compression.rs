//! Compressed files: which compression the first bytes show, and a reader or writer for it.

use std::io::{self, BufRead, BufReader, Cursor, Read, Write};

use liblzma::stream::{CONCATENATED, Stream};
use lz4_flex::frame::FrameDecoder;

/// The memory that reading an xz file may take, in bytes. A file of `xz -9` takes 65 MiB.
const MOST_XZ_MEMORY: u64 = 256 << 20;
/// The level of xz files that are written.
const XZ_PRESET: u32 = 3;
/// The largest window of a zstd file that is accepted, as a power of two: 128 MiB.
const MOST_ZSTD_WINDOW: u32 = 27;
/// The number of first bytes that show the compression.
const START: u64 = 10;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// gzip (.gz).
    Gzip,
    /// xz (.xz).
    Xz,
    /// Zstandard (.zst).
    Zstd,
    /// LZ4 frames (.lz4).
    Lz4,
    /// Snappy frames (.sz). Read, not written.
    Snappy,
    /// A zip archive. Not a stream: an importer that knows archives reads it.
    Zip,
}

/// A reader of decompressed bytes.
pub(crate) type Bytes = Box<dyn Read + Send>;

impl Compression {
    /// The compression of a file that begins so.
    pub fn of_start(start: &[u8]) -> Self {
        match start {
            // The third byte is the only method that gzip has.
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            [0xff, 6, 0, 0, b's', b'N', b'a', b'P', b'p', b'Y', ..] => Self::Snappy,
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            _ => Self::Plain,
        }
    }

    /// The compression that a file's name asks for.
    pub fn of_name(path: &std::path::Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Self::Gzip,
            Some("xz") => Self::Xz,
            Some("zst") => Self::Zstd,
            Some("lz4") => Self::Lz4,
            _ => Self::Plain,
        }
    }

    /// Decompresses `from`. Errors of the compressed data have no number of the system
    /// ([`io::Error::raw_os_error`]).
    pub(crate) fn reader(self, from: Bytes) -> io::Result<Bytes> {
        Ok(match self {
            Self::Plain | Self::Zip => from,
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(from)),
            Self::Xz => {
                let decoder = Stream::new_stream_decoder(MOST_XZ_MEMORY, CONCATENATED)?;
                Box::new(liblzma::read::XzDecoder::new_stream(from, decoder))
            }
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(from)?;
                decoder.window_log_max(MOST_ZSTD_WINDOW)?;
                Box::new(decoder)
            }
            Self::Lz4 => Box::new(Lz4Frames::new(from)),
            Self::Snappy => Box::new(snap::read::FrameDecoder::new(from)),
        })
    }
}

/// LZ4 frames, one after the other. The library ends at the first frame's end, and takes a cut
/// between two blocks for the end of the frame.
struct Lz4Frames {
    decoder: FrameDecoder<EndWatch>,
    ended: bool,
}

/// A reader that remembers whether a read went past its end.
struct EndWatch {
    from: BufReader<Bytes>,
    was_passed: bool,
}

impl Read for EndWatch {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.was_passed |= count == 0 && !into.is_empty();
        Ok(count)
    }
}

impl Lz4Frames {
    fn new(from: Bytes) -> Self {
        Self {
            decoder: FrameDecoder::new(EndWatch {
                from: BufReader::new(from),
                was_passed: false,
            }),
            ended: false,
        }
    }
}

impl Read for Lz4Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || self.ended {
            return Ok(0);
        }
        loop {
            let count = self.decoder.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            let rest = self.decoder.get_mut();
            // A whole frame ends with a mark, and the decoder reads nothing after it.
            if rest.was_passed {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if rest.from.fill_buf()?.is_empty() {
                self.ended = true;
                return Ok(0);
            }
        }
    }
}

/// The compression of a stream, and the stream from its first byte.
pub(crate) fn peek(mut from: Bytes) -> io::Result<(Compression, Bytes)> {
    let mut start = Vec::new();
    from.by_ref().take(START).read_to_end(&mut start)?;
    let compression = Compression::of_start(&start);
    Ok((compression, Box::new(Cursor::new(start).chain(from))))
}

/// Compresses what is written.
pub enum Compressor<W: Write> {
    /// Does not compress.
    Plain(W),
    /// gzip.
    Gzip(flate2::write::GzEncoder<W>),
    /// xz.
    Xz(liblzma::write::XzEncoder<W>),
    /// Zstandard.
    Zstd(zstd::Encoder<'static, W>),
    /// LZ4.
    Lz4(Box<lz4_flex::frame::FrameEncoder<W>>),
}

impl<W: Write> Compressor<W> {
    /// A compressor at the tools' default level, but for xz. Snappy and zip are not written, but
    /// passed on.
    ///
    /// # Errors
    /// `to` fails.
    pub fn new(to: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::Plain | Compression::Snappy | Compression::Zip => Self::Plain(to),
            Compression::Gzip => Self::Gzip(flate2::write::GzEncoder::new(
                to,
                flate2::Compression::default(),
            )),
            Compression::Xz => Self::Xz(liblzma::write::XzEncoder::new(to, XZ_PRESET)),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(to, 0)?),
            Compression::Lz4 => Self::Lz4(Box::new(lz4_flex::frame::FrameEncoder::new(to))),
        })
    }

    /// Writes the end of the compressed data.
    ///
    /// # Errors
    /// `to` fails.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(to) => Ok(to),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Lz4(encoder) => encoder.finish().map_err(io::Error::from),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Xz(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Lz4(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Xz(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
            Self::Lz4(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 5] = [
        Compression::Plain,
        Compression::Gzip,
        Compression::Xz,
        Compression::Zstd,
        Compression::Lz4,
    ];

    fn compressed(bytes: &[u8], compression: Compression) -> Vec<u8> {
        let mut out = Compressor::new(Vec::new(), compression).unwrap();
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn decompressed(bytes: Vec<u8>) -> io::Result<(Compression, Vec<u8>)> {
        let (compression, from) = peek(Box::new(Cursor::new(bytes)))?;
        let mut out = Vec::new();
        let mut reader = compression.reader(from)?;
        reader.read_to_end(&mut out)?;
        // Every read at the end returns nothing.
        assert_eq!(reader.read(&mut [0])?, 0);
        Ok((compression, out))
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for length in [0, 1, 9, 11, 100_000] {
            let bytes: Vec<u8> = (0..length)
                .map(|i: u32| (i.wrapping_mul(i) / 7) as u8)
                .collect();
            for compression in ALL {
                let back = decompressed(compressed(&bytes, compression)).unwrap();
                assert_eq!(back, (compression, bytes.clone()));
            }
        }
    }

    #[test]
    fn two_compressed_files_behind_each_other_are_one() {
        for compression in ALL {
            let mut twice = compressed(b"first ", compression);
            twice.extend(compressed(b"second", compression));
            let (_, back) = decompressed(twice).unwrap();
            assert_eq!(back, b"first second", "{compression:?}");
        }
    }

    #[test]
    fn a_cut_is_an_error_without_a_number() {
        let bytes: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        for compression in &ALL[1..] {
            let whole = compressed(&bytes, *compression);
            for cut in [whole.len() / 2, whole.len() - 1] {
                let Err(error) = decompressed(whole[..cut].to_vec()) else {
                    panic!("{compression:?}: the cut at byte {cut} is not noticed");
                };
                assert_eq!(error.raw_os_error(), None, "{compression:?}: {error}");
            }
        }
    }
}
