//! Reading one chunk after the other: definitions, parts and the index.

use std::io::Read;
use std::sync::Arc;

use super::{MOST_DEFINED, TraceReader, VisitEnds};
use crate::chunk::{
    CHECK_BYTES, CHUNK_HEAD_BYTES, ChunkHead, ChunkKind, END, TRAILER_BYTES, Totals, check_agrees,
};
use crate::error::{Bad, Section, TraceError};
use crate::event_bytes::PermittedEvents;
use crate::event_scan::EventScan;
use crate::index::{self, ChunkInfo, StreamStart};
use crate::part::Part;

impl<R: Read> TraceReader<R> {
    /// Reads the next chunk. Returns a part if the chunk is one.
    pub(super) fn next_chunk(&mut self) -> Result<Option<Part>, TraceError> {
        let offset = self.input.offset();
        if self.is_after_some(offset)? {
            return Ok(None);
        }
        if !self.input.fill(CHUNK_HEAD_BYTES)? {
            let rest = self.input.ahead().len() as u64;
            if rest == 0 {
                self.ended = true;
                return Ok(None);
            }
            return self.damage(TraceError::Truncated {
                offset,
                size: offset + rest,
            });
        }
        let head = match self.chunk_head() {
            Ok(head) => head,
            Err(bad) => return self.damage(bad.at(offset)),
        };
        let length = head.whole_length();
        if !self.input.fill(length)? {
            let size = offset + self.input.ahead().len() as u64;
            return self.damage(TraceError::Truncated { offset, size });
        }
        let whole = &self.input.ahead()[..length];
        if !check_agrees(whole) {
            return self.damage(TraceError::BadCheck { offset });
        }
        let body = &whole[CHUNK_HEAD_BYTES..length - CHECK_BYTES];
        let mut info = ChunkInfo {
            kind: head.kind,
            process: head.process,
            offset,
            totals: Totals::default(),
        };
        let understood = match head.kind {
            ChunkKind::Definitions => {
                let of = self.definitions.entry(head.process);
                let of = Arc::make_mut(of.or_insert_with(|| Arc::clone(&self.none)));
                self.defined -= of.size();
                let added = of.add(body, self.options.keep_going);
                self.defined += of.size();
                if self.defined > MOST_DEFINED {
                    let reason = "more is defined than a reader can keep";
                    return Err(Bad::new(Section::Definitions, reason).at(offset));
                }
                added.map(|()| None)
            }
            ChunkKind::Code if self.options.ends == VisitEnds::Executions => {
                let of = self.definitions.entry(head.process);
                let of = Arc::make_mut(of.or_insert_with(|| Arc::clone(&self.none)));
                self.defined -= of.size();
                let added = of.add_code(body, &self.code);
                self.defined += of.size();
                // The table keeps the code of processes that ended, too.
                let kept = self.code.instructions() + self.code.len();
                if self.defined > MOST_DEFINED || kept > MOST_DEFINED {
                    let reason = "more code is given than a reader can keep";
                    return Err(Bad::new(Section::BlockCode, reason).at(offset));
                }
                added.map(|()| None)
            }
            ChunkKind::Stream | ChunkKind::Phrases => StreamStart::parse(body)
                .map(|start| Some((start.totals, body.to_vec())))
                .map_err(|reason| Bad::new(Section::Totals, reason)),
            ChunkKind::Index => {
                let chunks = index::from_body(body);
                return match chunks {
                    Ok(chunks) => self.end(offset, length, &chunks),
                    Err(bad) => self.pass_over(length, bad.at(offset)),
                };
            }
            ChunkKind::Code | ChunkKind::Reduced | ChunkKind::ReducedEnd | ChunkKind::Other(_) => {
                Ok(None)
            }
        };
        let stream = match understood {
            Ok(stream) => stream,
            Err(bad) => return self.pass_over(length, bad.at(offset)),
        };
        self.input.consume(length);
        if let Some((totals, _)) = stream {
            info.totals = totals;
        }
        self.chunks.push(info);
        Ok(stream.map(|(_, body)| self.part(info, length, body)))
    }

    /// Makes a part for the caller.
    fn part(&mut self, info: ChunkInfo, length: usize, body: Vec<u8>) -> Part {
        let scan = EventScan::of_chunk(info.kind, &body, &mut self.unpacker, &mut self.events);
        self.populated = self.populated.saturating_add(scan.populated);
        let definitions = if info.kind == ChunkKind::Stream && scan.ends_space {
            // If the space continues, its definitions begin anew.
            let of = self.definitions.remove(&info.process);
            self.defined -= of.as_ref().map_or(0, |of| of.size());
            of
        } else {
            self.definitions.get(&info.process).map(Arc::clone)
        };
        let switches = self.process != Some(info.process);
        self.process = Some(info.process);
        self.open += 1;
        Part {
            info,
            body,
            definitions: definitions.unwrap_or_else(|| Arc::clone(&self.none)),
            switches,
            permitted: PermittedEvents::of(&self.header),
            length: length as u64,
        }
    }

    /// Decodes the head of the chunk at the start of the read-ahead bytes.
    pub(super) fn chunk_head(&self) -> Result<ChunkHead, Bad> {
        match self.input.ahead().first_chunk() {
            Some(bytes) => ChunkHead::parse(bytes),
            None => Err(Bad::new(
                Section::ChunkHead,
                "the file ends inside the chunk head",
            )),
        }
    }

    /// Checks the index against the chunks read. The file must end after the trailer.
    fn end(
        &mut self,
        offset: u64,
        length: usize,
        said: &[ChunkInfo],
    ) -> Result<Option<Part>, TraceError> {
        if self.lost.places > 0 {
            let mut all = Totals::default();
            for chunk in said {
                all.add(&chunk.totals);
            }
            self.lost_totals = Some(all.less(&self.totals));
        } else if said != self.chunks {
            let bad = Bad::new(
                Section::Index,
                "the index differs from the chunks in the file",
            );
            return self.pass_over(length, bad.at(offset));
        }
        self.input.consume(length);
        self.complete = true;
        self.ended = true;
        let at = self.input.offset();
        let whole = self.input.fill(TRAILER_BYTES)?;
        let more = self.input.fill(TRAILER_BYTES + 1)?;
        let rest = self.input.ahead();
        if whole && !more && rest[..8] == offset.to_le_bytes() && rest[8..] == END {
            self.input.consume(TRAILER_BYTES);
            return Ok(None);
        }
        if self.options.keep_going {
            self.ended = false;
            self.search()?;
            return Ok(None);
        }
        if !whole {
            let size = at + rest.len() as u64;
            return Err(TraceError::Truncated { offset: at, size });
        }
        let reason = if more {
            "there are bytes after the trailer"
        } else {
            "the last bytes do not point to the index"
        };
        Err(Bad::new(Section::End, reason).at(at))
    }
}
