//! The totals that a recording's index holds.

use super::Trace;
use super::bound::work;
use super::origin::Origin;
use super::pace::ReplayPace;
use super::sections::Sections;
use broadleaf_trace::{Totals, TraceIndex};
use std::io::BufReader;

/// The totals in a recording's index.
#[derive(Clone, Debug)]
pub(super) struct Holds {
    pub(super) totals: Totals,
    /// The work of reading the trace (see `bound::work`).
    pub(super) work: u64,
    /// True if these are the totals of the whole recording, not of its whole part only.
    pub(super) is_all: bool,
    pub(super) pace: ReplayPace,
    sections: Sections,
}

impl Holds {
    /// Reads the totals of a recording's index, or the heads of its chunks without an index; `None`
    /// if neither is readable.
    pub(super) fn of(origin: &Origin) -> Option<Self> {
        let index = TraceIndex::read(BufReader::new(origin.file()?)).ok()?;
        Some(Self {
            totals: index.totals(),
            work: work(&index.totals()),
            is_all: index.complete,
            pace: ReplayPace::of(&index),
            sections: Sections::of(&index),
        })
    }
}

impl Trace {
    /// Returns the bytes of a recording against its accesses; `None` if no index holds them.
    pub(crate) fn pace(&self) -> Option<ReplayPace> {
        self.holds.as_ref().map(|holds| holds.pace.clone())
    }

    /// The numbers of the trace's parts after which a section ends. A trace without an index is one
    /// section.
    pub(crate) fn section_ends(&self) -> Vec<usize> {
        let sections = self.holds.as_ref().map(|holds| &holds.sections);
        sections.map_or_else(Vec::new, |all| all.ends_in(&(0..all.chunks())))
    }

    /// Returns false if the trace surely holds no instruction fetches.
    pub(crate) fn may_hold_fetches(&self) -> bool {
        let header = self.header();
        header.is_none_or(|header| header.options.instruction_pages)
    }
}
