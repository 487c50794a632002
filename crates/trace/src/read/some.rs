//! Reading some chunks of a trace, without decoding the chunks before.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use super::{MOST_DEFINED, ReadOptions, TraceReader, VisitEnds};
use crate::chunk::{CHECK_BYTES, CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, check_agrees};
use crate::error::{Bad, Section, TraceError};
use crate::head::{self, Head};
use crate::index::{ChunkInfo, TraceIndex};

/// The chunks after which a reader ends, though the file goes on.
#[derive(Debug)]
pub(super) struct SomeChunks {
    /// The file offset after the last chunk to read.
    end: u64,
    /// The chunks up to there, as the index lists them.
    listed: Vec<ChunkInfo>,
}

impl<R: Read + Seek> TraceReader<R> {
    /// Begins to read the chunks of `index` with these numbers. The items of all chunks of a trace,
    /// read in several ranges, are the items of the trace. Of the chunks before the range, the
    /// reader reads the definitions alone that a chunk of the range may need.
    ///
    /// Reading is strict. The range's chunks must be those of the index, and the last range
    /// includes the index itself. One kind of damage shows to a reader of the whole trace alone: a
    /// chunk that executes patterns of a space that ended before the range.
    ///
    /// # Errors
    /// If the trace has no index, if its head or its definitions are damaged, or if reading fails.
    ///
    /// # Panics
    /// If `index` has fewer chunks.
    pub fn of_chunks(
        mut from: R,
        index: &TraceIndex,
        chunks: Range<usize>,
        fetches: bool,
    ) -> Result<Self, TraceError> {
        from.rewind()?;
        let Head {
            header,
            version,
            length,
        } = head::read(&mut from)?;
        if !index.complete {
            let size = index.size;
            return Err(TraceError::Truncated {
                offset: index.end,
                size,
            });
        }
        let start = match chunks.start {
            0 => length,
            first => index.chunk_range(first).start,
        };
        let options = ReadOptions {
            keep_going: false,
            fetches,
            ends: VisitEnds::Units,
        };
        let before = &index.chunks[..chunks.start];
        let mut reader = Self::after_head(from, header, version, start, options);
        reader.define(before, &index.chunks[chunks.clone()])?;
        reader.input.get_mut().seek(SeekFrom::Start(start))?;
        reader.chunks = before.to_vec();
        let last = before.iter().rfind(|chunk| chunk.kind.holds_visits());
        reader.process = last.map(|chunk| chunk.process);
        reader.some = (chunks.end < index.chunks.len()).then(|| SomeChunks {
            end: index.chunk_range(chunks.end).start,
            listed: index.chunks[..chunks.end].to_vec(),
        });
        Ok(reader)
    }

    /// Reads the definitions `before` the chunks `some`, of the processes that need them.
    fn define(&mut self, before: &[ChunkInfo], some: &[ChunkInfo]) -> Result<(), TraceError> {
        // Chunks of phrases need no definitions. Definitions continue those before.
        let needs = |kind| matches!(kind, ChunkKind::Stream | ChunkKind::Definitions);
        let needing = some.iter().filter(|chunk| needs(chunk.kind));
        let processes: BTreeSet<u32> = needing.map(|chunk| chunk.process).collect();
        for chunk in before {
            if chunk.kind != ChunkKind::Definitions || !processes.contains(&chunk.process) {
                continue;
            }
            let bad = |bad: Bad| bad.at(chunk.offset);
            let whole = read_chunk(self.input.get_mut(), chunk)?;
            let of = self.definitions.entry(chunk.process);
            let of = Arc::make_mut(of.or_insert_with(|| Arc::clone(&self.none)));
            self.defined -= of.size();
            let body = &whole[CHUNK_HEAD_BYTES..whole.len() - CHECK_BYTES];
            of.add(body, false).map_err(bad)?;
            self.defined += of.size();
            if self.defined > MOST_DEFINED {
                let reason = "more is defined than a reader can keep";
                return Err(bad(Bad::new(Section::Definitions, reason)));
            }
        }
        Ok(())
    }
}

impl<R: Read> TraceReader<R> {
    /// Returns true, and ends reading, if the next chunk at `offset` is after those to read.
    pub(super) fn is_after_some(&mut self, offset: u64) -> Result<bool, TraceError> {
        let Some(some) = self.some.as_ref().filter(|some| offset >= some.end) else {
            return Ok(false);
        };
        if offset != some.end || some.listed != self.chunks {
            let reason = "the index differs from the chunks in the file";
            return Err(Bad::new(Section::Index, reason).at(offset));
        }
        self.complete = true;
        self.ended = true;
        Ok(true)
    }
}

/// Reads a whole chunk of the index and verifies its check.
fn read_chunk(from: &mut (impl Read + Seek), chunk: &ChunkInfo) -> Result<Vec<u8>, TraceError> {
    let offset = chunk.offset;
    let mut whole = Vec::new();
    from.seek(SeekFrom::Start(offset))?;
    (&mut *from)
        .take(CHUNK_HEAD_BYTES as u64)
        .read_to_end(&mut whole)?;
    let truncated = |whole: &[u8]| TraceError::Truncated {
        offset,
        size: offset + whole.len() as u64,
    };
    let head = whole.first_chunk().ok_or_else(|| truncated(&whole))?;
    let head = ChunkHead::parse(head).map_err(|bad| bad.at(offset))?;
    let length = head.whole_length();
    let rest = length - CHUNK_HEAD_BYTES;
    from.take(rest as u64).read_to_end(&mut whole)?;
    if whole.len() < length {
        return Err(truncated(&whole));
    }
    if !check_agrees(&whole) {
        return Err(TraceError::BadCheck { offset });
    }
    if (head.kind, head.process) != (chunk.kind, chunk.process) {
        let reason = "the index differs from the chunks in the file";
        return Err(Bad::new(Section::Index, reason).at(offset));
    }
    Ok(whole)
}
