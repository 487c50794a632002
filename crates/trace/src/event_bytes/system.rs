//! The payload of events of whole systems.

use broadleaf_units::{Rights, SpaceId, VirtAddr};

use crate::system_event::{FaultStep, GuestLeaf, Invalidation, SystemEvent};
use crate::varint::{self, Cursor};

const SPACE: u64 = 0;
const SPACE_END: u64 = 1;
const LEAF: u64 = 2;
const INVALIDATE: u64 = 3;
const PAGE_FAULT: u64 = 4;
const PRIVILEGE: u64 = 5;

const WRITE: u64 = 1;
const USER: u64 = 2;
const EXECUTE: u64 = 4;
const GLOBAL: u64 = 8;

/// Appends the payload.
pub(super) fn put(out: &mut Vec<u8>, event: &SystemEvent) {
    let mut numbers = |of: &[u64]| of.iter().for_each(|number| varint::put(out, *number));
    match event {
        SystemEvent::Space(space) => numbers(&[SPACE, space.0.into()]),
        SystemEvent::SpaceEnd => numbers(&[SPACE_END]),
        SystemEvent::Leaf(leaf) => {
            let bit = |is: bool, bit: u64| if is { bit } else { 0 };
            let flags = bit(leaf.rights.write, WRITE)
                | bit(leaf.user, USER)
                | bit(leaf.rights.execute, EXECUTE)
                | bit(leaf.global, GLOBAL);
            let shift = leaf.shift.into();
            numbers(&[LEAF, leaf.start.0, shift, leaf.physical, flags]);
        }
        SystemEvent::Invalidate(what) => match what {
            Invalidation::Page(at) => numbers(&[INVALIDATE, 0, at.0]),
            Invalidation::UnknownPage => numbers(&[INVALIDATE, 1]),
            Invalidation::Space => numbers(&[INVALIDATE, 2]),
            Invalidation::Everything => numbers(&[INVALIDATE, 3]),
        },
        SystemEvent::PageFault(step) => numbers(&[PAGE_FAULT, *step as u64]),
        SystemEvent::Privilege(kernel) => numbers(&[PRIVILEGE, u64::from(*kernel)]),
    }
}

/// Decodes a payload. Returns `None` for an event of a later version.
pub(super) fn parse(from: &mut Cursor<'_>) -> Result<Option<SystemEvent>, &'static str> {
    Ok(Some(match from.number()? {
        SPACE => SystemEvent::Space(SpaceId(from.number32()?)),
        SPACE_END => SystemEvent::SpaceEnd,
        LEAF => SystemEvent::Leaf(leaf(from)?),
        INVALIDATE => SystemEvent::Invalidate(match from.number()? {
            0 => Invalidation::Page(VirtAddr(from.number()?)),
            1 => Invalidation::UnknownPage,
            2 => Invalidation::Space,
            3 => Invalidation::Everything,
            _ => return Err("an invalidation is of no known kind"),
        }),
        PAGE_FAULT => SystemEvent::PageFault(match from.number()? {
            0 => FaultStep::Exception,
            1 => FaultStep::Handled,
            _ => return Err("a page fault has no such step"),
        }),
        PRIVILEGE => SystemEvent::Privilege(match from.number()? {
            0 => false,
            1 => true,
            _ => return Err("a privilege is neither a program's nor the kernel's"),
        }),
        _ => return Ok(None),
    }))
}

fn leaf(from: &mut Cursor<'_>) -> Result<GuestLeaf, &'static str> {
    let (start, shift, physical) = (from.number()?, from.number()?, from.number()?);
    let flags = from.number()?;
    let shift = match shift {
        12 | 21 | 30 => shift as u8,
        _ => return Err("a leaf has no size of x86-64"),
    };
    // A page of 1 GiB is reported for 2 MiB of it.
    let unit = (1u64 << shift.min(21)) - 1;
    if start & unit != 0 || physical & unit != 0 {
        return Err("a leaf is not aligned to its size");
    }
    Ok(GuestLeaf {
        start: VirtAddr(start),
        shift,
        physical,
        rights: Rights {
            read: true,
            write: flags & WRITE != 0,
            execute: flags & EXECUTE != 0,
        },
        user: flags & USER != 0,
        global: flags & GLOBAL != 0,
    })
}
