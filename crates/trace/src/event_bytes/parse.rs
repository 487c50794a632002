//! Decoding an event's payload.

use broadleaf_units::{CoreId, FileId, Rights, SiteId, SpaceId, ThreadId, VirtAddr};

use super::{
    ADVISE, ALLOCATION, BRK, CORE_SWITCH, EXEC, FILE, FORK, KERNEL, MAP, MISPLACED, POPULATE,
    PROTECT, REMAP, SITE, SPACE_END, SPACE_START, STACK, SYSTEM, THREAD_END, THREAD_START,
    THREAD_SWITCH, UNMAP, WINDOW, system,
};
use crate::event::{Advice, Backing, Event, KernelTouch, Mapping, Range, TouchOrigin};
use crate::kernel_event::KernelEvent;
use crate::site::{Allocation, Site, SiteFrame};
use crate::varint::Cursor;
use crate::windows::WindowBorder;

/// Decodes an event from its kind and payload. Returns `None` for a kind of a later version, and
/// ignores bytes after the known fields.
pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Option<Event>, &'static str> {
    let mut from = Cursor::new(payload);
    let from = &mut from;
    Ok(Some(match kind {
        MAP => Event::Map(Mapping {
            range: range(from)?,
            protection: protection(from)?,
            shared: boolean(from)?,
            backing: backing(from)?,
        }),
        UNMAP => Event::Unmap(range(from)?),
        PROTECT => Event::Protect(range(from)?, protection(from)?),
        REMAP => Event::Remap {
            from: range(from)?,
            to: range(from)?,
        },
        ADVISE => Event::Advise(range(from)?, advice(from)?),
        POPULATE => Event::Populate {
            range: populated(from)?,
            touch: touch(from)?,
            origin: origin(from)?,
        },
        BRK => Event::Brk(range(from)?),
        STACK => Event::StackGrow(range(from)?),
        FILE => Event::File {
            id: FileId(from.number32()?),
            size: from.number()?,
            path: from.text()?,
        },
        MISPLACED => Event::Misplaced {
            at: range(from)?,
            native: VirtAddr(from.number()?),
        },
        SPACE_START => Event::SpaceStart {
            pid: from.number32()?,
            parent: from.number32()?,
            command: from.texts()?,
        },
        FORK => Event::Fork {
            child: from.number32()?,
        },
        EXEC => Event::Exec { path: from.text()? },
        SPACE_END => Event::SpaceEnd {
            status: match boolean(from)? {
                true => Some(from.number32()? as i32),
                false => None,
            },
        },
        THREAD_START => Event::ThreadStart(ThreadId(from.number32()?)),
        THREAD_SWITCH => Event::ThreadSwitch(ThreadId(from.number32()?)),
        THREAD_END => Event::ThreadEnd(ThreadId(from.number32()?)),
        CORE_SWITCH => Event::CoreSwitch(CoreId(from.number32()?)),
        SITE => Event::Site(SiteId(from.number32()?), site(from)?),
        ALLOCATION => Event::Allocation(allocation(from)?),
        WINDOW => Event::Window(WindowBorder::read(from)?),
        KERNEL => Event::Kernel(kernel(from)?),
        SYSTEM => return Ok(system::parse(from)?.map(Event::System)),
        _ => return Ok(None),
    }))
}

fn kernel(from: &mut Cursor<'_>) -> Result<KernelEvent, &'static str> {
    let space = SpaceId(from.number32()?);
    let action = from.number()?;
    KernelEvent::of_numbers(
        space,
        action,
        [from.number()?, from.number()?, from.number()?],
    )
}

fn site(from: &mut Cursor<'_>) -> Result<Site, &'static str> {
    let allocator = from.text()?;
    let count = from.number()?;
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.push(SiteFrame {
            function: from.text()?,
            file: from.text()?,
            line: from.number32()?,
        });
    }
    Ok(Site { allocator, frames })
}

fn allocation(from: &mut Cursor<'_>) -> Result<Allocation, &'static str> {
    let site = SiteId(from.number32()?);
    let range = range(from)?;
    Ok(Allocation {
        site,
        start: range.start,
        len: range.len,
        count: from.number()?,
        bytes: from.number()?,
    })
}

fn range(from: &mut Cursor<'_>) -> Result<Range, &'static str> {
    let range = Range {
        start: VirtAddr(from.number()?),
        len: from.number()?,
    };
    if range.start.0.checked_add(range.len).is_none() {
        return Err("a range goes past the last address");
    }
    Ok(range)
}

fn populated(from: &mut Cursor<'_>) -> Result<Range, &'static str> {
    let range = range(from)?;
    if range.len > Event::MOST_POPULATED {
        return Err("an event populates more than 64 MiB");
    }
    Ok(range)
}

fn touch(from: &mut Cursor<'_>) -> Result<KernelTouch, &'static str> {
    Ok(match from.number()? {
        0 => KernelTouch::Load,
        1 => KernelTouch::Store,
        2 => KernelTouch::AsMapped,
        3 => KernelTouch::Collapse,
        _ => return Err("the kernel's access is of no known kind"),
    })
}

fn origin(from: &mut Cursor<'_>) -> Result<TouchOrigin, &'static str> {
    Ok(match from.number()? {
        0 => TouchOrigin::Request,
        1 => TouchOrigin::Buffer,
        2 => TouchOrigin::Gap,
        _ => return Err("the reason for populating memory is of no known kind"),
    })
}

fn protection(from: &mut Cursor<'_>) -> Result<Rights, &'static str> {
    match from.number()? {
        bits @ 0..8 => Ok(Rights {
            read: bits & 1 != 0,
            write: bits & 2 != 0,
            execute: bits & 4 != 0,
        }),
        _ => Err("a protection has unknown bits"),
    }
}

fn boolean(from: &mut Cursor<'_>) -> Result<bool, &'static str> {
    match from.number()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err("a yes or no is neither 0 nor 1"),
    }
}

fn backing(from: &mut Cursor<'_>) -> Result<Backing, &'static str> {
    Ok(match from.number()? {
        0 => Backing::Anonymous,
        1 => Backing::Heap,
        2 => Backing::Stack,
        3 => Backing::SharedMemory,
        4 => Backing::File {
            file: FileId(from.number32()?),
            offset: from.number()?,
        },
        5 => Backing::Kernel,
        _ => return Err("a backing is of no known kind"),
    })
}

fn advice(from: &mut Cursor<'_>) -> Result<Advice, &'static str> {
    Ok(match from.number32()? as i32 {
        4 => Advice::DontNeed,
        8 => Advice::Free,
        9 => Advice::Remove,
        14 => Advice::HugePage,
        15 => Advice::NoHugePage,
        number => Advice::Other(number),
    })
}
