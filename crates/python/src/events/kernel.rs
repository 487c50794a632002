//! Events of an instrumented kernel as rows, and back.

use broadleaf_trace::KernelEvent;
use broadleaf_units::SpaceId;

use super::EventRow;
use super::fields::need;

/// The name of the events in tables.
pub(crate) const KERNEL_EVENT: &str = "kernel_event";

/// Fills the columns of an event. Returns the event's name.
pub(super) fn fill(row: &mut EventRow, event: &KernelEvent) -> &'static str {
    let (_, [start, bytes, more]) = event.numbers();
    row.touch = Some(event.name().to_owned());
    row.space = Some(event.space.0);
    (row.start, row.bytes, row.count) = (Some(start), Some(bytes), Some(more));
    KERNEL_EVENT
}

/// The event of a row. Numbers that its action does not have may lack.
///
/// # Errors
/// A message that names the missing or invalid column.
pub(super) fn event_of(row: &EventRow, kind: &str) -> Result<KernelEvent, String> {
    let name = need(&row.touch, "touch", kind)?;
    let action = KernelEvent::NAMES.iter().position(|of| of == name);
    let action = action.ok_or_else(|| {
        format!(
            "a {KERNEL_EVENT} has {name:?} in the column \"touch\": write one of {}",
            KernelEvent::NAMES.join(", ")
        )
    })?;
    let space = SpaceId(*need(&row.space, "space", kind)?);
    let number = |of: Option<u64>| of.unwrap_or_default();
    let arguments = [number(row.start), number(row.bytes), number(row.count)];
    KernelEvent::of_numbers(space, action as u64, arguments)
        .map_err(|why| format!("a {KERNEL_EVENT} {name}: {why}"))
}
