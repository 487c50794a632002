//! A slice of a recording: successive chunks, read without decoding the chunks before.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::{ControlFlow, Range};

use broadleaf_trace::{Grain, PartReader, TraceIndex, TraceReader};

use super::bound::AccessBound;
use super::damage::{Damage, PassStop};
use super::origin::Origin;
use super::pace::ReplayPace;
use super::part::{Back, TracePart};
use super::sections::Sections;
use super::{ReadError, Trace, TraceReading};
use crate::reduce::{HashedRange, PartNumber, SubtreeValues};

/// The bytes of the check that ends a chunk.
const CHECK_BYTES: u64 = 8;
/// The maximum number of chunks whose checks identify a trace.
const MOST_CHECKS: usize = 256;

/// Successive chunks of a recording, as the source of a replay.
pub(crate) struct TraceSlice {
    origin: Origin,
    index: TraceIndex,
    identity: String,
    sections: Sections,
    chunks: Range<usize>,
    bytes: Range<u64>,
    reader: Box<TraceReader<HashedRange<File>>>,
    reading: TraceReading,
    bound: AccessBound,
    /// Idle readers of parts.
    readers: Vec<PartReader>,
}

impl TraceSlice {
    /// The slice of a trace that a part reads. Slices of equal numbers take about equally long.
    ///
    /// # Errors
    /// If the trace has no index, or cannot be read.
    pub(crate) fn of(trace: Trace, part: PartNumber) -> Result<Self, ReadError> {
        let Trace {
            origin, reading, ..
        } = trace;
        let name = || origin.name().to_owned();
        let head = |error| ReadError::head(origin.name(), error);
        let io = |error| ReadError::Io {
            name: name(),
            error,
        };
        let no_file = || io(io::Error::other("it is no file"));
        let file = || origin.file().ok_or_else(no_file);
        let index = TraceIndex::read(BufReader::new(file()?)).map_err(head)?;
        if !index.complete {
            let damage = Damage::CutShort { size: index.size };
            return Err(ReadError::Damaged {
                name: name(),
                damage,
            });
        }
        let sections = Sections::of(&index);
        let chunks = sections.chunks_of(part, &ReplayPace::of(&index));
        let bytes = Range {
            start: match part.is_first() {
                true => 0,
                false => index.chunk_range(chunks.start).start,
            },
            end: match part.is_last() {
                true => index.size,
                false => index.chunk_range(chunks.end).start,
            },
        };
        // Copies of a file share its position, so this comes before the reader.
        let identity = identity(file()?, &index).map_err(io)?;
        let mut file = HashedRange::new(file()?, index.size, bytes.clone());
        file.read_start(bytes.start).map_err(io)?;
        let reader = TraceReader::of_chunks(file, &index, chunks.clone(), reading.fetches);
        let reader = Box::new(reader.map_err(head)?);
        let bound = AccessBound::new(reading.max_accesses);
        Ok(Self {
            origin,
            index,
            identity,
            sections,
            chunks,
            bytes,
            reader,
            reading,
            bound,
            readers: Vec::new(),
        })
    }

    /// The accesses of the slice, from the index.
    pub(crate) fn accesses(&self) -> u64 {
        let chunks = self.index.chunks[self.chunks.clone()].iter();
        chunks.fold(0, |sum, chunk| sum.saturating_add(chunk.totals.accesses()))
    }

    /// The numbers of parts after which a section ends.
    pub(crate) fn section_ends(&self) -> Vec<usize> {
        self.sections.ends_in(&self.chunks)
    }

    /// The bytes of the trace that belong to the slice, and the size of the trace.
    pub(crate) fn bytes(&self) -> (Range<u64>, u64) {
        (self.bytes.clone(), self.index.size)
    }

    /// A hash that all slices of a trace share.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Ends reading. Returns the hashes of the slice's bytes, as they were read.
    ///
    /// # Errors
    /// If the slice was not read to its end.
    pub(crate) fn finish(mut self) -> Result<SubtreeValues, ReadError> {
        let name = self.origin.name().to_owned();
        if !self.reader.complete() {
            let damage = Damage::CutShort {
                size: self.reader.bytes_read(),
            };
            return Err(ReadError::Damaged { name, damage });
        }
        let values = self.reader.get_mut().finish();
        values.map_err(|error| ReadError::Io { name, error })
    }
}

/// A hash of a trace's head and index, and of the checks of some chunks. So parts of different
/// traces are told apart, though no part reads the other chunks.
fn identity(mut file: File, index: &TraceIndex) -> io::Result<String> {
    let head = index.chunk_range(0).start;
    let each = index.chunks.len().div_ceil(MOST_CHECKS).max(1);
    let ends = (0..index.chunks.len()).step_by(each);
    let ends = ends.map(|number| index.chunk_range(number).end);
    let checks = ends.map(|end| end.saturating_sub(CHECK_BYTES)..end);
    let mut hasher = blake3::Hasher::new();
    for part in [0..head, index.end..index.size].into_iter().chain(checks) {
        file.seek(SeekFrom::Start(part.start))?;
        hasher.update_reader((&file).take(part.end - part.start))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

impl broadleaf_model::Source for TraceSlice {
    type Error = ReadError;
    type Part = TracePart;

    fn grain(&self) -> Grain {
        self.reader.header().grain
    }

    fn holds_children(&self) -> bool {
        self.reader.header().options.children
    }

    fn holds_system(&self) -> bool {
        self.reader.header().options.system
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        // The hashes are of one pass.
        let error = io::Error::other("a slice of a trace is read once");
        let name = self.origin.name().to_owned();
        Err(ReadError::Io { name, error })
    }

    fn next_part(&mut self) -> Result<Option<TracePart>, ReadError> {
        let name = self.origin.name();
        let part = self.reader.next_part();
        let part = part.map_err(|error| ReadError::after_head(name, PassStop::from(error)))?;
        let Some(part) = part else { return Ok(None) };
        let (totals, understood) = (part.info().totals, self.reader.bytes_read());
        self.bound.hand_out(&self.origin, understood, &totals)?;
        let pages = self.reader.populated();
        (self.bound).check_populated(&self.origin, understood, understood, pages)?;
        let (grain, reading) = (self.reader.header().grain, self.reading);
        let idle = self.readers.pop();
        let mut reader = idle.unwrap_or_else(|| {
            let reader = PartReader::new(grain, reading.fetches);
            reader.ending_visits(reading.ends)
        });
        reader.begin(part);
        Ok(Some(TracePart::recording(reader, name, reading)))
    }

    fn close(&mut self, part: TracePart) -> Result<ControlFlow<()>, ReadError> {
        if let Back::Recording(mut part, _) = part.take_back() {
            if let Some(closed) = part.close() {
                self.reader.close(closed);
            }
            self.readers.push(*part);
        }
        Ok(ControlFlow::Continue(()))
    }
}
