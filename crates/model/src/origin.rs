//! The origin of references: address space, thread, core, instruction and line.

use broadleaf_memory::GEOMETRY;
use broadleaf_trace::{Event, Visit};
use broadleaf_units::{CoreId, LineNumber, SpaceId, ThreadId, VirtAddr};
use std::collections::BTreeMap;

/// The low bits of a line's number that lie inside a base page.
const LINE_BITS: u32 = (GEOMETRY.base().shift() - LineNumber::SHIFT) as u32;

/// The origin of a step's references, as far as the trace knows it.
///
/// All references of a visit have one origin: a trace ends a visit at each event, at each fetch and
/// at the end of its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepOrigin {
    /// The address space. A replay after earlier traces numbers the spaces of all traces anew.
    pub space: SpaceId,
    /// The thread. `None` before the first [`Event::ThreadSwitch`] of the space.
    pub thread: Option<ThreadId>,
    /// The core of the recorded machine. `None` before the first [`Event::CoreSwitch`] of the
    /// thread.
    pub core: Option<CoreId>,
    /// The instruction pointer, rounded down to the trace's unit: the page or the line of the
    /// instruction. `None` if the source returns no instruction fetches.
    pub ip: Option<VirtAddr>,
    /// The line. `None` if the units of the trace are pages.
    pub line: Option<LineNumber>,
}

/// The origin of the next references, kept up to date by events and fetches.
#[derive(Debug, Default)]
pub(crate) struct OriginTracker {
    now: StepOrigin,
    /// The thread that runs in each space, if it is known.
    threads: BTreeMap<SpaceId, ThreadId>,
    /// The last known core of each thread.
    cores: BTreeMap<(SpaceId, Option<ThreadId>), CoreId>,
}

impl OriginTracker {
    /// The origin of the next references, without a line.
    pub(crate) const fn now(&self) -> StepOrigin {
        self.now
    }

    /// Another space runs.
    pub(crate) fn switch(&mut self, space: SpaceId) {
        if space != self.now.space {
            self.now.space = space;
            self.resume();
        }
    }

    /// Follows an event.
    pub(crate) fn event(&mut self, event: &Event) {
        let space = self.now.space;
        match event {
            Event::SpaceSwitch(to) => self.switch(*to),
            Event::SpaceStart { .. } => {
                self.threads.remove(&space);
                self.cores.retain(|(of, _), _| *of != space);
                self.resume();
            }
            Event::ThreadSwitch(thread) => {
                self.threads.insert(space, *thread);
                self.resume();
            }
            Event::ThreadEnd(thread) => {
                self.cores.remove(&(space, Some(*thread)));
                if self.now.thread == Some(*thread) {
                    self.threads.remove(&space);
                    self.resume();
                }
            }
            Event::CoreSwitch(core) => {
                self.cores.insert((space, self.now.thread), *core);
                self.now.core = Some(*core);
            }
            _ => {}
        }
    }

    /// Instructions were fetched. `shift` is how many low bits of a unit lie inside a page.
    pub(crate) const fn fetch(&mut self, fetch: &Visit, shift: u32) {
        self.now.ip = Some(address(fetch.unit, shift));
    }

    /// Another thread runs, whose instructions are not known yet.
    fn resume(&mut self) {
        let space = self.now.space;
        let thread = self.threads.get(&space).copied();
        self.now = StepOrigin {
            space,
            thread,
            core: self.cores.get(&(space, thread)).copied(),
            ip: None,
            line: None,
        };
    }
}

/// The origin of the visits from one on, up to the next mark or fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OriginMark {
    /// The number of the first visit.
    pub(crate) from: usize,
    pub(crate) origin: StepOrigin,
}

/// Finds the origin of each visit, in order.
pub(crate) struct OriginCursor<'m> {
    marks: std::iter::Peekable<std::slice::Iter<'m, OriginMark>>,
    now: StepOrigin,
    shift: u32,
}

impl<'m> OriginCursor<'m> {
    /// A cursor before the first visit. `shift` is how many low bits of a unit lie inside a page.
    pub(crate) fn new(marks: &'m [OriginMark], shift: u32) -> Self {
        Self {
            marks: marks.iter().peekable(),
            now: StepOrigin::default(),
            shift,
        }
    }

    /// The origin of the next visit, which has this number.
    #[inline]
    pub(crate) fn next(&mut self, number: usize, visit: &Visit) -> StepOrigin {
        while let Some(mark) = self.marks.next_if(|mark| mark.from <= number) {
            self.now = mark.origin;
        }
        if visit.fetch {
            self.now.ip = Some(address(visit.unit, self.shift));
        }
        StepOrigin {
            line: (self.shift == LINE_BITS).then_some(LineNumber(visit.unit)),
            ..self.now
        }
    }
}

/// The address of a unit's first byte.
const fn address(unit: u64, shift: u32) -> VirtAddr {
    VirtAddr(unit << (GEOMETRY.base().shift() as u32 - shift))
}
