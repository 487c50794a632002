//! Generated traces. A generator makes the items during a replay, and makes them again for each
//! further pass.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use broadleaf_model::{Source, SourcePart, SourcePiece};
use broadleaf_trace::{Backing, Event, Grain, Mapping, Range, Visit};
use broadleaf_units::{FileId, Rights, SpaceId, VirtAddr};

/// The next item of a generated trace.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Visit(Visit),
    Event(Event),
}

/// The items of a generated trace, in order.
pub(crate) type Saying = Box<dyn Iterator<Item = Said> + Send>;

/// A trace that a generator makes while it is read.
#[derive(Clone)]
pub(crate) struct GeneratedTrace {
    say: Arc<dyn Fn() -> Saying + Send + Sync>,
    handed_out: bool,
}

impl GeneratedTrace {
    /// A trace with these items in each pass.
    pub(crate) fn new(say: impl Fn() -> Saying + Send + Sync + 'static) -> Self {
        Self {
            say: Arc::new(say),
            handed_out: false,
        }
    }

    /// The number of accesses.
    pub(crate) fn accesses(&self) -> u64 {
        accesses((self.say)())
    }
}

/// The number of accesses of these items.
pub(crate) fn accesses(saying: impl Iterator<Item = Said>) -> u64 {
    saying
        .map(|said| match said {
            Said::Visit(visit) => u64::from(visit.loads) + u64::from(visit.stores),
            Said::Event(_) => 0,
        })
        .sum()
}

impl Source for GeneratedTrace {
    type Error = Infallible;
    type Part = GeneratedPart;

    fn grain(&self) -> Grain {
        Grain::Page
    }

    fn rewind(&mut self) -> Result<(), Infallible> {
        self.handed_out = false;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<GeneratedPart>, Infallible> {
        let first = !std::mem::replace(&mut self.handed_out, true);
        Ok(first.then(|| GeneratedPart {
            saying: (self.say)(),
            visits: Vec::new(),
            event: None,
            waits: false,
        }))
    }

    fn close(&mut self, _: GeneratedPart) -> Result<ControlFlow<()>, Infallible> {
        Ok(ControlFlow::Continue(()))
    }
}

/// The only part of a generated trace.
pub(crate) struct GeneratedPart {
    saying: Saying,
    visits: Vec<Visit>,
    event: Option<Event>,
    /// True if the event has not been returned yet.
    waits: bool,
}

/// The maximum number of visits returned at a time.
const AT_A_TIME: usize = 4096;

impl SourcePart for GeneratedPart {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Infallible> {
        if !std::mem::take(&mut self.waits) {
            self.visits.clear();
            self.event = None;
            while self.visits.len() < AT_A_TIME && self.event.is_none() {
                match self.saying.next() {
                    Some(Said::Visit(visit)) => self.visits.push(visit),
                    Some(Said::Event(event)) => self.event = Some(event),
                    None => break,
                }
            }
            if !self.visits.is_empty() {
                self.waits = self.event.is_some();
                return Ok(Some(SourcePiece::Visits(&self.visits)));
            }
        }
        Ok(self.event.as_ref().map(SourcePiece::Event))
    }
}

/// Loads and then stores to the 4 KiB page of an address.
pub(crate) fn touch(address: u64, loads: u32, stores: u32) -> Said {
    Said::Visit(Visit {
        unit: address >> 12,
        loads,
        stores,
        loads_before_store: loads,
        ..Visit::default()
    })
}

/// Loads and then stores to each 4 KiB page of a range, in order.
pub(crate) fn sweep(
    start: u64,
    bytes: u64,
    loads: u32,
    stores: u32,
) -> impl Iterator<Item = Said> + Send {
    (start >> 12..(start + bytes).div_ceil(1 << 12))
        .map(move |unit| touch(unit << 12, loads, stores))
}

/// Starts another address space and runs it.
pub(crate) fn begin(space: u32, name: &str) -> impl Iterator<Item = Said> + Send + use<> {
    let start = Event::SpaceStart {
        pid: 1000 + space,
        parent: 1,
        command: vec![name.to_owned()],
    };
    [run(space), Said::Event(start)].into_iter()
}

/// Switches to another address space.
pub(crate) fn run(space: u32) -> Said {
    Said::Event(Event::SpaceSwitch(SpaceId(space)))
}

/// Ends the running address space.
pub(crate) fn end() -> Said {
    Said::Event(Event::SpaceEnd { status: Some(0) })
}

/// Maps memory that begins as zeroes.
pub(crate) fn map(start: u64, bytes: u64) -> Said {
    mapping(start, bytes, Backing::Anonymous, false)
}

/// Maps a file from its first byte on, shared with other mappings.
pub(crate) fn map_file(start: u64, bytes: u64, file: u32) -> Said {
    let file = FileId(file);
    mapping(start, bytes, Backing::File { file, offset: 0 }, true)
}

fn mapping(start: u64, bytes: u64, backing: Backing, shared: bool) -> Said {
    Said::Event(Event::Map(Mapping {
        range: range(start, bytes),
        protection: Rights::READ_WRITE,
        shared,
        backing,
    }))
}

/// Unmaps a range.
pub(crate) fn unmap(start: u64, bytes: u64) -> Said {
    Said::Event(Event::Unmap(range(start, bytes)))
}

/// Announces a file of this size.
pub(crate) fn file(number: u32, bytes: u64) -> Said {
    Said::Event(Event::File {
        id: FileId(number),
        size: bytes,
        path: format!("/generated/{number}"),
    })
}

fn range(start: u64, bytes: u64) -> Range {
    Range {
        start: VirtAddr(start),
        len: bytes,
    }
}
