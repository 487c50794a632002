//! The index: offsets and totals of all chunks, available without reading the chunks.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::chunk::{
    CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, END, TRAILER_BYTES, Totals, check_agrees,
};
use crate::compress;
use crate::error::{Bad, Section, TraceError};
use crate::head::{self, Head};
use crate::header::Header;
use crate::varint::{self, Cursor};

/// The maximum decompressed length of an index chunk's body, in bytes.
pub(crate) const MOST_INDEX_BYTES: usize = 1 << 26;

/// The index entry of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkInfo {
    /// The kind of content.
    pub kind: ChunkKind,
    /// The process of the content.
    pub process: u32,
    /// The file offset of the chunk's first byte.
    pub offset: u64,
    /// The totals of a stream chunk; zeros for other kinds.
    pub totals: Totals,
}

/// Encodes the body of an index chunk, before compression.
pub(crate) fn to_raw(chunks: &[ChunkInfo]) -> Vec<u8> {
    let mut raw = Vec::new();
    varint::put(&mut raw, chunks.len() as u64);
    for chunk in chunks {
        raw.push(chunk.kind.number());
        for number in [
            u64::from(chunk.process),
            chunk.offset,
            chunk.totals.executions,
            chunk.totals.loads,
            chunk.totals.stores,
            chunk.totals.instructions,
        ] {
            varint::put(&mut raw, number);
        }
    }
    raw
}

/// Decodes the body of an index chunk.
pub(crate) fn from_body(body: &[u8]) -> Result<Vec<ChunkInfo>, Bad> {
    let raw = compress::unpack_unsized(body, MOST_INDEX_BYTES);
    raw.and_then(|raw| from_raw(&raw))
        .map_err(|reason| Bad::new(Section::Index, reason))
}

fn from_raw(raw: &[u8]) -> Result<Vec<ChunkInfo>, &'static str> {
    let mut from = Cursor::new(raw);
    let count = from.number()?;
    let mut chunks = Vec::new();
    for _ in 0..count {
        chunks.push(ChunkInfo {
            kind: ChunkKind::from_number(from.byte()?),
            process: from.number32()?,
            offset: from.number()?,
            totals: Totals {
                executions: from.number()?,
                loads: from.number()?,
                stores: from.number()?,
                instructions: from.number()?,
            },
        });
    }
    if from.is_empty() {
        Ok(chunks)
    } else {
        Err("there are bytes after the last chunk")
    }
}

/// The metadata of a trace and of its chunks, read without reading the chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceIndex {
    /// The file's head.
    pub header: Header,
    /// Every whole chunk but the index, in file order.
    pub chunks: Vec<ChunkInfo>,
    /// True if the trace was written to its end. Without an index, the reader finds the chunks one
    /// by one.
    pub complete: bool,
    /// The size of the file in bytes.
    pub size: u64,
    /// The number of bytes after the last whole chunk: the unfinished chunk of a killed recording.
    pub cut: u64,
    /// The file offset after the last of `chunks`, where the index of a complete trace begins.
    pub end: u64,
}

impl TraceIndex {
    /// The file offsets of a chunk: from its first byte to the byte after its last. A number that
    /// is too large gives the empty range at the end of the chunks.
    pub fn chunk_range(&self, number: usize) -> Range<u64> {
        let starts_at = |number: usize| self.chunks.get(number).map_or(self.end, |it| it.offset);
        starts_at(number)..starts_at(number.saturating_add(1))
    }

    /// Reads a trace's head and index, without verifying the checks of the chunks.
    ///
    /// # Errors
    /// Returns an error if the file is not a trace, its head or index is damaged, or reading fails.
    pub fn read<R: Read + Seek>(mut from: R) -> Result<Self, TraceError> {
        let size = from.seek(SeekFrom::End(0))?;
        from.rewind()?;
        let Head {
            header,
            length: start,
            ..
        } = head::read(&mut from)?;
        if let Some(offset) = index_offset(&mut from, start, size)? {
            let chunks = read_index(&mut from, offset, size)?;
            return Ok(Self {
                header,
                chunks,
                complete: true,
                size,
                cut: 0,
                end: offset,
            });
        }
        let (chunks, end) = scan(&mut from, start, size)?;
        Ok(Self {
            header,
            chunks,
            complete: false,
            size,
            cut: size - end,
            end,
        })
    }

    /// Returns true if the index begins at `offset`, even if it is damaged or cut off. No reference
    /// follows the index.
    ///
    /// # Errors
    /// Returns an error if reading fails.
    pub fn begins_at<R: Read + Seek>(mut from: R, offset: u64) -> io::Result<bool> {
        let size = from.seek(SeekFrom::End(0))?;
        if let Some(at) = size.checked_sub(TRAILER_BYTES as u64) {
            let mut trailer = [0; TRAILER_BYTES];
            from.seek(SeekFrom::Start(at))?;
            from.read_exact(&mut trailer)?;
            if trailer[8..] == END {
                return Ok(trailer[..8] == offset.to_le_bytes());
            }
        }
        let mut head = Vec::new();
        from.seek(SeekFrom::Start(offset))?;
        from.take(CHUNK_HEAD_BYTES as u64).read_to_end(&mut head)?;
        let head = head
            .first_chunk()
            .and_then(|head| ChunkHead::parse(head).ok());
        // Without a trailer, only a chunk that the file's end cuts off counts as the index.
        Ok(head.is_some_and(|head| {
            head.kind == ChunkKind::Index && offset + head.whole_length() as u64 > size
        }))
    }

    /// The totals of all stream chunks.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for chunk in &self.chunks {
            totals.add(&chunk.totals);
        }
        totals
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        let mut processes: Vec<u32> = self
            .chunks
            .iter()
            .filter(|chunk| chunk.kind.holds_visits())
            .map(|chunk| chunk.process)
            .collect();
        processes.sort_unstable();
        processes.dedup();
        processes.len()
    }
}

/// The file offset of the index, from the last bytes of a complete trace.
fn index_offset(
    from: &mut (impl Read + Seek),
    start: u64,
    size: u64,
) -> Result<Option<u64>, TraceError> {
    let least = start + (CHUNK_HEAD_BYTES + 8 + TRAILER_BYTES) as u64;
    if size < least {
        return Ok(None);
    }
    let mut trailer = [0; TRAILER_BYTES];
    from.seek(SeekFrom::Start(size - TRAILER_BYTES as u64))?;
    from.read_exact(&mut trailer)?;
    let [offset @ .., _, _, _, _, _, _, _, _] = trailer;
    if trailer[8..] != END {
        return Ok(None);
    }
    let offset = u64::from_le_bytes(offset);
    if offset < start || offset > size - (least - start) {
        return Err(Bad::new(Section::End, "the index begins outside the file")
            .at(size - TRAILER_BYTES as u64));
    }
    Ok(Some(offset))
}

fn read_index(
    from: &mut (impl Read + Seek),
    offset: u64,
    size: u64,
) -> Result<Vec<ChunkInfo>, TraceError> {
    from.seek(SeekFrom::Start(offset))?;
    let length = size - TRAILER_BYTES as u64 - offset;
    let mut whole = Vec::new();
    from.take(length.min(2 * crate::chunk::MOST_CHUNK_BYTES as u64))
        .read_to_end(&mut whole)?;
    let head = whole
        .first_chunk()
        .ok_or(Bad::new(Section::ChunkHead, "the file ends inside the chunk head").at(offset))?;
    let head = ChunkHead::parse(head).map_err(|bad| bad.at(offset))?;
    if head.kind != ChunkKind::Index || whole.len() != head.whole_length() {
        let bad = Bad::new(Section::Index, "the last bytes do not point to an index");
        return Err(bad.at(offset));
    }
    if !check_agrees(&whole) {
        return Err(TraceError::BadCheck { offset });
    }
    let body = &whole[CHUNK_HEAD_BYTES..CHUNK_HEAD_BYTES + head.length];
    from_body(body).map_err(|bad| bad.at(offset))
}

/// Reads heads and totals from chunk to chunk. Returns the whole chunks and the end of the last
/// whole chunk.
fn scan(
    from: &mut (impl Read + Seek),
    start: u64,
    size: u64,
) -> Result<(Vec<ChunkInfo>, u64), TraceError> {
    /// The length of a chunk head and of five numbers, in bytes.
    const LOOK: usize = CHUNK_HEAD_BYTES + 5 * 10;
    let mut chunks = Vec::new();
    let mut offset = start;
    loop {
        from.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(LOOK);
        from.by_ref().take(LOOK as u64).read_to_end(&mut bytes)?;
        let Some(head) = bytes.first_chunk() else {
            break;
        };
        let head = ChunkHead::parse(head).map_err(|bad| bad.at(offset))?;
        let end = offset + head.whole_length() as u64;
        if end > size {
            break;
        }
        let body = &bytes[CHUNK_HEAD_BYTES..];
        let body = &body[..body.len().min(head.length)];
        if head.kind != ChunkKind::Index {
            chunks.push(ChunkInfo {
                kind: head.kind,
                process: head.process,
                offset,
                totals: match head.kind {
                    kind if kind.holds_visits() => {
                        StreamStart::parse(body)
                            .map_err(|reason| Bad::new(Section::Totals, reason).at(offset))?
                            .totals
                    }
                    _ => Totals::default(),
                },
            });
        }
        offset = end;
    }
    Ok((chunks, offset))
}

/// The decoded start of a stream chunk's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamStart {
    pub(crate) totals: Totals,
    /// The length in bytes.
    pub(crate) length: usize,
}

impl StreamStart {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, &'static str> {
        let mut from = Cursor::new(body);
        let totals = Totals {
            executions: from.number()?,
            loads: from.number()?,
            stores: from.number()?,
            instructions: from.number()?,
        };
        // No reader uses the end time of the chunk yet.
        from.number()?;
        Ok(Self {
            totals,
            length: from.position(),
        })
    }
}
