//! What each event of a trace means for memory.

use crate::stream::{Stream, TooLate};
use broadleaf_filter::is_seen_by_no_policy;
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping, Pages, Rights};
use broadleaf_trace::{Advice, Event, Protection, Range};
use broadleaf_units::SpaceId;

/// The base pages of a range of addresses.
pub fn pages(range: Range) -> Pages {
    Pages::of_bytes(range.start, range.len)
}

fn rights(protection: Protection) -> Rights {
    Rights {
        read: protection.read,
        write: protection.write,
        execute: protection.execute,
    }
}

fn mapping(
    spaces: &mut AddressSpaces,
    space: SpaceId,
    mapping: &broadleaf_trace::Mapping,
) -> Mapping {
    use broadleaf_trace::Backing as Told;
    let backing = match mapping.backing {
        Told::Anonymous => Backing::Anonymous,
        Told::Heap => Backing::Heap,
        Told::Stack => Backing::Stack,
        Told::SharedMemory => spaces.shared_memory(space, pages(mapping.range)),
        Told::File { file, offset } => Backing::File { file, offset },
        Told::Kernel => Backing::Kernel,
    };
    Mapping {
        pages: pages(mapping.range),
        rights: rights(mapping.protection),
        shared: mapping.shared,
        backing,
    }
}

/// What stands behind a mapping, as traces tell it.
pub fn told(backing: Backing) -> broadleaf_trace::Backing {
    use broadleaf_trace::Backing as Told;
    match backing {
        Backing::Anonymous => Told::Anonymous,
        Backing::Heap => Told::Heap,
        Backing::Stack => Told::Stack,
        Backing::SharedMemory { .. } => Told::SharedMemory,
        Backing::File { file, offset } => Told::File { file, offset },
        Backing::Kernel => Told::Kernel,
    }
}

/// Whether an event tells a mapping of its space.
pub const fn tells_a_mapping(event: &Event) -> bool {
    matches!(event, Event::Map(_) | Event::Brk(_) | Event::StackGrow(_))
}

/// Whether an event changes its address space.
const fn changes_a_space(event: &Event) -> bool {
    tells_a_mapping(event) || takes_something_away(event)
}

/// Whether an event takes pages away, changes their rights or moves them.
pub const fn takes_something_away(event: &Event) -> bool {
    matches!(
        event,
        Event::Unmap(_) | Event::Protect(..) | Event::Remap { .. } | Event::Advise(..)
    )
}

/// Whether an event changes address spaces.
pub const fn changes_spaces(event: &Event) -> bool {
    !is_seen_by_no_policy(event) || matches!(event, Event::Fork { .. })
}

/// What an event changes for every memory.
pub fn changes(stream: &mut Stream, event: &Event) -> Result<Vec<Change>, TooLate> {
    stream.summary.events |= changes_a_space(event);
    let space = stream.running;
    if tells_a_mapping(event) && !stream.spaces_mut().tell(space) {
        return Err(TooLate);
    }
    Ok(match event {
        Event::Map(told) => {
            let spaces = stream.spaces_mut();
            let mapping = mapping(spaces, space, told);
            spaces.map(space, mapping)
        }
        Event::Unmap(range) => stream.spaces_mut().unmap(space, pages(*range)),
        Event::Protect(range, protection) => {
            stream
                .spaces_mut()
                .protect(space, pages(*range), rights(*protection))
        }
        Event::Remap { from, to } => stream.spaces_mut().remap(space, pages(*from), pages(*to)),
        Event::Brk(range) => stream.spaces_mut().set_heap(space, pages(*range)),
        Event::StackGrow(range) => stream.spaces_mut().grow_stack(space, pages(*range)),
        Event::Advise(range, advice) => match advice {
            Advice::DontNeed => stream.spaces_mut().discard(space, pages(*range)),
            Advice::Remove => stream.spaces_mut().remove(space, pages(*range)),
            Advice::HugePage | Advice::NoHugePage => {
                stream
                    .spaces_mut()
                    .advise(space, pages(*range), *advice == Advice::HugePage);
                Vec::new()
            }
            Advice::Free | Advice::Other(_) => Vec::new(),
        },
        Event::File { id, size, .. } => {
            stream.spaces_mut().file(*id, *size);
            Vec::new()
        }
        Event::SpaceSwitch(space) => {
            stream.switch(*space);
            Vec::new()
        }
        Event::SpaceStart { pid, .. } => stream.begin_space(*pid),
        Event::Fork { child } => stream.spaces_mut().fork(space, *child),
        Event::SpaceEnd { .. } => {
            stream.will_end();
            Vec::new()
        }
        Event::Misplaced { .. } => {
            stream.misplaced += 1;
            Vec::new()
        }
        // [`Stream::populate`] has already handled the pages that the event makes resident.
        Event::Populate { .. } => Vec::new(),
        // `exec` may fail; where it does not, the space ends or begins again by an event of its
        // own.
        Event::Exec { .. }
        | Event::ThreadStart(_)
        | Event::ThreadSwitch(_)
        | Event::ThreadEnd(_) => Vec::new(),
    })
}
