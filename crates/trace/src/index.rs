//! The index: where every chunk is and what it comes to, without reading them.

use std::io::{self, Read, Seek, SeekFrom};

use crate::chunk::{
    CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, END, TRAILER_BYTES, Totals, check_agrees,
};
use crate::compress;
use crate::error::{Bad, Section, TraceError};
use crate::head::{self, Head};
use crate::header::Header;
use crate::varint::{self, Cursor};

/// Most bytes of an index chunk's body when it is unpacked.
pub(crate) const MOST_INDEX_BYTES: usize = 1 << 26;

/// Where a chunk is and what it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkInfo {
    /// What it holds.
    pub kind: ChunkKind,
    /// The process that it is about.
    pub process: u32,
    /// The byte of the file at which it begins.
    pub offset: u64,
    /// What it comes to; zeros where it is no stream chunk.
    pub totals: Totals,
}

/// What an index chunk holds, before it is compressed.
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

/// The chunks that the body of an index chunk names.
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
        Err("something follows its last chunk")
    }
}

/// What a trace says about itself and its chunks, found without reading the chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceIndex {
    /// The file's head.
    pub header: Header,
    /// Every whole chunk but the index, in file order.
    pub chunks: Vec<ChunkInfo>,
    /// Whether the trace was written to its end. Where it was not, the chunks were found one by one.
    pub complete: bool,
    /// How many bytes the file has.
    pub size: u64,
    /// How many of them stand behind the last whole chunk: what a killed recording had begun to write.
    pub cut: u64,
}

impl TraceIndex {
    /// Reads a trace's head and index. The checks of the chunks between are not verified.
    ///
    /// # Errors
    /// Where it is no trace, its head or index is damaged, or it cannot be read.
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
            });
        }
        let (chunks, end) = scan(&mut from, start, size)?;
        Ok(Self {
            header,
            chunks,
            complete: false,
            size,
            cut: size - end,
        })
    }

    /// Whether the index is what begins at `offset`, even where it is damaged or cut off: then no reference stands behind.
    ///
    /// # Errors
    /// Where it cannot be read.
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
        // Without the last bytes, only a chunk that the file's end cuts off is taken at its word.
        Ok(head.is_some_and(|head| {
            head.kind == ChunkKind::Index && offset + head.whole_length() as u64 > size
        }))
    }

    /// What all stream chunks come to.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for chunk in &self.chunks {
            totals.add(&chunk.totals);
        }
        totals
    }

    /// How many address-space histories there are.
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

/// Where the index begins, as the last bytes of a complete trace say.
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
        .ok_or(Bad::new(Section::ChunkHead, "it is too short").at(offset))?;
    let head = ChunkHead::parse(head).map_err(|bad| bad.at(offset))?;
    if head.kind != ChunkKind::Index || whole.len() != head.whole_length() {
        let bad = Bad::new(Section::Index, "what the last bytes point to is no index");
        return Err(bad.at(offset));
    }
    if !check_agrees(&whole) {
        return Err(TraceError::BadCheck { offset });
    }
    let body = &whole[CHUNK_HEAD_BYTES..CHUNK_HEAD_BYTES + head.length];
    from_body(body).map_err(|bad| bad.at(offset))
}

/// Goes from chunk to chunk, reading no more than their totals. Answers the whole ones and where the last ends.
fn scan(
    from: &mut (impl Read + Seek),
    start: u64,
    size: u64,
) -> Result<(Vec<ChunkInfo>, u64), TraceError> {
    /// Head and totals: five numbers.
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

/// What a stream chunk's body begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamStart {
    pub(crate) totals: Totals,
    /// How many bytes they take.
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
        // When the chunk was finished, which nothing asks yet.
        from.number()?;
        Ok(Self {
            totals,
            length: from.position(),
        })
    }
}
