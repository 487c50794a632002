//! The pass of `advise` over the events of a trace.
//!
//! A reduced form holds every event and few visits, so the pass reads a reduced form if there is
//! one. If there is none, the pass filters the trace as a comparison does, and keeps the reduced
//! form for the next command.

use broadleaf_accel::covers_all;
use broadleaf_trace::Event;

use super::places::TracePlaces;
use crate::cache::CachedPass;
use crate::failure::Failure;
use crate::source::events::EventListener;
use crate::source::origin::can_be_opened_again;
use crate::source::{ReadError, Trace};
use crate::watch::Watch;

/// The text of the progress.
pub(super) const DOING: &str = "reading the mappings";

impl EventListener for TracePlaces {
    fn restart(&mut self) {
        *self = Self::default();
    }

    fn event(&mut self, event: &Event) {
        self.add(event);
    }
}

/// Reads the places of a trace's mappings. The trace was read to its end before.
///
/// # Errors
/// If the trace is damaged or unreadable.
pub(super) fn places(trace: &mut Trace, pass: &CachedPass<'_>) -> Result<TracePlaces, Failure> {
    // A reduced form holds all of the trace. A damaged trace was read up to the damage.
    if trace.damage().is_none() {
        if let Some(mut form) = trace.reduced_form(pass.path, pass.cache) {
            match of_events(&mut form, pass.watch) {
                Ok(places) => return Ok(places),
                Err(error) => log::warn!(
                    "{}; {} itself is read, which takes longer",
                    error.fault(),
                    trace.name()
                ),
            }
        } else if let Some(places) = while_keeping(trace, pass) {
            return Ok(places);
        }
    }
    Ok(of_events(trace, pass.watch)?)
}

pub(super) fn of_events(trace: &mut Trace, watch: &dyn Watch) -> Result<TracePlaces, ReadError> {
    let mut places = TracePlaces::default();
    let task = watch.begin(DOING, trace.work());
    trace.each_event(task.as_ref(), &mut places)?;
    Ok(places)
}

/// Reads the places in a new pass, which may leave a reduced form in the cache. `None` if such a
/// pass cannot leave one, or fails.
fn while_keeping(trace: &Trace, pass: &CachedPass<'_>) -> Option<TracePlaces> {
    let base_pages = [broadleaf_policy::base_pages()];
    let is_covered = covers_all(&base_pages, std::slice::from_ref(&pass.machine)).is_ok();
    if pass.cache.is_none() || !is_covered || !can_be_opened_again(pass.path) {
        return None;
    }
    let mut places = TracePlaces::default();
    // If this pass fails, the events are read from the trace, which was replayed without an error.
    let again = pass.run_heard(&mut places).ok()?;
    // Another file may have taken the place of the trace.
    (again.hash() == trace.hash()).then_some(places)
}

#[cfg(test)]
mod tests;
