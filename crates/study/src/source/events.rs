//! The events of a trace, in order, from the trace or from its reduced form.

use std::path::Path;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::Event;

use super::{ReadError, Trace, reduced};
use crate::cache::TraceCache;
use crate::watch::Task;

impl Trace {
    /// The reduced form of this trace, beside the trace or in the cache. Each form holds all
    /// events, so a form for any machines is taken. After [`Trace::finish`].
    pub(crate) fn reduced_form(&self, path: &Path, cache: Option<&TraceCache>) -> Option<Self> {
        let beside = || reduced::beside(path, &self.origin, &[]).ok().flatten();
        let origin = match cache.and_then(|cache| cache.find(&self.origin, &[])) {
            Some(entry) => entry,
            None => beside()?,
        };
        let form = Self::of(path, origin, self.reading, Some(self.name().to_owned())).ok()?;
        (form.is_reduced() && form.hash() == self.hash()).then_some(form)
    }

    /// Reads the trace from its start, and passes each event on.
    ///
    /// # Errors
    /// If the trace is damaged or unreadable.
    pub(crate) fn each_event(
        &mut self,
        task: &dyn Task,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<(), ReadError> {
        self.rewind()?;
        let mut accesses = 0;
        while let Some(mut part) = self.next_part()? {
            while let Some(piece) = part.next()? {
                accesses += match &piece {
                    SourcePiece::Visits(visits) => {
                        visits.iter().map(|visit| visit.accesses()).sum()
                    }
                    SourcePiece::Phrased(phrased) => {
                        let visit = |word: &u16| phrased.vocabulary.get(usize::from(*word));
                        let visits = phrased.words.iter().filter_map(visit);
                        visits.map(|visit| visit.accesses()).sum()
                    }
                    SourcePiece::Reduced(_, sums) => sums.accesses(),
                    SourcePiece::Event(event) => {
                        on_event(event);
                        0
                    }
                };
                task.set(self.meter.bytes(), accesses);
            }
            if self.close(part)?.is_break() {
                break;
            }
        }
        self.finish()
    }
}
