//! Encoding an event's payload.

use super::{
    ADVISE, ALLOCATION, BRK, CORE_SWITCH, EXEC, FILE, FORK, KERNEL, MAP, MISPLACED, POPULATE,
    PROTECT, REMAP, SITE, SPACE_END, SPACE_START, STACK, SYSTEM, THREAD_END, THREAD_START,
    THREAD_SWITCH, UNMAP, WINDOW, system,
};
use crate::event::{Advice, Backing, Event, Range};
use crate::site::{Allocation, Site};
use crate::varint;
use broadleaf_units::Rights;

fn put_range(out: &mut Vec<u8>, range: &Range) {
    varint::put(out, range.start.0);
    varint::put(out, range.len);
}

const fn protection_bits(protection: Rights) -> u64 {
    protection.read as u64 | (protection.write as u64) << 1 | (protection.execute as u64) << 2
}

const fn advice_number(advice: Advice) -> i32 {
    match advice {
        Advice::DontNeed => 4,
        Advice::Free => 8,
        Advice::Remove => 9,
        Advice::HugePage => 14,
        Advice::NoHugePage => 15,
        Advice::Other(number) => number,
    }
}

/// Appends the event's payload and returns the event's kind, or `None` if the format has no such
/// event.
pub(crate) fn put(out: &mut Vec<u8>, event: &Event) -> Option<u8> {
    match event {
        Event::Map(mapping) => {
            put_range(out, &mapping.range);
            varint::put(out, protection_bits(mapping.protection));
            varint::put(out, mapping.shared.into());
            match mapping.backing {
                Backing::Anonymous => varint::put(out, 0),
                Backing::Heap => varint::put(out, 1),
                Backing::Stack => varint::put(out, 2),
                Backing::SharedMemory => varint::put(out, 3),
                Backing::File { file, offset } => {
                    varint::put(out, 4);
                    varint::put(out, file.0.into());
                    varint::put(out, offset);
                }
                Backing::Kernel => varint::put(out, 5),
            }
            return Some(MAP);
        }
        Event::Unmap(range) => {
            put_range(out, range);
            return Some(UNMAP);
        }
        Event::Protect(range, protection) => {
            put_range(out, range);
            varint::put(out, protection_bits(*protection));
            return Some(PROTECT);
        }
        Event::Remap { from, to } => {
            put_range(out, from);
            put_range(out, to);
            return Some(REMAP);
        }
        Event::Advise(range, advice) => {
            put_range(out, range);
            varint::put(out, (advice_number(*advice) as u32).into());
            return Some(ADVISE);
        }
        Event::Populate {
            range,
            touch,
            origin,
        } => {
            put_range(out, range);
            varint::put(out, *touch as u64);
            varint::put(out, *origin as u64);
            return Some(POPULATE);
        }
        Event::Brk(range) => {
            put_range(out, range);
            return Some(BRK);
        }
        Event::StackGrow(range) => {
            put_range(out, range);
            return Some(STACK);
        }
        Event::File { id, size, path } => {
            varint::put(out, id.0.into());
            varint::put(out, *size);
            varint::put_text(out, path);
            return Some(FILE);
        }
        Event::Misplaced { at, native } => {
            put_range(out, at);
            varint::put(out, native.0);
            return Some(MISPLACED);
        }
        Event::Site(id, site) => {
            varint::put(out, id.0.into());
            put_site(out, site);
            return Some(SITE);
        }
        Event::Allocation(allocation) => {
            put_allocation(out, allocation);
            return Some(ALLOCATION);
        }
        Event::Window(border) => {
            border.put(out);
            return Some(WINDOW);
        }
        Event::System(event) => {
            system::put(out, event);
            return Some(SYSTEM);
        }
        Event::Kernel(event) => {
            let (action, arguments) = event.numbers();
            varint::put(out, event.space.0.into());
            varint::put(out, action);
            arguments.iter().for_each(|of| varint::put(out, *of));
            return Some(KERNEL);
        }
        _ => {}
    }
    put_life(out, event)
}

fn put_site(out: &mut Vec<u8>, site: &Site) {
    varint::put_text(out, &site.allocator);
    varint::put(out, site.frames.len() as u64);
    for frame in &site.frames {
        varint::put_text(out, &frame.function);
        varint::put_text(out, &frame.file);
        varint::put(out, frame.line.into());
    }
}

fn put_allocation(out: &mut Vec<u8>, allocation: &Allocation) {
    varint::put(out, allocation.site.0.into());
    varint::put(out, allocation.start.0);
    varint::put(out, allocation.len);
    varint::put(out, allocation.count);
    varint::put(out, allocation.bytes);
}

/// Encodes the events of processes and threads.
fn put_life(out: &mut Vec<u8>, event: &Event) -> Option<u8> {
    let mut number = |value: u32| varint::put(out, value.into());
    Some(match event {
        Event::SpaceStart {
            pid,
            parent,
            command,
        } => {
            number(*pid);
            number(*parent);
            varint::put(out, command.len() as u64);
            for word in command {
                varint::put_text(out, word);
            }
            SPACE_START
        }
        Event::Fork { child } => {
            number(*child);
            FORK
        }
        Event::Exec { path } => {
            varint::put_text(out, path);
            EXEC
        }
        Event::SpaceEnd { status } => {
            number(status.is_some().into());
            if let Some(status) = status {
                number(*status as u32);
            }
            SPACE_END
        }
        Event::ThreadStart(thread) => {
            number(thread.0);
            THREAD_START
        }
        Event::ThreadSwitch(thread) => {
            number(thread.0);
            THREAD_SWITCH
        }
        Event::ThreadEnd(thread) => {
            number(thread.0);
            THREAD_END
        }
        Event::CoreSwitch(core) => {
            number(core.0);
            CORE_SWITCH
        }
        _ => return None,
    })
}
