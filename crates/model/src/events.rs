//! The changes that each trace event makes to address spaces.

use crate::stream::{Stream, TooLate};
use broadleaf_filter::is_seen_by_no_policy;
use broadleaf_memory::{AddressSpaces, Backing, Change, Mapping, Pages};
use broadleaf_trace::{Advice, Event, Range};
use broadleaf_units::SpaceId;

/// The base pages of a range of addresses.
pub fn pages(range: Range) -> Pages {
    Pages::of_bytes(range.start, range.len)
}

fn mapping(
    spaces: &mut AddressSpaces,
    space: SpaceId,
    mapping: &broadleaf_trace::Mapping,
) -> Mapping {
    use broadleaf_trace::Backing as TraceBacking;
    let backing = match mapping.backing {
        TraceBacking::Anonymous => Backing::Anonymous,
        TraceBacking::Heap => Backing::Heap,
        TraceBacking::Stack => Backing::Stack,
        TraceBacking::SharedMemory => spaces.shared_memory(space, pages(mapping.range)),
        TraceBacking::File { file, offset } => Backing::File { file, offset },
        TraceBacking::Kernel => Backing::Kernel,
    };
    Mapping {
        pages: pages(mapping.range),
        rights: mapping.protection,
        shared: mapping.shared,
        backing,
    }
}

/// The backing of a mapping, in the form that traces use.
pub fn trace_backing(backing: Backing) -> broadleaf_trace::Backing {
    use broadleaf_trace::Backing as TraceBacking;
    match backing {
        Backing::Anonymous => TraceBacking::Anonymous,
        Backing::Heap => TraceBacking::Heap,
        Backing::Stack => TraceBacking::Stack,
        Backing::SharedMemory { .. } => TraceBacking::SharedMemory,
        Backing::File { file, offset } => TraceBacking::File { file, offset },
        Backing::Kernel => TraceBacking::Kernel,
    }
}

/// Returns true if an event lists a mapping of the running address space.
pub const fn lists_a_mapping(event: &Event) -> bool {
    matches!(event, Event::Map(_) | Event::Brk(_) | Event::StackGrow(_))
}

/// Returns true if an event changes the running address space.
const fn changes_a_space(event: &Event) -> bool {
    lists_a_mapping(event) || removes_or_moves_pages(event)
}

/// Returns true if an event unmaps or moves pages, or changes their rights.
pub const fn removes_or_moves_pages(event: &Event) -> bool {
    matches!(
        event,
        Event::Unmap(_) | Event::Protect(..) | Event::Remap { .. } | Event::Advise(..)
    )
}

/// Returns true if an event changes any address space.
pub const fn changes_spaces(event: &Event) -> bool {
    !is_seen_by_no_policy(event) || matches!(event, Event::Fork { .. })
}

/// Applies an event to the address spaces and returns the changes for every memory.
///
/// # Errors
/// Returns [`TooLate`] if the event lists the first mapping of a space that was already referenced.
pub fn changes(stream: &mut Stream, event: &Event) -> Result<Vec<Change>, TooLate> {
    stream.summary.events |= changes_a_space(event);
    let space = stream.running;
    if lists_a_mapping(event) && !stream.spaces_mut().list_mappings(space) {
        return Err(TooLate);
    }
    Ok(match event {
        Event::Map(listed) => {
            let spaces = stream.spaces_mut();
            let mapping = mapping(spaces, space, listed);
            spaces.map(space, mapping)
        }
        Event::Unmap(range) => stream.spaces_mut().unmap(space, pages(*range)),
        Event::Protect(range, protection) => {
            stream
                .spaces_mut()
                .protect(space, pages(*range), *protection)
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
        // The replay has already handled the pages that the event makes resident.
        Event::Populate { .. } => Vec::new(),
        // `exec` may fail. If it succeeds, the trace ends or restarts the space with a separate
        // event.
        Event::Exec { .. }
        | Event::ThreadStart(_)
        | Event::ThreadSwitch(_)
        | Event::ThreadEnd(_)
        | Event::CoreSwitch(_)
        | Event::Site(..)
        | Event::Allocation(_)
        | Event::Window(_) => Vec::new(),
        // The replay has already handled the translations of the recorded system, and its kernel's
        // events.
        Event::System(_) | Event::Kernel(_) => Vec::new(),
    })
}
