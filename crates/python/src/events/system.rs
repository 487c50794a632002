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
/// The names of the events in tables.
const NAMES: [&str; 6] = [
    "system_space",
    "system_space_end",
    "leaf",
    "invalidate",
    "page_fault",
    "privilege",
];
/// The sizes of pages of x86-64 in bytes, with their binary logarithms.
const LEAVES: [(u64, u8); 3] = [(1 << 12, 12), (1 << 21, 21), (1 << 30, 30)];

/// Returns true for the name of an event of a whole system.
pub(crate) fn is_of_system(name: &str) -> bool {
    NAMES.contains(&name)
}

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
        "leaf" => SystemEvent::Leaf(leaf_of(row, kind)?),
        "invalidate" if touch()? == PAGE => SystemEvent::Invalidate(Invalidation::Page(start()?)),
        "invalidate" => SystemEvent::Invalidate(known(touch()?, "touch", &INVALIDATIONS)?),
        "page_fault" => SystemEvent::PageFault(known(touch()?, "touch", &STEPS)?),
        "privilege" => SystemEvent::Privilege(known(touch()?, "touch", &PRIVILEGES)?),
        _ => return Ok(None),
    }))
}

/// The leaf of a row.
///
/// # Errors
/// A message that names the missing or invalid column.
fn leaf_of(row: &EventRow, kind: &str) -> Result<GuestLeaf, String> {
    let bytes = *need(&row.bytes, "bytes", kind)?;
    let found = LEAVES.iter().find(|(size, _)| *size == bytes);
    let (_, shift) = *found.ok_or_else(|| {
        format!(
            "a leaf has {bytes} in the column \"bytes\": write the size of a page of x86-64 (4096, \
             2097152 or 1073741824)"
        )
    })?;
    let start = *need(&row.start, "start", kind)?;
    let physical = *need(&row.to_start, "to_start", kind)?;
    // A leaf of 1 GiB is reported for each 2 MiB of it that is used.
    let unit = bytes.min(1 << 21);
    for (column, address) in [("start", start), ("to_start", physical)] {
        if address % unit != 0 {
            return Err(format!(
                "a leaf of {bytes} bytes has {address:#x} in the column {column:?}: write a \
                 multiple of {unit}"
            ));
        }
    }
    Ok(GuestLeaf {
        start: VirtAddr(start),
        shift,
        physical,
        rights: rights_of(need(&row.rights, "rights", kind)?)?,
        user: !known(need(&row.touch, "touch", kind)?, "touch", &PRIVILEGES)?,
        global: *need(&row.shared, "shared", kind)?,
    })
}
