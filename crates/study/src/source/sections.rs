//! The sections of a recording: successive chunks, the smallest parts that a machine reduces.
//!
//! No chunk of a reduced form belongs to two sections, so the forms of sections can be joined by
//! copying, and the result is the form of the whole recording to the byte.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use broadleaf_model::Source;
use broadleaf_trace::{CodeTable, Grain, TraceIndex};

use super::pace::ReplayPace;
use crate::reduce::PartNumber;

/// The approximate accesses of a section: those of one chunk of a recorder, or of several chunks of
/// a recoded trace. A section ends with the chunk that reaches the next multiple.
const SECTION_ACCESSES: u64 = 1 << 24;

/// The sections of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    /// The first chunk of each section.
    starts: Vec<usize>,
    /// For each chunk, the number of chunks of visits before it; and the number of all.
    visited: Vec<usize>,
}

impl Sections {
    /// The sections of the recording with this index.
    pub(crate) fn of(index: &TraceIndex) -> Self {
        let (mut accesses, mut section, mut chunks) = (0u64, 0, 0);
        let (mut starts, mut visited) = (vec![0], vec![0]);
        for (number, chunk) in index.chunks.iter().enumerate() {
            accesses = accesses.saturating_add(chunk.totals.accesses());
            chunks += usize::from(chunk.kind.holds_visits());
            visited.push(chunks);
            if accesses / SECTION_ACCESSES > section {
                section = accesses / SECTION_ACCESSES;
                starts.push(number + 1);
            }
        }
        Self { starts, visited }
    }

    /// The chunks of a part of the recording. Parts take about equally long.
    pub(super) fn chunks_of(&self, part: PartNumber, pace: &ReplayPace) -> Range<usize> {
        let all = self.visited.len() - 1;
        let start = |section: usize| self.starts.get(section).copied().unwrap_or(all);
        let before = |section: usize| pace.before(start(section));
        let sections = part.share_of(self.starts.len(), pace.before(all), before);
        start(sections.start)..start(sections.end)
    }

    /// The numbers of chunks of visits after which a section ends, of those in `chunks`.
    pub(crate) fn ends_in(&self, chunks: &Range<usize>) -> Vec<usize> {
        let inside = |start: &&usize| chunks.start < **start && **start < chunks.end;
        let starts = self.starts.iter().filter(inside);
        starts
            .map(|&start| self.visited[start] - self.visited[chunks.start])
            .collect()
    }

    /// The number of all chunks.
    pub(crate) const fn chunks(&self) -> usize {
        self.visited.len() - 1
    }
}

/// A source that notes where sections end.
pub(crate) struct InSections<'a, S> {
    source: &'a mut S,
    /// The numbers of parts after which a section ends.
    ends: Vec<usize>,
    /// The number of parts that were closed.
    closed: usize,
    /// True if a section ended before the next piece.
    ended: &'a Cell<bool>,
}

impl<'a, S: Source> InSections<'a, S> {
    /// Reads `source` and sets `ended` when a section ended, before the next piece is handed out.
    pub(crate) const fn new(source: &'a mut S, ends: Vec<usize>, ended: &'a Cell<bool>) -> Self {
        Self {
            source,
            ends,
            closed: 0,
            ended,
        }
    }
}

impl<S: Source> Source for InSections<'_, S> {
    type Error = S::Error;
    type Part = S::Part;

    fn grain(&self) -> Grain {
        self.source.grain()
    }

    fn holds_children(&self) -> bool {
        self.source.holds_children()
    }

    fn holds_system(&self) -> bool {
        self.source.holds_system()
    }

    fn code(&self) -> Option<Arc<CodeTable>> {
        self.source.code()
    }

    fn is_reduced(&self) -> bool {
        self.source.is_reduced()
    }

    fn rewind(&mut self) -> Result<(), S::Error> {
        self.closed = 0;
        self.source.rewind()
    }

    fn next_part(&mut self) -> Result<Option<S::Part>, S::Error> {
        self.source.next_part()
    }

    fn close(&mut self, part: S::Part) -> Result<ControlFlow<()>, S::Error> {
        self.closed += 1;
        if self.ends.binary_search(&self.closed).is_ok() {
            self.ended.set(true);
        }
        self.source.close(part)
    }
}
