//! The pass of `advise` over the events of a trace.
//!
//! A reduced form holds every event and few visits, so the pass reads a reduced form if there is
//! one. If there is none, the pass filters the trace as a comparison does, and keeps the reduced
//! form for the next command.

use std::path::Path;

use broadleaf_accel::covers_all;
use broadleaf_trace::TraceError;
use broadleaf_trace::reduced::{ReducedItem, ReducedPartReader, ReducedReader};

use super::places::TracePlaces;
use crate::cache::CachedPass;
use crate::failure::Failure;
use crate::source::Trace;
use crate::watch::Watch;

/// The text of the progress.
pub(super) const DOING: &str = "reading the mappings";

/// Reads the places of a trace's mappings. The trace was read to its end before.
///
/// # Errors
/// If the trace is damaged or unreadable.
pub(super) fn places(trace: &mut Trace, pass: CachedPass<'_>) -> Result<TracePlaces, Failure> {
    let watch = pass.watch;
    // A reduced form holds all of the trace. A damaged trace was read up to the damage.
    if trace.damage().is_none() {
        if let Some(mut form) = trace.reduced_form(pass.path, pass.cache) {
            return of_events(&mut form, watch);
        }
        if let Some(places) = while_keeping(trace, pass) {
            return Ok(places);
        }
    }
    of_events(trace, watch)
}

fn of_events(trace: &mut Trace, watch: &dyn Watch) -> Result<TracePlaces, Failure> {
    let mut places = TracePlaces::default();
    let task = watch.begin(DOING, trace.work());
    trace.each_event(task.as_ref(), &mut |event| places.add(event))?;
    Ok(places)
}

/// Reads the places from the reduced form that a new pass leaves in memory and in the cache. `None`
/// if no such form is worth keeping: then the events are read from the trace.
fn while_keeping(trace: &Trace, pass: CachedPass<'_>) -> Option<TracePlaces> {
    let base_pages = [broadleaf_policy::base_pages()];
    let is_file = pass.path != Path::new("-") && pass.path.is_file();
    let is_covered = covers_all(&base_pages, std::slice::from_ref(&pass.machine)).is_ok();
    if pass.cache.is_none() || !is_file || !is_covered {
        return None;
    }
    // If this pass fails, the events are read from the trace, which was replayed without an error.
    let (again, outcome) = pass.run().ok()?;
    // Another file may have taken the place of the trace.
    let parts = outcome.reduced.filter(|_| again.hash() == trace.hash())?;
    let mut places = TracePlaces::default();
    for part in &parts {
        add(&mut places, part).ok()?;
    }
    Some(places)
}

/// Adds the events of a reduced trace in memory.
fn add(places: &mut TracePlaces, reduced: &[u8]) -> Result<(), TraceError> {
    let mut reader = ReducedReader::new(reduced)?;
    let mut part_reader = ReducedPartReader::new();
    while let Some(part) = reader.next_part()? {
        part_reader.begin(part);
        while let Some(item) = part_reader.next_item()? {
            if let ReducedItem::Event(event) = item {
                places.add(event);
            }
        }
        reader.close(&part_reader);
    }
    Ok(())
}
