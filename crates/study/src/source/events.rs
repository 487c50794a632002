//! The events of a trace, in order, from the trace or from its reduced form.

use std::ops::ControlFlow;
use std::path::Path;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::{Event, Grain};

use super::part::TracePart;
use super::{ReadError, Trace, reduced};
use crate::cache::TraceCache;
use crate::watch::Task;

/// Receives the events of a trace, in order.
pub(crate) trait EventListener {
    /// Forgets all events: the trace is read from its start again.
    fn restart(&mut self);
    /// Receives the next event.
    fn event(&mut self, event: &Event);
}

impl Trace {
    /// The reduced form of this trace, beside the trace or in the cache. Each form holds all
    /// events, so a form for any machines is taken. After [`Trace::finish`].
    pub(crate) fn reduced_form(&self, path: &Path, cache: Option<&TraceCache>) -> Option<Self> {
        let hash = self.hash()?;
        let beside = reduced::beside(path, &self.origin, &[], Some(&hash));
        let in_cache = || Some(cache?.find(&self.origin, &[], Some(&hash))?.origin);
        let origin = beside.ok().flatten().or_else(in_cache)?;
        let form = Self::of(path, origin, self.reading, Some(self.name().to_owned())).ok()?;
        (form.is_reduced() && form.hash() == Some(hash)).then_some(form)
    }

    /// Reads the trace from its start, and passes each event on.
    ///
    /// # Errors
    /// If the trace is damaged or unreadable.
    pub(crate) fn each_event(
        &mut self,
        task: &dyn Task,
        listener: &mut dyn EventListener,
    ) -> Result<(), ReadError> {
        self.rewind()?;
        listener.restart();
        let mut accesses = 0;
        while let Some(mut part) = self.next_part()? {
            while let Some(piece) = part.next()? {
                accesses += match &piece {
                    SourcePiece::Visits(visits) => {
                        visits.iter().map(|visit| visit.accesses()).sum()
                    }
                    SourcePiece::Phrased(phrased) => {
                        phrased.visits().map(|visit| visit.accesses()).sum()
                    }
                    SourcePiece::Reduced(_, sums) => sums.accesses(),
                    SourcePiece::Event(event) => {
                        listener.event(event);
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

/// A trace that passes its events on while a replay reads it.
pub(crate) struct HeardTrace<'a> {
    trace: &'a mut Trace,
    listener: &'a mut dyn EventListener,
}

impl<'a> HeardTrace<'a> {
    pub(crate) fn new(trace: &'a mut Trace, listener: &'a mut dyn EventListener) -> Self {
        Self { trace, listener }
    }
}

/// A part of a heard trace. Threads read parts in any order, so a part holds its events until it
/// closes.
pub(crate) struct HeardPart {
    part: TracePart,
    events: Vec<Event>,
}

impl Source for HeardTrace<'_> {
    type Error = ReadError;
    type Part = HeardPart;

    fn grain(&self) -> Grain {
        Source::grain(self.trace)
    }

    fn holds_children(&self) -> bool {
        self.trace.holds_children()
    }

    fn holds_system(&self) -> bool {
        self.trace.holds_system()
    }

    fn is_reduced(&self) -> bool {
        Source::is_reduced(self.trace)
    }

    fn rewind(&mut self) -> Result<(), ReadError> {
        self.listener.restart();
        self.trace.rewind()
    }

    fn next_part(&mut self) -> Result<Option<HeardPart>, ReadError> {
        let part = self.trace.next_part()?;
        Ok(part.map(|part| HeardPart {
            part,
            events: Vec::new(),
        }))
    }

    fn close(&mut self, heard: HeardPart) -> Result<ControlFlow<()>, ReadError> {
        for event in &heard.events {
            self.listener.event(event);
        }
        self.trace.close(heard.part)
    }
}

impl SourcePart for HeardPart {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, ReadError> {
        let piece = self.part.next()?;
        if let Some(SourcePiece::Event(event)) = &piece {
            self.events.push((*event).clone());
        }
        Ok(piece)
    }
}
