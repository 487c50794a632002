//! Visits as single references, for exporters.

use broadleaf_trace::{DataAccess, Event, Lead, SystemEvent, Visit};

use crate::error::ExportError;

/// The accesses of a visit in order: each kind with its number. An access that the visit leads with
/// is the rest of one that began in another unit, and is the first.
pub(crate) fn accesses(visit: &Visit) -> [(DataAccess, u32); 5] {
    let (loads, stores) = (visit.loads, visit.stores);
    let first = match stores {
        0 => loads,
        _ => visit.loads_before_store,
    };
    let lead = match visit.lead {
        Lead::None => (DataAccess::Load, 0),
        Lead::Load => (DataAccess::Load, 1),
        Lead::Store => (DataAccess::Store, 1),
    };
    [
        lead,
        (DataAccess::Load, first),
        (DataAccess::Store, stores.min(1)),
        (DataAccess::Load, loads.saturating_sub(first)),
        (DataAccess::Store, stores.saturating_sub(1)),
    ]
}

/// The data that formats of single references lack: events, and that an access reaches into a
/// second unit.
pub(crate) const fn unwritten(events: u64, leads: u64) -> [(u64, &'static str); 2] {
    [
        (events, "events: not written"),
        (
            leads,
            "accesses that reach into the next page or line: written as one more access there",
        ),
    ]
}

/// Checks that a trace is one of a single address space, for formats that name none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OneSpace {
    /// The address space of the references so far.
    space: Option<u32>,
    /// The address space that runs.
    running: u32,
    has_references: bool,
}

impl OneSpace {
    /// Notes a visit with references. `tool` is the tool of the format.
    ///
    /// # Errors
    /// References of another space came before.
    pub(crate) fn visit(&mut self, tool: &str) -> Result<(), ExportError> {
        if self.space.replace(self.running) != Some(self.running) && self.has_references {
            return Err(ExportError::NoForm(format!(
                "holds several address spaces, which a trace of {tool} does not name: record the \
                 program without --follow-children, or record only the program that you mean"
            )));
        }
        self.has_references = true;
        Ok(())
    }

    /// Notes an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::SpaceSwitch(space) | Event::System(SystemEvent::Space(space)) => {
                self.running = space.0;
            }
            // The next references are of another space, whatever its number.
            Event::SpaceEnd { .. } | Event::System(SystemEvent::SpaceEnd) => self.space = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The references after a space's end are of another space, also in a whole system.
    #[test]
    fn references_after_the_end_of_a_space_are_of_another() {
        for end in [
            Event::SpaceEnd { status: None },
            Event::System(SystemEvent::SpaceEnd),
        ] {
            let mut space = OneSpace::default();
            assert!(space.visit("x").is_ok());
            assert!(space.visit("x").is_ok());
            space.event(&end);
            assert!(space.visit("x").is_err(), "{end:?}");
        }
    }
}
