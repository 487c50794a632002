//! `reduce`: writes the reduced form of a trace, which `compare` reads in place of the trace.

mod hash_tree;
mod join;
mod number;
mod part;
mod part_file;

use std::cell::Cell;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use broadleaf_machine::Machine;
use broadleaf_model::{Error, ReplayProgress, Source, SourcePiece};
use broadleaf_tlb::Tlb;
use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{KeptVisit, ReducedHeader, ReducedWriter};
use broadleaf_units::PageNumber;

use crate::compare::{available_threads, failure, going_on, not_canonical, refuse_empty};
use crate::failure::Failure;
use crate::machines::machines;
use crate::output::{Access, Output, argument, refuse_input, shown};
use crate::source::origin::PassCount;
use crate::source::reduced::family;
use crate::source::sections::InSections;
use crate::source::{ReadError, Trace, TraceReading, Whole, locate};
use crate::watch::Watch;
use crate::windows::refuse_windows;

pub(crate) use hash_tree::{HashedRange, SubtreeValues};
pub use join::join;
pub use number::PartNumber;

pub use crate::source::reduced::path_beside;
pub(crate) use part_file::PART_MAGIC;

/// A trace to reduce.
#[derive(Debug)]
pub struct ReduceRequest<'a> {
    /// The trace, a file.
    pub trace: &'a Path,
    /// The file to write. `None` is the place beside the trace where `compare` looks.
    pub output: Option<&'a Path>,
    /// Overwrite the file if it exists.
    pub force: bool,
    /// The part of the trace to reduce. `None` is the whole trace.
    pub part: Option<PartNumber>,
    /// The machines whose counts are wanted later, by name or file.
    pub machines: &'a [String],
    /// The number of threads. `None` takes as many as the process may use.
    pub threads: Option<NonZero<usize>>,
    /// The maximum number of accesses to read. `None` derives a limit from the file's size.
    pub max_accesses: Option<u64>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// A reduced form that was written.
#[derive(Clone, Debug)]
pub struct ReducedTrace {
    /// The name of the file that was written.
    pub output: String,
    /// The size of that file, in bytes.
    pub bytes: u64,
    /// The number of visits that it holds.
    pub kept: u64,
    /// The number of accesses of the trace, or of its part.
    pub accesses: u64,
    /// A command that uses the file.
    pub next: String,
}

/// Writes the reduced form of a trace, which `compare` reads in place of the trace, or a part of
/// the form ([`ReduceRequest::part`]).
///
/// The bytes of the form depend on no number of threads.
///
/// # Errors
/// If the trace is no whole trace in a file, or the output cannot be written.
pub fn reduce(request: &ReduceRequest<'_>) -> Result<ReducedTrace, Failure> {
    let path = output_path(request)?;
    let machine_files = request.machines.iter().map(Path::new);
    refuse_input(&path, machine_files.chain([request.trace]))?;
    let machines = machines(request.machines)?;
    let reading = TraceReading {
        passes: PassCount::One,
        max_accesses: request.max_accesses,
        ..TraceReading::default()
    };
    let trace = Trace::open(request.trace, reading, Whole::Work)?;
    refuse_windows(
        &trace,
        "and a reduced form holds none: compare the trace itself",
    )?;
    let out = create(&path, request.force)?;
    let names = (trace.name().to_owned(), out.name().to_owned());
    let job = Reducing {
        machines: &machines,
        threads: request.threads.map_or_else(available_threads, NonZero::get),
        name: &names.0,
        out_name: &names.1,
        watch: request.watch,
    };
    match request.part {
        Some(part) => part::reduce_part(request, part, trace, &job, out),
        None => reduce_whole(request, trace, &job, out),
    }
}

/// Creates the file of a reduced form, or of a part of one.
fn create(path: &Path, force: bool) -> Result<Output, Failure> {
    let out = Output::create(Some(path), force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a reduced form is no text: give a file with -o, or a pipe",
        ));
    }
    Ok(out)
}

fn reduce_whole(
    request: &ReduceRequest<'_>,
    mut trace: Trace,
    job: &Reducing<'_>,
    out: Output,
) -> Result<ReducedTrace, Failure> {
    // The head holds the hash, so that a reader can check at once that this file was made from the
    // trace beside it.
    let hash = trace.hash_of_file().transpose();
    let hash = hash.map_err(|error| Failure::reading(job.name, &error))?;
    let hash = hash.unwrap_or_default();
    let header = ReducedHeader {
        trace: hash.clone(),
        family: family(job.machines).to_string(),
    };
    let cannot_write = |error| cannot_write(job.out_name, error);
    let mut writer = ReducedWriter::new(out, &header).map_err(cannot_write)?;
    let section_ends = trace.section_ends();
    let task = request.watch.begin("reducing", trace.work());
    let meter = trace.meter();
    let set = |accesses| task.set(meter.bytes(), accesses);
    let accesses = job.write(&mut trace, section_ends, &mut writer, &set)?;
    drop(task);
    trace.finish().map_err(cannot_reduce)?;
    refuse_empty(accesses, &trace, "reduce")?;
    if trace.hash() != Some(hash) {
        return Err(Failure::Failed(format!(
            "{}: changed while it was read",
            job.name
        )));
    }
    let (out, kept) = writer.finish().map_err(cannot_write)?;
    let bytes = out.written();
    out.finish()?;
    Ok(ReducedTrace {
        output: job.out_name.to_owned(),
        bytes,
        kept,
        accesses,
        next: match request.output {
            Some(output) if output.as_os_str() != "-" => {
                format!("broadleaf compare {}", argument(output))
            }
            _ => format!("broadleaf compare {}", argument(request.trace)),
        },
    })
}

/// A trace and the form of it to write.
struct Reducing<'a> {
    machines: &'a [Machine],
    threads: usize,
    /// The name of the trace.
    name: &'a str,
    /// The name of the output.
    out_name: &'a str,
    /// Asks the work to stop.
    watch: &'a dyn Watch,
}

impl Reducing<'_> {
    /// Writes the reduced form of a source whose sections end after these numbers of parts. Returns
    /// its accesses. `set` receives the accesses so far.
    fn write<S: Source<Error = ReadError>>(
        &self,
        source: &mut S,
        section_ends: Vec<usize>,
        writer: &mut ReducedWriter<Output>,
        set: &dyn Fn(u64),
    ) -> Result<u64, Failure> {
        let mut failed = None;
        let mut untranslatable = None;
        let mut accesses = 0;
        let section_ended = Cell::new(false);
        let mut each = |piece: SourcePiece<'_>| {
            let ended = match section_ended.replace(false) {
                true => writer.end_chunk(),
                false => Ok(()),
            };
            let written = ended.and_then(|()| match piece {
                SourcePiece::Reduced(visits, sums) => {
                    let cannot = |visit: &&KeptVisit| !Tlb::can_translate(PageNumber(visit.page));
                    untranslatable = visits.iter().find(cannot).map(|visit| visit.page);
                    accesses += sums.accesses();
                    writer.visits(visits, &sums)
                }
                SourcePiece::Event(event) => writer.event(event),
                SourcePiece::Visits(_) | SourcePiece::Phrased(_) => Ok(()),
            });
            if untranslatable.is_some() {
                return ControlFlow::Break(());
            }
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let mut progress = |state: ReplayProgress| {
            set(state.accesses);
            going_on(self.watch)
        };
        let (machines, threads) = (self.machines, self.threads);
        let mut source = InSections::new(source, section_ends, &section_ended);
        let reduced =
            broadleaf_accel::reduce(&mut source, machines, threads, &mut each, &mut progress);
        if let Some(error) = failed {
            return Err(cannot_write(self.out_name, error));
        }
        if let Some(page) = untranslatable {
            let place = locate::visit_of(self.name, page);
            return Err(not_canonical(self.name, page << 12, place));
        }
        match reduced {
            Ok(()) => Ok(accesses),
            Err(Error::Source(error)) => Err(cannot_reduce(error)),
            Err(error) => Err(failure(error, self.name)),
        }
    }
}

fn cannot_write(out_name: &str, error: WriteError) -> Failure {
    match error {
        WriteError::Io(error) => Failure::writing(out_name, &error),
        error => Failure::Failed(format!("{out_name}: {error}")),
    }
}

/// The refusal of a damaged trace. The counts of a part would be taken for those of the whole.
fn cannot_reduce(error: ReadError) -> Failure {
    match error {
        ReadError::Damaged { name, damage } => Failure::Wrong(format!(
            "{name}: {damage}; only a whole trace can be reduced"
        )),
        error => error.into(),
    }
}

fn output_path(request: &ReduceRequest<'_>) -> Result<PathBuf, Failure> {
    if request.part.is_some() && request.output.is_none() {
        return Err(Failure::wrong("give the file of the part with -o"));
    }
    if request.trace.as_os_str() == "-" {
        return Err(Failure::wrong(
            "a reduced form is written beside the trace's file: give the file, not standard input",
        ));
    }
    // A file that is missing is refused when it is opened.
    if (request.trace.metadata()).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Failure::Wrong(format!(
            "{}: is not a regular file: a reduced form is written beside the trace's file, and \
            the trace is read more than once",
            shown(request.trace)
        )));
    }
    let beside = || path_beside(request.trace);
    Ok(request.output.map_or_else(beside, Path::to_owned))
}
