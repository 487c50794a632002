//! The encoding of events.

mod next;
mod parse;
mod put;
mod system;

use crate::error::WriteError;
use crate::event::Event;
use crate::header::Header;
use crate::varint;
pub(crate) use next::NextEvent;
pub(crate) use parse::parse;
pub(crate) use put::put;

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
const CORE_SWITCH: u8 = 18;
const SITE: u8 = 19;
const ALLOCATION: u8 = 20;
const WINDOW: u8 = 21;
const SYSTEM: u8 = 22;
const KERNEL: u8 = 23;

/// The kinds of events that a trace may hold. The head says so, because the version follows from it
/// and readers of earlier versions would skip these events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PermittedEvents {
    windows: bool,
    system: bool,
    kernel: bool,
}

impl PermittedEvents {
    /// The kinds that a header permits.
    pub(crate) const fn of(header: &Header) -> Self {
        Self {
            windows: header.windows.is_some(),
            system: header.options.system,
            kernel: header.options.kernel_events,
        }
    }

    /// Refuses an event that the head does not announce.
    pub(crate) const fn check(self, event: &Event) -> Result<(), &'static str> {
        match event {
            Event::Window(_) if !self.windows => {
                Err("it is of a window of the program, and the head announces no windows")
            }
            Event::System(_) if !self.system => {
                Err("it is of a whole system, and the head announces none")
            }
            Event::Kernel(_) if !self.kernel => {
                Err("an instrumented kernel emitted it, and the head announces no such events")
            }
            _ => Ok(()),
        }
    }
}

/// An encoder of a chunk's events. In a chunk of phrases, codes take the place of heads.
#[derive(Clone, Debug, Default)]
pub struct EventEncoder {
    bytes: Vec<u8>,
    payload: Vec<u8>,
    /// The number of heads before the last event.
    heads: u64,
}

impl EventEncoder {
    /// An encoder without an event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event that follows the first `heads` heads of the chunk. Before the event, the
    /// caller must end a counted run with a head of the path *none*.
    ///
    /// # Errors
    /// Returns an error for a switch of address spaces, which the format expresses otherwise, and
    /// for a range past the last address.
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

    /// The encoded section.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins another chunk.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.heads = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{KernelTouch, Range, TouchOrigin};
    use broadleaf_units::VirtAddr;

    /// The size of a file bounds the work of its events.
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
        assert!(parse(POPULATE, &[0, 0, 0, 3]).is_err());
        assert!(parse(POPULATE, &[0, 0, 0]).is_err());
    }
}
