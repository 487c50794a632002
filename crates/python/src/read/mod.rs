//! Traces as streams of Arrow batches.

pub(crate) mod columns;
mod joined;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    BooleanArray, RecordBatch, RecordBatchReader, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use broadleaf_study::failure::Failure;
use broadleaf_study::source::origin::PassCount;
use broadleaf_study::source::{Trace as OpenTrace, TraceReading, Whole};
use broadleaf_study::watch::Watch;
use broadleaf_trace::{Header, Item, Lead, Visit, VisitEnds};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{exception, invalid};
use crate::events::{self, EventRow, row_of};
use crate::record::GRAINS;
use crate::run::Run;
use crate::table::capsule;
use crate::words::word_of;
use joined::JoinedVisits;

/// The numbers of leads in tables.
pub(crate) const LEADS: [(u8, Lead); 3] = [(0, Lead::None), (1, Lead::Load), (2, Lead::Store)];

/// The options of reading a trace as tables.
#[derive(Clone, Debug)]
struct TraceFile {
    path: PathBuf,
    keep_going: bool,
    max_accesses: Option<u64>,
}

impl TraceFile {
    fn open(&self) -> Result<OpenTrace, Failure> {
        open(&self.path, self.keep_going, self.max_accesses)
    }
}

/// Opens a trace for one pass over all its items.
fn open(path: &Path, keep_going: bool, max_accesses: Option<u64>) -> Result<OpenTrace, Failure> {
    let reading = TraceReading {
        passes: PassCount::One,
        keep_going,
        fetches: true,
        ends: VisitEnds::Units,
        max_accesses,
    };
    OpenTrace::open(path, reading, Whole::Work)
}

/// The header of a recording.
///
/// # Errors
/// If the file is no recording.
pub(crate) fn header_of(path: &Path) -> Result<Header, Failure> {
    let trace = open(path, true, None)?;
    trace
        .header()
        .cloned()
        .ok_or_else(|| Failure::wrong(format!("{}: is a text, which has no header", trace.name())))
}

/// A trace file that is read as tables. Each table is a pass of its own over the file.
#[pyclass(frozen, module = "broadleaf")]
pub(crate) struct Trace {
    file: TraceFile,
    grain: &'static str,
    header: Option<Header>,
}

/// Opens a trace. `broadleaf.open_trace` documents the arguments.
#[pyfunction]
#[pyo3(signature = (path, *, keep_going, max_accesses))]
pub(crate) fn open_trace(
    py: Python<'_>,
    path: PathBuf,
    keep_going: bool,
    max_accesses: Option<u64>,
) -> PyResult<Trace> {
    if path.as_os_str() == "-" {
        return Err(invalid(
            py,
            "standard input can be read only once: give a file",
        ));
    }
    let file = TraceFile {
        path,
        keep_going,
        max_accesses,
    };
    let trace = file.open().map_err(|failure| exception(py, &failure))?;
    let grain = word_of(&trace.grain(), &GRAINS);
    let header = trace.header().cloned();
    Ok(Trace {
        file,
        grain,
        header,
    })
}

#[pymethods]
impl Trace {
    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.file.path.clone()
    }

    /// The unit of visits: `page` (4096 bytes) or `line` (64 bytes).
    #[getter]
    const fn grain(&self) -> &'static str {
        self.grain
    }

    /// The recorded command; empty if there is none.
    #[getter]
    fn command(&self) -> Vec<String> {
        self.header
            .as_ref()
            .map_or_else(Vec::new, |header| header.command.clone())
    }

    /// The notes of the recorder.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.header
            .as_ref()
            .map_or_else(Vec::new, |header| header.notes.clone())
    }

    /// The visits: one row for each run of references to one unit, in batches of `batch_size` rows.
    #[pyo3(signature = (batch_size=65536))]
    fn visits(&self, py: Python<'_>, batch_size: usize) -> PyResult<TraceStream> {
        self.stream(py, TraceTable::Visits, batch_size)
    }

    /// The events: one row for each change of an address space, with the visits before it. A batch
    /// has `batch_size` rows.
    #[pyo3(signature = (batch_size=65536))]
    fn events(&self, py: Python<'_>, batch_size: usize) -> PyResult<TraceStream> {
        self.stream(py, TraceTable::Events, batch_size)
    }

    /// The hash of the visits and the events, in order. Copies of a trace in other versions of the
    /// format, or with other chunks, have the same content. `progress` is a function that receives
    /// the progress.
    #[pyo3(signature = (progress=None))]
    fn content_hash(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<String> {
        Run::new(progress).work(py, |run| content_hash(&self.file, run))
    }

    fn __repr__(&self) -> String {
        format!(
            "<broadleaf.Trace {:?}, grain {}>",
            self.file.path, self.grain
        )
    }
}

impl Trace {
    fn stream(&self, py: Python<'_>, table: TraceTable, rows: usize) -> PyResult<TraceStream> {
        if rows == 0 {
            return Err(invalid(py, "batch_size=0: a batch has at least one row"));
        }
        let file = self.file.clone();
        Ok(TraceStream { file, table, rows })
    }
}

#[derive(Clone, Copy, Debug)]
enum TraceTable {
    Visits,
    Events,
}

/// A table of a trace that is read while it is used. Each use begins at the start of the trace.
#[pyclass(frozen, module = "broadleaf")]
pub(crate) struct TraceStream {
    file: TraceFile,
    table: TraceTable,
    rows: usize,
}

#[pymethods]
impl TraceStream {
    /// A stream of batches as a capsule of Arrow's C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let trace = py.detach(|| self.file.open());
        let trace = trace.map_err(|failure| exception(py, &failure))?;
        let schema = match self.table {
            TraceTable::Visits => visit_schema(),
            TraceTable::Events => events::schema(),
        };
        let reader = TraceBatches {
            trace,
            table: self.table,
            schema,
            rows: self.rows,
            joined: JoinedVisits::default(),
            visits: 0,
            is_over: false,
        };
        capsule(py, reader)
    }
}

/// The columns of a table of visits.
fn visit_schema() -> SchemaRef {
    let field = |name: &str, kind| Field::new(name, kind, false);
    Arc::new(Schema::new(vec![
        field("unit", DataType::UInt64),
        field("loads", DataType::UInt32),
        field("stores", DataType::UInt32),
        field("loads_before_store", DataType::UInt32),
        field("instructions", DataType::UInt32),
        field("lead", DataType::UInt8),
        field("fetch", DataType::Boolean),
    ]))
}

/// A reader of one table of a trace, batch by batch.
struct TraceBatches {
    trace: OpenTrace,
    table: TraceTable,
    schema: SchemaRef,
    rows: usize,
    joined: JoinedVisits,
    /// The visits of the table so far.
    visits: u64,
    is_over: bool,
}

impl TraceBatches {
    /// Returns the next batch, or `None` at the end of a whole trace.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let (mut visits, mut places, mut rows) = (Vec::new(), Vec::<u64>::new(), Vec::new());
        let is_events = matches!(self.table, TraceTable::Events);
        let is_full = |visits: &Vec<Visit>, rows: &Vec<EventRow>| match self.table {
            TraceTable::Visits => visits.len() >= self.rows,
            TraceTable::Events => rows.len() >= self.rows,
        };
        while !is_full(&visits, &rows) {
            match self.trace.next_item().map_err(external)? {
                None => {
                    self.is_over = true;
                    self.joined.end(&mut visits);
                    self.trace.finish().map_err(external)?;
                    break;
                }
                Some(Item::Visits(of)) => {
                    for visit in of {
                        self.joined.visit(visit, &mut visits);
                    }
                }
                Some(Item::Event(event)) => {
                    self.joined.event(event, &mut visits);
                    if is_events {
                        places.push(self.visits + visits.len() as u64);
                        rows.push(row_of(event));
                    }
                }
            }
            if is_events {
                self.visits += visits.len() as u64;
                visits.clear();
            }
        }
        match self.table {
            TraceTable::Visits if visits.is_empty() => Ok(None),
            TraceTable::Visits => visit_batch(&self.schema, &visits).map(Some),
            TraceTable::Events if rows.is_empty() => Ok(None),
            TraceTable::Events => events::batch(places, &rows).map(Some),
        }
    }
}

fn external(error: broadleaf_study::source::ReadError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

impl Iterator for TraceBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let batch = self.read();
        self.is_over |= batch.is_err();
        batch.transpose()
    }
}

impl RecordBatchReader for TraceBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn visit_batch(schema: &SchemaRef, visits: &[Visit]) -> Result<RecordBatch, ArrowError> {
    let count =
        |of: fn(&Visit) -> u32| Arc::new(UInt32Array::from_iter_values(visits.iter().map(of)));
    let units = visits.iter().map(|visit| visit.unit);
    let leads = visits.iter().map(|visit| lead_number(visit.lead));
    let fetches = visits.iter().map(|visit| Some(visit.fetch));
    RecordBatch::try_new(
        Arc::clone(schema),
        vec![
            Arc::new(UInt64Array::from_iter_values(units)),
            count(|visit| visit.loads),
            count(|visit| visit.stores),
            count(|visit| visit.loads_before_store),
            count(|visit| visit.instructions),
            Arc::new(UInt8Array::from_iter_values(leads)),
            Arc::new(fetches.collect::<BooleanArray>()),
        ],
    )
}

fn lead_number(lead: Lead) -> u8 {
    let found = LEADS.iter().find(|(_, known)| *known == lead);
    found.map_or(0, |(number, _)| *number)
}

/// Hashes the items of a trace.
fn content_hash(file: &TraceFile, run: &Run) -> Result<String, Failure> {
    let mut trace = file.open()?;
    let task = run.begin("hashing", trace.work());
    let meter = trace.meter();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[trace.grain().shift()]);
    let mut accesses = 0;
    let (mut joined, mut visits) = (JoinedVisits::default(), Vec::new());
    let hash_visits = |visits: &mut Vec<Visit>, hasher: &mut blake3::Hasher| {
        for visit in visits.drain(..) {
            hash_visit(&visit, hasher);
        }
    };
    while let Some(item) = trace.next_item()? {
        match item {
            Item::Visits(of) => {
                for visit in of {
                    joined.visit(visit, &mut visits);
                    accesses += visit.accesses();
                }
            }
            Item::Event(event) => {
                joined.event(event, &mut visits);
                hash_visits(&mut visits, &mut hasher);
                hasher.update(b"e");
                row_of(event).hash(&mut hasher);
            }
        }
        hash_visits(&mut visits, &mut hasher);
        task.set(meter.bytes(), accesses);
        if run.is_stopped() {
            return Err(Failure::failed("stopped"));
        }
    }
    joined.end(&mut visits);
    hash_visits(&mut visits, &mut hasher);
    drop(task);
    trace.finish()?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

fn hash_visit(visit: &Visit, hasher: &mut blake3::Hasher) {
    let mut bytes = [0; 27];
    bytes[0] = b'v';
    bytes[1..9].copy_from_slice(&visit.unit.to_le_bytes());
    let counts = [
        visit.loads,
        visit.stores,
        visit.loads_before_store,
        visit.instructions,
    ];
    for (place, count) in counts.into_iter().enumerate() {
        bytes[9 + 4 * place..13 + 4 * place].copy_from_slice(&count.to_le_bytes());
    }
    bytes[25] = lead_number(visit.lead);
    bytes[26] = u8::from(visit.fetch);
    hasher.update(&bytes);
}
