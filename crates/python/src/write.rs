//! Traces from Arrow tables.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use arrow_schema::ArrowError;
use broadleaf_report::number::grouped;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{Access, Output, shown};
use broadleaf_study::provenance::made_by;
use broadleaf_study::watch::{Watch, Work};
use broadleaf_trace::{Encoder, Event, Grain, Header, Lead, Visit};
use pyo3::prelude::*;

use crate::events::{KERNEL_EVENT, event_of, is_of_system, rows};
use crate::read::columns::NamedColumn;
use crate::read::{LEADS, header_of};
use crate::record::GRAINS;
use crate::run::Run;
use crate::words::value_of;

/// Writes a trace. `broadleaf.write_trace` documents the arguments. Returns the numbers of visits,
/// events and accesses, and the size in bytes.
#[pyfunction]
#[pyo3(signature = (
    path, visits, events, *, like, grain, instruction_counts, instruction_pages, children, command,
    notes, force, progress
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn write_trace(
    py: Python<'_>,
    path: PathBuf,
    visits: Bound<'_, PyAny>,
    events: Option<Bound<'_, PyAny>>,
    like: Option<PathBuf>,
    grain: String,
    instruction_counts: bool,
    instruction_pages: bool,
    children: bool,
    command: Vec<String>,
    notes: Vec<String>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, u64, u64, u64)> {
    let mut header = Header::new(value_of::<Grain>(py, "grain", &grain, &GRAINS)?);
    header.options.instruction_counts = instruction_counts;
    header.options.instruction_pages = instruction_pages;
    header.options.events = events.is_some();
    header.options.children = children;
    header.command = command;
    header.notes = notes;
    header.recorder = made_by("Python");
    let visits = RecordBatchStreamReader::from_pyarrow_bound(&visits)?;
    let events = events.map(|events| RecordBatchStreamReader::from_pyarrow_bound(&events));
    let events = events.transpose()?;
    Run::new(progress).work(py, |run| {
        let events = match &like {
            Some(like) => {
                header = header_of(like)?;
                EventQueue::new(events)
            }
            None => {
                let events = EventQueue::held(events, run)?;
                header.options.system = events.holds_system || events.holds_kernel_events;
                header.options.kernel_events = events.holds_kernel_events;
                events
            }
        };
        let out = Output::create(Some(&path), force, Access::Owner)?;
        let name = shown(&path);
        let mut encoder = Encoder::new(out, &header)
            .map_err(|error| Failure::failed(format!("{name}: cannot write: {error}")))?;
        let mut written = Writing {
            name: &name,
            encoder: &mut encoder,
            events,
            windows: header.windows.is_some(),
            system: header.options.system,
            visits: 0,
            written: 0,
            accesses: 0,
        };
        let task = run.begin("writing", Work::Unknown);
        for batch in visits {
            let batch = batch.map_err(|error| failed(&name, "visits", &error))?;
            written.add(&batch)?;
            task.set(written.encoder.offset(), written.accesses);
            if run.is_stopped() {
                return Err(Failure::failed("stopped"));
            }
        }
        written.events_before(u64::MAX)?;
        let counts = (written.visits, written.written, written.accesses);
        drop(task);
        let out = encoder
            .finish()
            .map_err(|error| Failure::failed(format!("{name}: cannot write: {error}")))?;
        let bytes = out.written();
        out.finish()?;
        Ok((counts.0, counts.1, counts.2, bytes))
    })
}

/// An error of a table's owner, while it is read.
fn failed(name: &str, table: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("{name}: the table of {table}: {error}"))
}

/// A trace that is being written.
struct Writing<'a> {
    name: &'a str,
    encoder: &'a mut Encoder<Output>,
    events: EventQueue,
    /// The head announces windows.
    windows: bool,
    /// The head announces a whole system.
    system: bool,
    /// The visits that were written.
    visits: u64,
    /// The events that were written.
    written: u64,
    accesses: u64,
}

impl Writing<'_> {
    /// Adds the visits of a batch, and the events between them.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let wrong = |error: String| Failure::wrong(format!("the table of visits: {error}"));
        let visits = visits_of(batch).map_err(wrong)?;
        let mut rest = &visits[..];
        while !rest.is_empty() {
            let next = self.next_event()?.unwrap_or(u64::MAX);
            let before = next.saturating_sub(self.visits).min(rest.len() as u64) as usize;
            for (place, visit) in rest[..before].iter().enumerate() {
                let added = self.encoder.visits(std::slice::from_ref(visit));
                let row = self.visits + place as u64;
                added.map_err(|error| {
                    Failure::wrong(format!("{}: visit {}: {error}", self.name, grouped(row)))
                })?;
                self.accesses += visit.accesses();
            }
            self.visits += before as u64;
            rest = &rest[before..];
            if !rest.is_empty() {
                self.events_before(self.visits)?;
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Option<u64>, Failure> {
        self.events
            .place()
            .map_err(|error| self.wrong_events(&error))
    }

    /// Writes the events that come before the visit of this number.
    fn events_before(&mut self, visit: u64) -> Result<(), Failure> {
        while let Some(place) = self.next_event()?.filter(|place| *place <= visit) {
            if place < self.visits {
                return Err(self.wrong_events(&format!(
                    "event {} comes after {} visits, and one before it after more: sort the table \
                     by the column \"visit\"",
                    grouped(self.written),
                    grouped(place)
                )));
            }
            let event = self
                .events
                .take()
                .map_err(|error| self.wrong_events(&error))?;
            let unannounced = match &event {
                Event::Window(_) if !self.windows => Some("of windows"),
                Event::System(_) if !self.system => Some("of a whole system"),
                _ => None,
            };
            if let Some(kind) = unannounced {
                return Err(self.wrong_events(&format!(
                    "event {} is {kind}: give a trace {kind} as \"like\", so that the header says \
                     so",
                    grouped(self.written)
                )));
            }
            let added = self.encoder.event(&event);
            added.map_err(|error| {
                let row = grouped(self.written);
                Failure::wrong(format!("{}: event {row}: {error}", self.name))
            })?;
            self.written += 1;
        }
        Ok(())
    }

    fn wrong_events(&self, error: &str) -> Failure {
        Failure::wrong(format!("the table of events: {error}"))
    }
}

/// Batches of rows, as they come.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// Events in order, from a stream of batches.
struct EventQueue {
    batches: Batches,
    events: std::vec::IntoIter<(u64, Event)>,
    /// Some event is one of a whole system, if the batches were held.
    holds_system: bool,
    /// Some event is one that a kernel emitted, if the batches were held.
    holds_kernel_events: bool,
}

impl EventQueue {
    fn new(batches: Option<RecordBatchStreamReader>) -> Self {
        Self {
            batches: Box::new(batches.into_iter().flatten()),
            events: Vec::new().into_iter(),
            holds_system: false,
            holds_kernel_events: false,
        }
    }

    /// Reads all batches at once, because the header depends on them and comes first.
    fn held(batches: Option<RecordBatchStreamReader>, run: &Run) -> Result<Self, Failure> {
        let wrong = |error: String| Failure::wrong(format!("the table of events: {error}"));
        let mut held = Vec::new();
        let (mut holds_system, mut holds_kernel_events) = (false, false);
        for batch in batches.into_iter().flatten() {
            let batch = batch.map_err(|error| wrong(error.to_string()))?;
            if !(holds_system && holds_kernel_events) {
                let kinds = column(&batch, "event").and_then(|kinds| kinds.values::<String>());
                let kinds = kinds.map_err(wrong)?;
                holds_system |= kinds.iter().flatten().any(|kind| is_of_system(kind));
                holds_kernel_events |= kinds.iter().flatten().any(|kind| kind == KERNEL_EVENT);
            }
            held.push(Ok(batch));
            if run.is_stopped() {
                return Err(Failure::failed("stopped"));
            }
        }
        Ok(Self {
            batches: Box::new(held.into_iter()),
            events: Vec::new().into_iter(),
            holds_system,
            holds_kernel_events,
        })
    }

    /// The number of visits before the next event.
    fn place(&mut self) -> Result<Option<u64>, String> {
        loop {
            if let Some((place, _)) = self.events.as_slice().first() {
                return Ok(Some(*place));
            }
            let Some(batch) = self.batches.next() else {
                return Ok(None);
            };
            let batch = batch.map_err(|error| error.to_string())?;
            let place = column(&batch, "visit")?.all::<u64>()?;
            let events: Result<Vec<Event>, String> = rows(&batch)?.iter().map(event_of).collect();
            let events: Vec<(u64, Event)> = place.into_iter().zip(events?).collect();
            self.events = events.into_iter();
        }
    }

    fn take(&mut self) -> Result<Event, String> {
        let event = self.events.next().map(|(_, event)| event);
        event.ok_or_else(|| "no event is left".to_owned())
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &'a str) -> Result<NamedColumn<'a>, String> {
    let found = batch
        .column_by_name(name)
        .map(|column| NamedColumn::new(name, column));
    found.ok_or_else(|| {
        let schema = batch.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        format!(
            "no column is called {name:?} (there are {})",
            names.join(", ")
        )
    })
}

/// The visits of a batch. `unit` must be there; other columns have defaults.
fn visits_of(batch: &RecordBatch) -> Result<Vec<Visit>, String> {
    let units = column(batch, "unit")?.all::<u64>()?;
    let rows = units.len();
    let counts = |name: &str| -> Result<Option<Vec<u32>>, String> {
        match batch.column_by_name(name) {
            Some(found) => NamedColumn::new(name, found).all::<u32>().map(Some),
            None => Ok(None),
        }
    };
    let (loads, stores) = (counts("loads")?, counts("stores")?);
    if loads.is_none() && stores.is_none() {
        return Err("no column is called \"loads\" or \"stores\"".to_owned());
    }
    let none = || vec![0; rows];
    let (loads, stores) = (loads.unwrap_or_else(none), stores.unwrap_or_else(none));
    // Loads come first, unless a column says otherwise.
    let before = counts("loads_before_store")?.unwrap_or_else(|| loads.clone());
    let instructions = counts("instructions")?.unwrap_or_else(none);
    let leads = match batch.column_by_name("lead") {
        Some(found) => NamedColumn::new("lead", found).all::<u8>()?,
        None => vec![0; rows],
    };
    let fetches = match batch.column_by_name("fetch") {
        Some(found) => NamedColumn::new("fetch", found).all::<bool>()?,
        None => vec![false; rows],
    };
    let lead = |number: u8| -> Result<Lead, String> {
        let found = LEADS.iter().find(|(known, _)| *known == number);
        found.map(|(_, lead)| *lead).ok_or_else(|| {
            format!("the column \"lead\" holds {number}: write 0 (none), 1 (load) or 2 (store)")
        })
    };
    (0..rows)
        .map(|row| {
            Ok(Visit {
                unit: units[row],
                loads: loads[row],
                stores: stores[row],
                loads_before_store: before[row],
                instructions: instructions[row],
                lead: lead(leads[row])?,
                fetch: fetches[row],
                execution: 0,
            })
        })
        .collect()
}
