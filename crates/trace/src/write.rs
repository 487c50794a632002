//! Writing a trace from a recorder's data: blocks and the sections of stream chunks.

use std::io::Write;

use crate::block::{BlockDef, BlockItem, MOST_BLOCK_REFERENCES};
use crate::chunk::{
    self, ChunkKind, END, HEAD_BYTES, KERNEL_EVENTS_VERSION, MAGIC, MOST_CHUNK_BYTES,
    RECORDED_VERSION, SYSTEM_VERSION, Totals, WINDOWS_VERSION,
};
use crate::code::BlockCode;
use crate::compress::{DEFAULT_LEVEL, Packer};
use crate::definitions::MOST_DEFINITION_BYTES;
use crate::error::WriteError;
use crate::header::Header;
use crate::index::{self, ChunkInfo};
use crate::section;
use crate::varint;

/// The number of sections of a stream chunk, excluding events.
pub const SECTIONS: usize = 6;

/// The content of a stream chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamChunk<'a> {
    /// The totals of the executions.
    pub totals: Totals,
    /// The time at the end of the chunk, in nanoseconds since the recording began.
    pub clock: u64,
    /// Heads, runs, patterns, masks, units and places, encoded as the format describes.
    pub sections: [&'a [u8]; SECTIONS],
    /// The events, from an [`EventEncoder`](crate::EventEncoder).
    pub events: &'a [u8],
}

/// A compressed chunk. Compression needs no writer, so another thread can compress.
#[derive(Clone, Debug)]
pub struct PackedChunk {
    kind: ChunkKind,
    process: u32,
    totals: Totals,
    /// Head and body.
    bytes: Vec<u8>,
}

impl PackedChunk {
    pub(crate) const fn new(kind: ChunkKind, process: u32, totals: Totals, bytes: Vec<u8>) -> Self {
        Self {
            kind,
            process,
            totals,
            bytes,
        }
    }
}

impl StreamChunk<'_> {
    /// Compresses the chunk with this Zstandard level.
    ///
    /// # Errors
    /// Returns an error if the sections exceed the limit of a chunk.
    pub fn pack(&self, process: u32, level: i32) -> Result<PackedChunk, WriteError> {
        self.pack_with(process, &mut Packer::new(level)?)
    }

    fn pack_with(&self, process: u32, packer: &mut Packer) -> Result<PackedChunk, WriteError> {
        let sections = self.sections.iter().copied().chain([self.events]);
        if sections.clone().map(<[u8]>::len).sum::<usize>() > MOST_CHUNK_BYTES {
            return Err(WriteError::TooLarge(
                "the sections of a chunk have more than 2^28 bytes together",
            ));
        }
        let mut bytes = chunk::open(ChunkKind::Stream, process);
        self.totals.put(&mut bytes, self.clock);
        for raw in sections {
            section::put(&mut bytes, raw, 0, packer)?;
        }
        Ok(PackedChunk::new(
            ChunkKind::Stream,
            process,
            self.totals,
            bytes,
        ))
    }
}

/// A writer of traces. Each chunk goes to `W` in one write, so that a killed recording leaves whole
/// chunks.
pub struct TraceWriter<W> {
    to: W,
    packer: Packer,
    /// Bytes written.
    offset: u64,
    chunks: Vec<ChunkInfo>,
}

/// The bytes with which [`TraceWriter::new`] begins a trace. A writer may replace them after the
/// trace's end, if the header still has the same length ([`Header::note_in_room`]).
///
/// # Errors
/// Returns an error if the header is longer than 2^24 bytes.
pub fn head_bytes(header: &Header) -> Result<Vec<u8>, WriteError> {
    head_of_version(header, RECORDED_VERSION)
}

fn head_of_version(header: &Header, version: u16) -> Result<Vec<u8>, WriteError> {
    // A reader that does not know windows would take the parts for the whole program.
    let version = match header.windows {
        Some(_) => WINDOWS_VERSION,
        None => version,
    };
    let body = header.to_body();
    if body.len() > chunk::MOST_HEAD_BYTES {
        return Err(WriteError::TooLarge("the header has more than 2^24 bytes"));
    }
    // A reader that skips the events of whole systems would mix up address spaces. One that skips
    // the events of the kernel would make reservations of its own.
    let version = match (header.options.kernel_events, header.options.system) {
        (true, _) => KERNEL_EVENTS_VERSION,
        (false, true) => SYSTEM_VERSION,
        (false, false) => version,
    };
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + 8);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    let check = xxhash_rust::xxh3::xxh3_64(&bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    Ok(bytes)
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace and writes its head.
    ///
    /// # Errors
    /// Returns an error if `to` fails, or if the header is longer than 2^24 bytes.
    pub fn new(to: W, header: &Header) -> Result<Self, WriteError> {
        Self::of_version(to, header, RECORDED_VERSION)
    }

    pub(crate) fn of_version(mut to: W, header: &Header, version: u16) -> Result<Self, WriteError> {
        let bytes = head_of_version(header, version)?;
        to.write_all(&bytes)?;
        Ok(Self {
            to,
            packer: Packer::new(DEFAULT_LEVEL)?,
            offset: bytes.len() as u64,
            chunks: Vec::new(),
        })
    }

    /// Sets the Zstandard level of the following chunks. The default is 1.
    ///
    /// # Errors
    /// Returns an error if there is no such level.
    pub fn set_level(&mut self, level: i32) -> Result<(), WriteError> {
        Ok(self.packer.set_level(level)?)
    }

    /// The number of bytes written.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The totals of the stream chunks written so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for chunk in &self.chunks {
            totals.add(&chunk.totals);
        }
        totals
    }

    /// Defines blocks of a process. `first_pattern` is the number of the first pattern of the first
    /// block: the number of patterns defined for the process so far, or 0 to replace them.
    ///
    /// # Errors
    /// Returns an error if a block's items make no patterns, or if `to` fails.
    pub fn definitions(
        &mut self,
        process: u32,
        first_pattern: u32,
        blocks: &[BlockDef],
    ) -> Result<(), WriteError> {
        let mut first = u64::from(first_pattern);
        let mut raw = Vec::new();
        // The number of blocks in `raw`, and the number of their patterns.
        let (mut count, mut patterns) = (0u64, 0u64);
        for block in blocks {
            check(block)?;
            block.put(&mut raw);
            count += 1;
            patterns += block.patterns() as u64;
            // One block cannot fill the gap between this limit and the limit of a chunk.
            if raw.len() > MOST_DEFINITION_BYTES / 4 {
                self.put_blocks(ChunkKind::Definitions, process, [first, count], &raw)?;
                first += patterns;
                (count, patterns) = (0, 0);
                raw.clear();
            }
        }
        if count > 0 {
            self.put_blocks(ChunkKind::Definitions, process, [first, count], &raw)?;
        }
        Ok(())
    }

    /// Writes a chunk about blocks, given the number of its first pattern and of its blocks.
    fn put_blocks(
        &mut self,
        kind: ChunkKind,
        process: u32,
        [first, count]: [u64; 2],
        blocks: &[u8],
    ) -> Result<(), WriteError> {
        let mut raw = Vec::with_capacity(blocks.len() + 16);
        varint::put(&mut raw, first);
        varint::put(&mut raw, count);
        raw.extend_from_slice(blocks);
        let mut bytes = chunk::open(kind, process);
        bytes.extend_from_slice(&self.packer.pack(&raw)?);
        self.write(PackedChunk {
            kind,
            process,
            totals: Totals::default(),
            bytes,
        })
    }

    /// Writes the code of blocks of a process. The caller has defined their patterns, of which the
    /// first has the number `first_pattern`.
    ///
    /// # Errors
    /// Returns an error if `to` fails.
    pub fn code(
        &mut self,
        process: u32,
        first_pattern: u32,
        blocks: &[BlockCode],
    ) -> Result<(), WriteError> {
        let mut first = u64::from(first_pattern);
        let (mut raw, mut count, mut patterns) = (Vec::new(), 0_u64, 0_u64);
        for (number, block) in blocks.iter().enumerate() {
            block.put(&mut raw);
            count += 1;
            patterns += block.ends.len() as u64;
            if raw.len() > MOST_DEFINITION_BYTES / 4 || number + 1 == blocks.len() {
                self.put_blocks(ChunkKind::Code, process, [first, count], &raw)?;
                first += patterns;
                (count, patterns) = (0, 0);
                raw.clear();
            }
        }
        Ok(())
    }

    /// Compresses and writes a stream chunk. The caller must define the chunk's patterns before.
    ///
    /// # Errors
    /// Returns an error if the sections exceed the limit of a chunk, or if `to` fails.
    pub fn stream_chunk(
        &mut self,
        process: u32,
        chunk: &StreamChunk<'_>,
    ) -> Result<(), WriteError> {
        let packed = chunk.pack_with(process, &mut self.packer)?;
        self.write(packed)
    }

    /// Writes a compressed chunk.
    ///
    /// # Errors
    /// Returns an error if the chunk exceeds the limit of its length, or if `to` fails.
    pub fn write(&mut self, packed: PackedChunk) -> Result<(), WriteError> {
        let mut bytes = packed.bytes;
        chunk::close(&mut bytes).map_err(WriteError::TooLarge)?;
        self.to.write_all(&bytes)?;
        self.chunks.push(ChunkInfo {
            kind: packed.kind,
            process: packed.process,
            offset: self.offset,
            totals: packed.totals,
        });
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Flushes the output without ending the trace.
    ///
    /// # Errors
    /// Returns an error if flushing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.to.flush()?)
    }

    /// Ends the trace: writes the index and returns the output.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let mut bytes = chunk::open(ChunkKind::Index, 0);
        let raw = index::to_raw(&self.chunks);
        if raw.len() > index::MOST_INDEX_BYTES {
            return Err(WriteError::TooLarge("the index has more than 2^26 bytes"));
        }
        bytes.extend_from_slice(&self.packer.pack(&raw)?);
        chunk::close(&mut bytes).map_err(WriteError::TooLarge)?;
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&END);
        self.to.write_all(&bytes)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Refuses a block that a reader would refuse. The error reaches the code that made the block.
fn check(block: &BlockDef) -> Result<(), WriteError> {
    if block.items.last() != Some(&BlockItem::Exit) {
        return Err(WriteError::Block("the last item is not an exit"));
    }
    if block.references() > MOST_BLOCK_REFERENCES {
        return Err(WriteError::Block("the block has more than 1024 references"));
    }
    for item in &block.items {
        if let BlockItem::Several {
            loads,
            stores,
            loads_before_store,
        } = item
        {
            if *loads == 0 && *stores == 0 {
                return Err(WriteError::Block("a reference makes no access"));
            }
            if *stores > 0 && loads_before_store > loads {
                return Err(WriteError::Block(
                    "more loads come before a store than there are",
                ));
            }
        }
    }
    Ok(())
}
