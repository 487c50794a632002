//! Writing a trace from visits and events: what importers, generators and tests have.

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
use crate::header::{Header, Options};
use crate::visit::{Lead, Visit};
use crate::write::TraceWriter;
use shapes::{Shape, Shapes, pieces, powers};
use streams::{Streams, Target};

/// A visit that was not written yet, since what follows may lead with its last access.
#[derive(Clone, Copy, Debug)]
struct Held {
    visit: Visit,
    /// Into how many further units its access reaches, which is its only one then.
    reach: u64,
    /// What kind of access that is.
    lead: Lead,
}

/// Writes visits and events as a trace. What a [`TraceReader`](crate::TraceReader) makes of it is the same references in the
/// same order: visits may be merged, and instructions without an access stand with the next reference.
pub struct Encoder<W> {
    writer: TraceWriter<W>,
    options: Options,
    most_unit: u64,
    spaces: BTreeMap<u32, Shapes>,
    process: u32,
    shapes: Shapes,
    streams: Streams,
    held: Option<Held>,
    /// Instructions that no reference has followed yet.
    carried: u64,
    clock: u64,
}

impl<W: Write> Encoder<W> {
    /// Begins a trace, in address space 0. The header's options say what visits may hold.
    ///
    /// # Errors
    /// Where `to` fails, or the header is too long.
    pub fn new(to: W, header: &Header) -> Result<Self, WriteError> {
        Ok(Self {
            writer: TraceWriter::new(to, header)?,
            options: header.options,
            most_unit: u64::MAX >> header.grain.shift(),
            spaces: BTreeMap::new(),
            process: 0,
            shapes: Shapes::default(),
            streams: Streams::new(),
            held: None,
            carried: 0,
            clock: 0,
        })
    }

    /// The level of Zstandard for what follows; 1 where none was set.
    ///
    /// # Errors
    /// Where there is no such level.
    pub fn set_level(&mut self, level: i32) -> Result<(), WriteError> {
        self.writer.set_level(level)
    }

    /// Says how many nanoseconds have passed since the recording began. Chunks that end from here on say so.
    pub const fn set_clock(&mut self, nanoseconds: u64) {
        self.clock = nanoseconds;
    }

    /// How many bytes were written.
    pub const fn offset(&self) -> u64 {
        self.writer.offset()
    }

    /// What was written comes to; what is still in memory does not count.
    pub fn totals(&self) -> Totals {
        self.writer.totals()
    }

    /// Appends a piece of a trace.
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
    /// Where one says what it cannot mean (a lead that is not the rest of the access before, more loads before the first
    /// store than loads, a unit past the last address), or what the header rules out; or where writing fails.
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
            self.held = Some(Held {
                visit,
                reach: 0,
                lead: Lead::None,
            });
            Ok(())
        }
    }

    /// The visit, with nothing in it that means nothing.
    #[inline]
    fn checked(&self, visit: &Visit) -> Result<Visit, WriteError> {
        let mut visit = *visit;
        if visit.stores == 0 {
            visit.loads_before_store = visit.loads;
        }
        let wrong = if visit.loads_before_store > visit.loads {
            "more loads come before its first store than it has"
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

    /// The held visit's last access reaches into this unit too.
    fn lead(&mut self, visit: &Visit) -> Result<(), WriteError> {
        let wrong = |reason| {
            Err(WriteError::Visit {
                unit: visit.unit,
                reason,
            })
        };
        let Some(held) = self.held else {
            return wrong("it leads, and no access stands before it");
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
            self.held = Some(Held {
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
        self.held = Some(Held {
            visit: last,
            reach: 1,
            lead: visit.lead,
        });
        Ok(())
    }

    /// Writes the visit that was held.
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
            Some(pattern) => self.execute(pattern, &shape, Some(Target { unit, reach })),
            None => {
                for piece in pieces(&shape) {
                    let pattern = self.shapes.piece(&piece)?;
                    let target = piece.is_reference().then_some(Target { unit, reach });
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
    fn execute(&mut self, pattern: u32, shape: &Shape, target: Option<Target>) {
        self.streams.make_room(self.shapes.patterns());
        self.streams
            .count(shape.loads, shape.stores, shape.instructions);
        self.streams.execute(pattern, target);
    }

    /// Writes the instructions that no reference has followed.
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

    /// Appends an event. A switch of address spaces ends the chunk; what follows belongs to that space.
    ///
    /// # Errors
    /// Where the event names a range past the last address, or writing fails.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.release()?;
        match event {
            Event::SpaceSwitch(SpaceId(process)) => self.switch(*process),
            Event::SpaceEnd { .. } => {
                self.put_down()?;
                self.streams.event(event)?;
                // Nothing of the space is kept: should it go on, it begins anew.
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

    /// Writes what is in memory, but for the visit that is held.
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

    /// Writes everything that was appended, as whole chunks, without ending the trace.
    ///
    /// # Errors
    /// Where writing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.end_chunk()?;
        self.writer.flush()
    }

    /// Ends the trace, and gives back what it was written to.
    ///
    /// # Errors
    /// Where writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.release()?;
        self.put_down()?;
        self.end_chunk()?;
        self.writer.finish()
    }
}

/// A visit without its last access, and that access, which is of this kind. `None` where it cannot be.
fn split_last(visit: &Visit, lead: Lead) -> Option<(Visit, Visit)> {
    let mut rest = *visit;
    let mut last = Visit {
        unit: visit.unit,
        ..Visit::default()
    };
    if lead == Lead::Store {
        last.stores = 1;
        rest.stores = visit.stores.checked_sub(1)?;
        // The only store comes last, so no load is behind it.
        if rest.stores == 0 && visit.loads_before_store != visit.loads {
            return None;
        }
    } else {
        last.loads = 1;
        last.loads_before_store = 1;
        rest.loads = visit.loads.checked_sub(1)?;
        if visit.stores == 0 {
            rest.loads_before_store = rest.loads;
        } else if visit.loads_before_store > rest.loads {
            return None;
        }
    }
    if rest.accesses() == 0 {
        last.instructions = visit.instructions;
    }
    Some((rest, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(loads: u32, stores: u32, loads_before_store: u32) -> Visit {
        Visit {
            unit: 1,
            loads,
            stores,
            loads_before_store,
            instructions: 9,
            ..Visit::default()
        }
    }

    #[test]
    fn the_last_access_is_what_the_lead_says_or_nothing() {
        let split = |visit: Visit, lead| {
            split_last(&visit, lead).map(|(rest, last)| {
                assert_eq!(last.accesses(), 1);
                assert_eq!(
                    rest.instructions.min(9 * rest.accesses() as u32),
                    9 - last.instructions
                );
                (rest.loads, rest.stores, rest.loads_before_store)
            })
        };
        assert_eq!(split(visit(3, 0, 3), Lead::Load), Some((2, 0, 2)));
        assert_eq!(split(visit(1, 0, 1), Lead::Load), Some((0, 0, 0)));
        assert_eq!(split(visit(3, 0, 3), Lead::Store), None);
        assert_eq!(split(visit(3, 1, 3), Lead::Store), Some((3, 0, 3)));
        assert_eq!(split(visit(3, 1, 2), Lead::Store), None);
        assert_eq!(split(visit(3, 2, 2), Lead::Store), Some((3, 1, 2)));
        assert_eq!(split(visit(3, 1, 3), Lead::Load), None);
        assert_eq!(split(visit(3, 1, 2), Lead::Load), Some((2, 1, 2)));
        assert_eq!(split(visit(0, 1, 0), Lead::Load), None);
    }
}
