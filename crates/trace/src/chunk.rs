//! Chunks: the containers of all content after a file's head.

use crate::error::{Bad, Section};
use crate::varint;
use xxhash_rust::xxh3::xxh3_64;

/// The highest format version that this crate reads.
pub const VERSION: u16 = KERNEL_EVENTS_VERSION;
/// The format version that recorders and importers write.
pub(crate) const RECORDED_VERSION: u16 = 1;
/// The format version with chunks of phrases.
pub(crate) const PHRASES_VERSION: u16 = 2;
/// The format version of recordings that hold windows of a program.
pub(crate) const WINDOWS_VERSION: u16 = 3;
/// The format version of recordings of whole systems, with chunks of any kind.
pub(crate) const SYSTEM_VERSION: u16 = 4;
/// The format version of recordings of whole systems with events of an instrumented kernel.
pub(crate) const KERNEL_EVENTS_VERSION: u16 = 5;
/// The first bytes of a trace.
pub const MAGIC: [u8; 10] = *b"BROADLEAF\0";
/// The first bytes of a chunk.
pub(crate) const CHUNK: [u8; 4] = *b"BLCK";
/// The last bytes of a complete trace.
pub(crate) const END: [u8; 8] = *b"BLEND\0\0\0";
/// Magic, version and length.
pub(crate) const HEAD_BYTES: usize = 16;
/// Magic, kind, process and length.
pub(crate) const CHUNK_HEAD_BYTES: usize = 16;
pub(crate) const CHECK_BYTES: usize = 8;
/// The file offset of the index, and [`END`].
pub(crate) const TRAILER_BYTES: usize = 16;
/// The maximum length of the body of a file's head, in bytes.
pub(crate) const MOST_HEAD_BYTES: usize = 1 << 24;
/// The maximum length of a chunk's body in bytes, and of its decompressed sections together.
pub const MOST_CHUNK_BYTES: usize = 1 << 28;

/// The content of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// Blocks and their patterns.
    Definitions,
    /// Executions and events.
    Stream,
    /// Visits and events of version 2, which names repeated visits.
    Phrases,
    /// The bytes of the instructions of blocks.
    Code,
    /// Items of a reduced trace.
    Reduced,
    /// The totals of a reduced trace.
    ReducedEnd,
    /// The offsets and totals of all other chunks.
    Index,
    /// Content of a later version. Readers skip the chunk.
    Other(u8),
}

impl ChunkKind {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Definitions => 1,
            Self::Stream => 2,
            Self::Phrases => 3,
            Self::Code => 4,
            Self::Reduced => 16,
            Self::ReducedEnd => 17,
            Self::Index => 255,
            Self::Other(kind) => kind,
        }
    }

    /// Returns true if a chunk of this kind holds visits and events of a trace.
    pub const fn holds_visits(self) -> bool {
        matches!(self, Self::Stream | Self::Phrases)
    }

    pub(crate) const fn from_number(kind: u8) -> Self {
        match kind {
            1 => Self::Definitions,
            2 => Self::Stream,
            3 => Self::Phrases,
            4 => Self::Code,
            16 => Self::Reduced,
            17 => Self::ReducedEnd,
            255 => Self::Index,
            kind => Self::Other(kind),
        }
    }
}

/// The totals of one or several chunks of visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Totals {
    /// Executions of patterns; in a chunk of phrases, visits.
    pub executions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Instructions.
    pub instructions: u64,
}

impl Totals {
    /// Loads and stores.
    pub const fn accesses(&self) -> u64 {
        self.loads.saturating_add(self.stores)
    }

    /// Appends the totals and the clock, which begin the body of a chunk of visits.
    pub(crate) fn put(&self, out: &mut Vec<u8>, clock: u64) {
        for number in [
            self.executions,
            self.loads,
            self.stores,
            self.instructions,
            clock,
        ] {
            varint::put(out, number);
        }
    }

    /// Subtracts `other`.
    pub(crate) const fn less(&self, other: &Self) -> Self {
        Self {
            executions: self.executions.saturating_sub(other.executions),
            loads: self.loads.saturating_sub(other.loads),
            stores: self.stores.saturating_sub(other.stores),
            instructions: self.instructions.saturating_sub(other.instructions),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.executions = self.executions.saturating_add(other.executions);
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.instructions = self.instructions.saturating_add(other.instructions);
    }
}

/// The decoded head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) kind: ChunkKind,
    pub(crate) process: u32,
    pub(crate) length: usize,
}

impl ChunkHead {
    pub(crate) fn parse(bytes: &[u8; CHUNK_HEAD_BYTES]) -> Result<Self, Bad> {
        let bad = |reason| Err(Bad::new(Section::ChunkHead, reason));
        let [
            m0,
            m1,
            m2,
            m3,
            kind,
            z0,
            z1,
            z2,
            p0,
            p1,
            p2,
            p3,
            l0,
            l1,
            l2,
            l3,
        ] = *bytes;
        if [m0, m1, m2, m3] != CHUNK {
            return bad("the bytes are not a chunk head");
        }
        if [z0, z1, z2] != [0; 3] {
            return bad("reserved bytes are not zero");
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MOST_CHUNK_BYTES {
            return bad("the claimed length exceeds the limit of a chunk");
        }
        Ok(Self {
            kind: ChunkKind::from_number(kind),
            process: u32::from_le_bytes([p0, p1, p2, p3]),
            length,
        })
    }

    /// The length of head, body and check, in bytes.
    pub(crate) const fn whole_length(&self) -> usize {
        CHUNK_HEAD_BYTES + self.length + CHECK_BYTES
    }
}

/// Begins a chunk. The caller appends the body and calls [`close`].
pub(crate) fn open(kind: ChunkKind, process: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 << 12);
    bytes.extend_from_slice(&CHUNK);
    bytes.extend_from_slice(&[kind.number(), 0, 0, 0]);
    bytes.extend_from_slice(&process.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// Ends a chunk: writes the length into the head and appends the check.
pub(crate) fn close(bytes: &mut Vec<u8>) -> Result<(), &'static str> {
    let length = bytes.len() - CHUNK_HEAD_BYTES;
    if length > MOST_CHUNK_BYTES {
        return Err("a chunk would be longer than 2^28 bytes");
    }
    bytes[12..16].copy_from_slice(&(length as u32).to_le_bytes());
    let check = xxh3_64(bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    Ok(())
}

/// Returns true if the last 8 bytes are the check of the bytes before them.
pub(crate) fn check_agrees(whole: &[u8]) -> bool {
    match whole.split_last_chunk::<CHECK_BYTES>() {
        Some((bytes, check)) => xxh3_64(bytes) == u64::from_le_bytes(*check),
        None => false,
    }
}
