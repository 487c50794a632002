//! Events of whole systems as rows, and back.

use broadleaf_trace::{FaultStep, GuestLeaf, Invalidation, SystemEvent};
use broadleaf_units::{SpaceId, VirtAddr};

use super::EventRow;
use super::fields::{known, need, rights_of, rights_text};

const INVALIDATIONS: [(&str, Invalidation); 3] = [
    ("unknown_page", Invalidation::UnknownPage),
    ("space", Invalidation::Space),
    ("everything", Invalidation::Everything),
];
const STEPS: [(&str, FaultStep); 2] = [
    ("exception", FaultStep::Exception),
    ("handled", FaultStep::Handled),
];
const PRIVILEGES: [(&str, bool); 2] = [("kernel", true), ("program", false)];
const PAGE: &str = "page";

fn word<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> Option<String> {
    let found = words.iter().find(|(_, of)| of == value);
    found.map(|(word, _)| (*word).to_owned())
}

/// Fills the columns of an event. Returns the event's name.
pub(super) fn fill(row: &mut EventRow, event: &SystemEvent) -> &'static str {
    match event {
        SystemEvent::Space(space) => {
            row.space = Some(space.0);
            "system_space"
        }
        SystemEvent::SpaceEnd => "system_space_end",
        SystemEvent::Leaf(leaf) => {
            (row.start, row.bytes) = (Some(leaf.start.0), Some(1 << leaf.shift));
            row.to_start = Some(leaf.physical);
            row.rights = Some(rights_text(leaf.rights));
            row.shared = Some(leaf.global);
            row.touch = word(&!leaf.user, &PRIVILEGES);
            "leaf"
        }
        SystemEvent::Invalidate(what) => {
            row.touch = match what {
                Invalidation::Page(at) => {
                    row.start = Some(at.0);
                    Some(PAGE.to_owned())
                }
                other => word(other, &INVALIDATIONS),
            };
            "invalidate"
        }
        SystemEvent::PageFault(step) => {
            row.touch = word(step, &STEPS);
            "page_fault"
        }
        SystemEvent::Privilege(kernel) => {
            row.touch = word(kernel, &PRIVILEGES);
            "privilege"
        }
    }
}

/// The event of a row, or `None` if it is no event of a whole system.
///
/// # Errors
/// A message that names the missing or invalid column.
pub(super) fn event_of(row: &EventRow, kind: &str) -> Result<Option<SystemEvent>, String> {
    let touch = || need(&row.touch, "touch", kind);
    let start = || Ok::<_, String>(VirtAddr(*need(&row.start, "start", kind)?));
    Ok(Some(match kind {
        "system_space" => SystemEvent::Space(SpaceId(*need(&row.space, "space", kind)?)),
        "system_space_end" => SystemEvent::SpaceEnd,
        "leaf" => SystemEvent::Leaf(GuestLeaf {
            start: start()?,
            shift: need(&row.bytes, "bytes", kind)?.trailing_zeros() as u8,
            physical: *need(&row.to_start, "to_start", kind)?,
            rights: rights_of(need(&row.rights, "rights", kind)?)?,
            user: !known(touch()?, "touch", &PRIVILEGES)?,
            global: *need(&row.shared, "shared", kind)?,
        }),
        "invalidate" if touch()? == PAGE => SystemEvent::Invalidate(Invalidation::Page(start()?)),
        "invalidate" => SystemEvent::Invalidate(known(touch()?, "touch", &INVALIDATIONS)?),
        "page_fault" => SystemEvent::PageFault(known(touch()?, "touch", &STEPS)?),
        "privilege" => SystemEvent::Privilege(known(touch()?, "touch", &PRIVILEGES)?),
        _ => return Ok(None),
    }))
}
