//! Writing a trace from visits and events, for importers, generators and tests.

mod last;
mod shapes;
mod streams;

use std::collections::BTreeMap;
use std::io::Write;

use broadleaf_units::SpaceId;

use crate::Item;
use crate::chunk::Totals;
use crate::decode::MOST_REACH;
use crate::error::WriteError;
use crate::event::Event;
use crate::event_bytes::PermittedEvents;
use crate::header::{Header, Options};
use crate::visit::{Lead, Visit};
use crate::write::TraceWriter;
use last::split_last;
use shapes::{Shape, Shapes, pieces, powers};
use streams::{ExecutionTarget, StreamBuilder};

/// A visit that waits for the next visit, which may lead with the rest of its last access.
#[derive(Clone, Copy, Debug)]
struct HeldVisit {
    visit: Visit,
    /// The number of further units that the only access reaches; 0 for several accesses.
    reach: u64,
    /// The kind of that access.
    lead: Lead,
}

/// An encoder of visits and events. A [`TraceReader`](crate::TraceReader) of the trace returns the
/// same references in the same order. Visits may be merged, and instructions without an access move
/// to the next reference.
pub struct Encoder<W> {
    writer: TraceWriter<W>,
    options: Options,
    permitted: PermittedEvents,
    most_unit: u64,
    spaces: BTreeMap<u32, Shapes>,
    process: u32,
    shapes: Shapes,
    streams: StreamBuilder,
    held: Option<HeldVisit>,
    /// Instructions without a following reference.
    carried: u64,
    clock: u64,
}

impl<W: Write> Encoder<W> {
    /// Begins a trace, in address space 0. The header's options decide which visits are valid.
    ///
    /// # Errors
    /// Returns an error if `to` fails, or if the header is too long.
    pub fn new(to: W, header: &Header) -> Result<Self, WriteError> {
        Ok(Self {
            writer: TraceWriter::new(to, header)?,
            options: header.options,
            permitted: PermittedEvents::of(header),
            most_unit: u64::MAX >> header.grain.shift(),
            spaces: BTreeMap::new(),
            process: 0,
            shapes: Shapes::default(),
            streams: StreamBuilder::new(),
            held: None,
            carried: 0,
            clock: 0,
        })
    }

    /// Sets the Zstandard level of the following chunks. The default is 1.
    ///
    /// # Errors
    /// Returns an error if there is no such level.
    pub fn set_level(&mut self, level: i32) -> Result<(), WriteError> {
        self.writer.set_level(level)
    }

    /// Sets the time since the recording began, in nanoseconds. The following chunks carry this
    /// time.
    pub const fn set_clock(&mut self, nanoseconds: u64) {
        self.clock = nanoseconds;
    }

    /// The number of bytes written.
    pub const fn offset(&self) -> u64 {
        self.writer.offset()
    }

    /// The totals of the written chunks, without the data in memory.
    pub fn totals(&self) -> Totals {
        self.writer.totals()
    }

    /// Appends an item of a trace.
    ///
    /// # Errors
    /// As [`Encoder::visits`] and [`Encoder::event`].
    pub fn item(&mut self, item: &Item<'_>) -> Result<(), WriteError> {
        match item {
            Item::Visits(visits) => self.visits(visits),
            Item::Event(event) => self.event(event),
        }
    }

    /// Appends visits.
    ///
    /// # Errors
    /// Returns an error if a visit is invalid, if the header rules a visit out, or if writing
    /// fails. Examples of invalid visits: a lead that is not the rest of the access before; more
    /// loads before the first store than loads; a unit past the last address.
    pub fn visits(&mut self, visits: &[Visit]) -> Result<(), WriteError> {
        for visit in visits {
            self.visit(visit)?;
        }
        Ok(())
    }

    #[inline]
    fn visit(&mut self, visit: &Visit) -> Result<(), WriteError> {
        let visit = self.checked(visit)?;
        if visit.lead != Lead::None {
            self.lead(&visit)?;
            if visit.accesses() == 0 && visit.instructions == 0 {
                return Ok(());
            }
        }
        self.release()?;
        if visit.fetch {
            self.fetch(&visit)
        } else if visit.accesses() == 0 {
            self.carried += u64::from(visit.instructions);
            Ok(())
        } else {
            self.held = Some(HeldVisit {
                visit,
                reach: 0,
                lead: Lead::None,
            });
            Ok(())
        }
    }

    /// Validates a visit, and normalises the loads before the first store.
    #[inline]
    fn checked(&self, visit: &Visit) -> Result<Visit, WriteError> {
        let mut visit = *visit;
        if visit.stores == 0 {
            visit.loads_before_store = visit.loads;
        }
        let wrong = if visit.loads_before_store > visit.loads {
            "it has more loads before its first store than loads"
        } else if visit.unit > self.most_unit {
            "the unit lies past the last address"
        } else if visit.fetch && (visit.accesses() != 0 || visit.lead != Lead::None) {
            "a fetch loads and stores nothing"
        } else if visit.fetch && !self.options.instruction_pages {
            "a fetch in a trace without instruction pages"
        } else if visit.instructions > 0 && !visit.fetch && self.options.instruction_pages {
            "instructions that are not fetched in a trace with instruction pages"
        } else if visit.instructions > 0
            && !(self.options.instruction_counts || self.options.instruction_pages)
        {
            "instructions in a trace without instruction counts"
        } else {
            return Ok(visit);
        };
        Err(WriteError::Visit {
            unit: visit.unit,
            reason: wrong,
        })
    }

    /// Extends the held visit's last access into this unit.
    fn lead(&mut self, visit: &Visit) -> Result<(), WriteError> {
        let wrong = |reason| {
            Err(WriteError::Visit {
                unit: visit.unit,
                reason,
            })
        };
        let Some(held) = self.held else {
            return wrong("it leads, and there is no access before it");
        };
        let end = held.visit.unit + held.reach;
        if visit.unit != end + 1 {
            return wrong("it leads, and the access before it is not in the unit before");
        }
        if held.reach >= MOST_REACH {
            return wrong("the access that it leads with reaches too far");
        }
        if held.reach > 0 {
            if held.lead != visit.lead {
                return wrong(
                    "it leads with a load and the visit before with a store, or the reverse",
                );
            }
            self.held = Some(HeldVisit {
                reach: held.reach + 1,
                ..held
            });
            return Ok(());
        }
        let Some((rest, last)) = split_last(&held.visit, visit.lead) else {
            return wrong("it leads with what is not the last access of the visit before");
        };
        if rest.accesses() > 0 {
            self.accesses(&rest, 0)?;
        }
        self.held = Some(HeldVisit {
            visit: last,
            reach: 1,
            lead: visit.lead,
        });
        Ok(())
    }

    /// Writes the held visit.
    #[inline]
    fn release(&mut self) -> Result<(), WriteError> {
        match self.held.take() {
            Some(held) => self.accesses(&held.visit, held.reach),
            None => Ok(()),
        }
    }

    #[inline]
    fn accesses(&mut self, visit: &Visit, reach: u64) -> Result<(), WriteError> {
        let mut shape = Shape {
            loads: visit.loads,
            stores: visit.stores,
            loads_before_store: visit.loads_before_store,
            instructions: visit.instructions,
        };
        if self.carried > 0 {
            match u32::try_from(self.carried + u64::from(shape.instructions)) {
                Ok(sum) => {
                    shape.instructions = sum;
                    self.carried = 0;
                }
                Err(_) => self.put_down()?,
            }
        }
        let unit = visit.unit;
        match self.shapes.pattern(&shape) {
            Some(pattern) => self.execute(pattern, &shape, Some(ExecutionTarget { unit, reach })),
            None => {
                for piece in pieces(&shape) {
                    let pattern = self.shapes.piece(&piece)?;
                    let target = piece
                        .is_reference()
                        .then_some(ExecutionTarget { unit, reach });
                    self.execute(pattern, &piece, target);
                }
            }
        }
        if self.streams.is_enough() {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn fetch(&mut self, visit: &Visit) -> Result<(), WriteError> {
        let count = visit.instructions;
        if count == 0 {
            return Ok(());
        }
        let fetched = |instructions| Shape {
            instructions,
            ..Shape::default()
        };
        match self.shapes.fetch(visit.unit, count) {
            Some(pattern) => self.execute(pattern, &fetched(count), None),
            None => {
                for power in powers(count) {
                    let pattern = self.shapes.fetch_piece(visit.unit, power)?;
                    self.execute(pattern, &fetched(power), None);
                }
            }
        }
        if self.streams.is_enough() {
            self.end_chunk()?;
        }
        Ok(())
    }

    #[inline]
    fn execute(&mut self, pattern: u32, shape: &Shape, target: Option<ExecutionTarget>) {
        self.streams.make_room(self.shapes.patterns());
        self.streams
            .count(shape.loads, shape.stores, shape.instructions);
        self.streams.execute(pattern, target);
    }

    /// Writes the instructions without a following reference.
    fn put_down(&mut self) -> Result<(), WriteError> {
        while self.carried > 0 {
            let instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(instructions);
            for power in powers(instructions) {
                let piece = Shape {
                    instructions: power,
                    ..Shape::default()
                };
                let pattern = self.shapes.piece(&piece)?;
                self.execute(pattern, &piece, None);
            }
        }
        Ok(())
    }

    /// Appends an event. A switch of address spaces ends the chunk; the following items belong to
    /// the new space.
    ///
    /// # Errors
    /// Returns an error if the event names a range past the last address, if the header announces
    /// no such events (of windows, of a whole system), or if writing fails.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.permitted.check(event).map_err(WriteError::Event)?;
        self.release()?;
        match event {
            Event::SpaceSwitch(SpaceId(process)) => self.switch(*process),
            Event::SpaceEnd { .. } => {
                self.put_down()?;
                self.streams.event(event)?;
                // The encoder keeps no data of the space. If the space continues, it begins anew.
                self.end_chunk()?;
                self.shapes = Shapes::default();
                Ok(())
            }
            _ => self.streams.event(event),
        }
    }

    fn switch(&mut self, process: u32) -> Result<(), WriteError> {
        if process == self.process {
            return Ok(());
        }
        self.put_down()?;
        self.end_chunk()?;
        let next = self.spaces.remove(&process).unwrap_or_default();
        let shapes = std::mem::replace(&mut self.shapes, next);
        if shapes.patterns() > 0 {
            self.spaces.insert(self.process, shapes);
        }
        self.process = process;
        Ok(())
    }

    /// Writes the data in memory, except for the held visit.
    fn end_chunk(&mut self) -> Result<(), WriteError> {
        let (first, blocks) = self.shapes.take_new();
        self.writer.definitions(self.process, first, &blocks)?;
        if self.streams.is_empty() {
            return Ok(());
        }
        let (writer, process) = (&mut self.writer, self.process);
        self.streams
            .finish(self.clock, |chunk| writer.stream_chunk(process, chunk))
    }

    /// Writes all appended items in whole chunks, without ending the trace.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.end_chunk()?;
        self.writer.flush()
    }

    /// Ends the trace and returns the output.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.release()?;
        self.put_down()?;
        self.end_chunk()?;
        self.writer.finish()
    }
}
