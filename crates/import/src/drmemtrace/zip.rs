//! The chunks of a zip archive, one after the other.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, RangeReader, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipVerification,
};

use crate::compression::Bytes;
use crate::error::ImportError;
use crate::source::ImportMeter;

/// The maximum number of chunks of an archive. DynamoRIO writes a chunk for each 10 million
/// instructions.
const MOST_CHUNKS: usize = 1 << 18;
/// The bytes of the fixed part of an entry of the directory.
const ENTRY_HEAD: usize = 46;

/// Reads the chunks of an archive in the order of its directory.
struct ZipChunks {
    archive: ZipArchive<FileReader>,
    /// The same file, which readers of chunks share.
    file: Arc<FileReader>,
    meter: ImportMeter,
    /// Chunks that were not read, the last first.
    chunks: Vec<(ZipArchiveEntryWayfinder, CompressionMethod)>,
    open: Option<OpenChunk>,
}

struct OpenChunk {
    bytes: Bytes,
    crc: Crc,
    size: u64,
    expected: ZipVerification,
}

/// The decompressed bytes of all chunks.
///
/// # Errors
/// The archive's directory is damaged.
pub(super) fn chunks(file: File, name: &str, meter: &ImportMeter) -> Result<Bytes, ImportError> {
    let cannot = |error| ImportError::io(name, error);
    let same = file.try_clone().map_err(cannot)?;
    let end = file.metadata().map_err(cannot)?.len();
    let damaged = |place: &str, at: u64, error: rawzip::Error| {
        let reason = format!(
            "the zip archive is damaged or cut short: its {place} (at byte {at}): {error}: copy or \
             record it again"
        );
        ImportError::input(name, reason)
    };
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer);
    let archive = archive.map_err(|error| {
        // The directory is found from the archive's end.
        let at = error.eocd_offset().unwrap_or(end);
        damaged("end", at, error)
    })?;
    let mut chunks = Vec::new();
    let mut entry_at = archive.directory_offset();
    let mut entries = archive.entries(&mut buffer);
    loop {
        let entry = entries.next_entry();
        let entry = entry.map_err(|error| damaged("directory's entry", entry_at, error))?;
        let Some(entry) = entry else { break };
        entry_at = entry.central_directory_offset() + entry_bytes(&entry);
        if entry.is_dir() {
            continue;
        }
        if chunks.len() == MOST_CHUNKS {
            let reason = format!("the zip archive has more than {MOST_CHUNKS} chunks");
            return Err(ImportError::input(name, reason));
        }
        chunks.push((entry.wayfinder(), entry.compression_method()));
    }
    chunks.reverse();
    Ok(Box::new(ZipChunks {
        archive,
        file: Arc::new(FileReader::from(same)),
        meter: meter.clone(),
        chunks,
        open: None,
    }))
}

/// The bytes of an entry of the directory: a part of fixed size, then three of any length.
fn entry_bytes(entry: &ZipFileHeaderRecord<'_>) -> u64 {
    let extra = entry.extra_fields().remaining_bytes().len();
    let comment = entry.comment().as_bytes().len();
    (ENTRY_HEAD + entry.file_path().len() + extra + comment) as u64
}

impl ZipChunks {
    fn begin(
        &self,
        chunk: ZipArchiveEntryWayfinder,
        method: CompressionMethod,
    ) -> io::Result<OpenChunk> {
        let entry = self.archive.get_entry(chunk).map_err(io::Error::other)?;
        let (start, end) = entry.compressed_data_range();
        let stored = RangeReader::new(Arc::clone(&self.file), start..end);
        let stored = self.meter.counted(stored);
        let bytes: Bytes = match method {
            CompressionMethod::STORE => stored,
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(stored)),
            other => {
                return Err(io::Error::other(format!(
                    "a chunk is compressed by method {other:?}, which is not supported"
                )));
            }
        };
        Ok(OpenChunk {
            bytes,
            crc: Crc::new(),
            size: 0,
            expected: entry.reader().claim_verifier(),
        })
    }
}

impl Read for ZipChunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(open) = &mut self.open else {
                let Some((chunk, method)) = self.chunks.pop() else {
                    return Ok(0);
                };
                self.open = Some(self.begin(chunk, method)?);
                continue;
            };
            let count = open.bytes.read(into)?;
            if count > 0 {
                open.crc.update(&into[..count]);
                open.size += count as u64;
                return Ok(count);
            }
            let found = ZipVerification {
                crc: open.crc.sum(),
                uncompressed_size: open.size,
            };
            open.expected.valid(found).map_err(io::Error::other)?;
            self.open = None;
        }
    }
}
