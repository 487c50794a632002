//! Events as the format writes them.

use broadleaf_units::{FileId, ThreadId, VirtAddr};

use crate::error::{Bad, Section, WriteError};
use crate::event::{Advice, Backing, Event, KernelTouch, Mapping, Protection, Range, TouchOrigin};
use crate::section::Stream;
use crate::varint::{self, Cursor};

const MAP: u8 = 1;
const UNMAP: u8 = 2;
const PROTECT: u8 = 3;
const REMAP: u8 = 4;
const ADVISE: u8 = 5;
const BRK: u8 = 6;
const STACK: u8 = 7;
const FILE: u8 = 8;
const MISPLACED: u8 = 9;
const SPACE_START: u8 = 10;
const FORK: u8 = 11;
const EXEC: u8 = 12;
pub(crate) const SPACE_END: u8 = 13;
const THREAD_START: u8 = 14;
const THREAD_SWITCH: u8 = 15;
const THREAD_END: u8 = 16;
pub(crate) const POPULATE: u8 = 17;

/// Puts together the events of a chunk. What is said of heads holds for codes in a chunk of phrases.
#[derive(Clone, Debug, Default)]
pub struct EventEncoder {
    bytes: Vec<u8>,
    payload: Vec<u8>,
    /// Heads before the last event.
    heads: u64,
}

impl EventEncoder {
    /// No event yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event that stands behind the first `heads` heads of the chunk. What was only counted before it has to
    /// be told by one of these: a head with the path *none*.
    ///
    /// # Errors
    /// For a switch of address spaces, which is no event of the format, and for a range past the last address.
    pub fn push(&mut self, heads: u64, event: &Event) -> Result<(), WriteError> {
        self.payload.clear();
        let kind = put(&mut self.payload, event).ok_or(WriteError::SpaceSwitch)?;
        parse(kind, &self.payload).map_err(WriteError::Event)?;
        varint::put(&mut self.bytes, heads.saturating_sub(self.heads));
        self.bytes.push(kind);
        varint::put(&mut self.bytes, self.payload.len() as u64);
        self.bytes.extend_from_slice(&self.payload);
        self.heads = heads;
        Ok(())
    }

    /// The section as it stands in a chunk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins another chunk.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.heads = 0;
    }
}

fn put_range(out: &mut Vec<u8>, range: &Range) {
    varint::put(out, range.start.0);
    varint::put(out, range.len);
}

const fn protection_bits(protection: Protection) -> u64 {
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

/// Appends the event's payload and answers its kind; `None` where the format has no such event.
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
        _ => {}
    }
    put_life(out, event)
}

/// Events of processes and threads.
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
        _ => return None,
    })
}

/// Before which head, or code, of a chunk its next event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextEvent(usize);

impl NextEvent {
    /// There is none.
    pub(crate) const NONE: Self = Self(usize::MAX);

    /// The first event of a section, for a chunk of so many heads.
    pub(crate) fn first(events: &mut Stream, heads: usize) -> Result<Self, Bad> {
        let mut first = Self(0);
        first.find(events, heads)?;
        Ok(first)
    }

    /// Whether it stands before this head.
    pub(crate) const fn is_at(self, head: usize) -> bool {
        self.0 == head
    }

    /// How many heads stand before it; more than there are where there is none.
    pub(crate) const fn position(self) -> usize {
        self.0
    }

    /// The event that comes next, without moving on. `None` where its kind is of a later version.
    pub(crate) fn read(events: &mut Stream) -> Result<Option<Event>, Bad> {
        let bad = |reason| Bad::new(Section::Events, reason);
        let start = events.at;
        let kind = events.byte().ok_or(bad("an event has no kind"))?;
        let length = events.number().map_err(bad)?;
        let payload = events
            .take(length)
            .ok_or(bad("an event is longer than its section"))?;
        let event = parse(kind, payload).map_err(bad)?;
        events.at = start;
        Ok(event)
    }

    /// Moves behind the event that comes next.
    pub(crate) fn pass(&mut self, events: &mut Stream, heads: usize) -> Result<(), Bad> {
        let _kind = events.byte();
        if let Ok(length) = events.number() {
            events.take(length);
        }
        self.find(events, heads)
    }

    fn find(&mut self, events: &mut Stream, heads: usize) -> Result<(), Bad> {
        if events.is_empty() {
            *self = Self::NONE;
            return Ok(());
        }
        let skip = events.number();
        let skip = skip.map_err(|reason| Bad::new(Section::Events, reason))?;
        let at = usize::try_from(skip).ok();
        let at = at.and_then(|skip| self.0.checked_add(skip));
        let at = at.filter(|&at| at <= heads);
        self.0 = at.ok_or(Bad::new(
            Section::Events,
            "an event stands behind the last head or code",
        ))?;
        Ok(())
    }
}

/// An event's kind and payload, or `None` where a later version added the kind. What follows the fields that are known
/// is of a later version too.
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
        _ => return Ok(None),
    }))
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
        _ => return Err("the reason for populating memory is of no known kind"),
    })
}

fn protection(from: &mut Cursor<'_>) -> Result<Protection, &'static str> {
    match from.number()? {
        bits @ 0..8 => Ok(Protection {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file's size bounds the work that its events ask for.
    #[test]
    fn an_event_populates_64_mib_at_most() {
        let populate = |len| Event::Populate {
            range: Range {
                start: VirtAddr(1 << 40),
                len,
            },
            touch: KernelTouch::AsMapped,
            origin: TouchOrigin::Request,
        };
        let mut encoder = EventEncoder::new();
        assert!(encoder.push(0, &populate(Event::MOST_POPULATED)).is_ok());
        let more = encoder.push(0, &populate(Event::MOST_POPULATED + 4096));
        assert!(matches!(more, Err(WriteError::Event(_))), "{more:?}");
    }

    #[test]
    fn an_unknown_access_of_the_kernel_is_refused() {
        assert!(parse(POPULATE, &[0, 0, 3, 1]).is_ok());
        assert!(parse(POPULATE, &[0, 0, 4, 0]).is_err());
        assert!(parse(POPULATE, &[0, 0, 0, 2]).is_err());
        assert!(parse(POPULATE, &[0, 0, 0]).is_err());
    }
}
