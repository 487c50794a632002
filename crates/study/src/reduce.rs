//! `reduce`: writes the reduced form of a trace, which `compare` reads in place of the trace.

use std::fs::File;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use broadleaf_model::{Error, SourcePiece};
use broadleaf_tlb::Tlb;
use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{KeptVisit, ReducedHeader, ReducedWriter};
use broadleaf_units::PageNumber;

use crate::compare::{available_threads, failure, not_canonical, refuse_empty};
use crate::failure::Failure;
use crate::machines::machines;
use crate::output::{Access, Output, refuse_input, shown};
use crate::source::origin::PassCount;
use crate::source::reduced::{family, hash, path_beside};
use crate::source::{ReadError, Trace, TraceReading, Whole, locate};
use crate::watch::Watch;
use crate::windows::refuse_windows;

/// A trace to reduce.
#[derive(Debug)]
pub struct ReduceRequest<'a> {
    /// The trace, a file.
    pub trace: &'a Path,
    /// The file to write. `None` is the place beside the trace where `compare` looks.
    pub output: Option<&'a Path>,
    /// Overwrite the file if it exists.
    pub force: bool,
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
    /// The number of accesses of the trace.
    pub accesses: u64,
}

/// Writes the reduced form of a trace, which `compare` reads in place of the trace.
///
/// # Errors
/// If the trace is no whole trace in a file, or the output cannot be written.
pub fn reduce(request: &ReduceRequest<'_>) -> Result<ReducedTrace, Failure> {
    let path = output_path(request)?;
    let machine_files = request.machines.iter().map(Path::new);
    refuse_input(&path, machine_files.chain([request.trace]))?;
    let machines = machines(request.machines)?;
    let threads = request.threads.map_or_else(available_threads, NonZero::get);
    let reading = TraceReading {
        passes: PassCount::One,
        max_accesses: request.max_accesses,
        ..TraceReading::default()
    };
    let mut trace = Trace::open(request.trace, reading, Whole::Work)?;
    refuse_windows(
        &trace,
        "and a reduced form holds none: compare the trace itself",
    )?;
    let name = trace.name().to_owned();
    let out = Output::create(Some(&path), request.force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a reduced form is no text: give a file with -o, or a pipe",
        ));
    }
    // The head holds the hash, so that a reader can check at once that this file was made from the
    // trace beside it.
    let hash = File::open(request.trace)
        .and_then(|mut file| hash(&mut file))
        .map_err(|error| Failure::reading(&name, &error))?;
    let out_name = out.name().to_owned();
    let cannot_write = |error: WriteError| match error {
        WriteError::Io(error) => Failure::writing(&out_name, &error),
        error => Failure::Failed(format!("{out_name}: {error}")),
    };
    let header = ReducedHeader {
        trace: hash.clone(),
        family: family(&machines).to_string(),
    };
    let mut writer = ReducedWriter::new(out, &header).map_err(cannot_write)?;
    let task = request.watch.begin("reducing", trace.work());
    let meter = trace.meter();
    let mut failed = None;
    let mut untranslatable = None;
    let mut accesses = 0;
    let reduced = broadleaf_accel::reduce(
        &mut trace,
        &machines,
        threads,
        &mut |piece| {
            let written = match piece {
                SourcePiece::Reduced(visits, sums) => {
                    let cannot = |visit: &&KeptVisit| !Tlb::can_translate(PageNumber(visit.page));
                    if let Some(visit) = visits.iter().find(cannot) {
                        untranslatable = Some(visit.page);
                        return ControlFlow::Break(());
                    }
                    accesses += sums.accesses();
                    writer.visits(visits, &sums)
                }
                SourcePiece::Event(event) => writer.event(event),
                SourcePiece::Visits(_) | SourcePiece::Phrased(_) => Ok(()),
            };
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        },
        &mut |state| {
            task.set(meter.bytes(), state.accesses);
            ControlFlow::Continue(())
        },
    );
    drop(task);
    if let Some(error) = failed {
        return Err(cannot_write(error));
    }
    if let Some(page) = untranslatable {
        let place = locate::visit_of(&name, page);
        return Err(not_canonical(&name, page << 12, place));
    }
    match reduced {
        Ok(()) => {}
        Err(Error::Source(error)) => return Err(cannot_reduce(error)),
        Err(error) => return Err(failure(error, &name)),
    }
    trace.finish().map_err(cannot_reduce)?;
    refuse_empty(accesses, &trace, "reduce")?;
    if trace.hash() != Some(hash) {
        return Err(Failure::Failed(format!(
            "{name}: changed while it was read"
        )));
    }
    let (out, kept) = writer.finish().map_err(cannot_write)?;
    let bytes = out.written();
    out.finish()?;
    Ok(ReducedTrace {
        output: out_name,
        bytes,
        kept,
        accesses,
    })
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
