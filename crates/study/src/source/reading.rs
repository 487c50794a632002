//! The options of reading a trace.

use broadleaf_trace::{Header, VisitEnds};

use super::origin::PassCount;

/// The options of reading a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceReading {
    /// The number of passes.
    pub passes: PassCount,
    /// Read a damaged trace up to the damage.
    pub keep_going: bool,
    /// Return the instruction fetches of a recording.
    pub fetches: bool,
    /// Where visits end.
    pub ends: VisitEnds,
    /// The maximum number of accesses to read; `None` derives a limit from the file's size.
    pub max_accesses: Option<u64>,
}

impl TraceReading {
    /// The reading of a recording with this header, if it is known: without fetches where the
    /// recording holds none.
    pub(crate) fn of_recording(self, header: Option<&Header>) -> Self {
        let may_hold = header.is_none_or(|header| header.options.instruction_pages);
        Self {
            fetches: self.fetches && may_hold,
            ..self
        }
    }

    /// What results depend on, as text. The number of passes changes no result, and a damaged trace
    /// has no entry in the cache.
    pub(crate) fn identity(&self) -> String {
        let Self {
            passes: _,
            keep_going: _,
            fetches,
            ends,
            max_accesses,
        } = self;
        format!("fetches {fetches}, visits end by {ends:?}, at most {max_accesses:?} accesses")
    }
}
