//! `reduce`: the reduced form of a trace, which `compare` reads in its stead.

use std::fs::File;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;

use broadleaf_model::{Error, Piece};
use broadleaf_report::number::{grouped, size};
use broadleaf_tlb::Tlb;
use broadleaf_trace::WriteError;
use broadleaf_trace::reduced::{Kept, ReducedHeader, ReducedWriter};
use broadleaf_units::PageNumber;

use crate::args::Reduce;
use crate::progress::Progress;
use broadleaf_study::compare::{available_threads, failure, not_canonical, refuse_empty};
use broadleaf_study::failure::Failure;
use broadleaf_study::machines::machines;
use broadleaf_study::output::{Access, Output, refuse_input, shown};
use broadleaf_study::source::origin::Passes;
use broadleaf_study::source::reduced::{family, hash, path_beside};
use broadleaf_study::source::{ReadError, Reading, Trace, Whole, locate};

pub(crate) fn run(options: &Reduce) -> Result<(), Failure> {
    let path = output_path(options)?;
    let machine_files = options.machine.iter().map(PathBuf::from);
    let inputs: Vec<PathBuf> = machine_files.chain([options.trace.clone()]).collect();
    refuse_input(&path, inputs.iter().map(PathBuf::as_path))?;
    let machines = machines(&options.machine)?;
    let threads = options.threads.map_or_else(available_threads, NonZero::get);
    let reading = Reading {
        passes: Passes::One,
        max_accesses: options.bound.max_accesses,
        ..Reading::default()
    };
    let mut trace = Trace::open(&options.trace, reading, Whole::Work)?;
    let name = trace.name().to_owned();
    let out = Output::create(Some(&path), options.force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a reduced form is no text: give a file with -o, or a pipe",
        ));
    }
    // The head holds the hash, so that a reader can check at once that this file was made from the
    // trace beside it.
    let hash = File::open(&options.trace)
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
    let bar = Progress::new("reducing", trace.work());
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
                Piece::Reduced(visits, sums) => {
                    let cannot = |visit: &&Kept| !Tlb::can_translate(PageNumber(visit.page));
                    if let Some(visit) = visits.iter().find(cannot) {
                        untranslatable = Some(visit.page);
                        return ControlFlow::Break(());
                    }
                    accesses += sums.accesses();
                    writer.visits(visits, &sums)
                }
                Piece::Event(event) => writer.event(event),
                Piece::Visits(_) | Piece::Phrased(_) => Ok(()),
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
            bar.set(meter.bytes(), state.accesses);
            ControlFlow::Continue(())
        },
    );
    drop(bar);
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
    let written = out.written();
    out.finish()?;
    say!(
        "{out_name}: keeps {} visits of {} accesses, a file of {}",
        grouped(kept),
        grouped(accesses),
        size(written),
    );
    Ok(())
}

/// A part of a trace is not reduced: its answers would be taken for those of the whole.
fn cannot_reduce(error: ReadError) -> Failure {
    match error {
        ReadError::Damaged { name, damage } => Failure::Wrong(format!(
            "{name}: {damage}; only a whole trace can be reduced"
        )),
        error => error.into(),
    }
}

fn output_path(options: &Reduce) -> Result<PathBuf, Failure> {
    if options.trace.as_os_str() == "-" {
        return Err(Failure::wrong(
            "a reduced form is written beside the trace's file: give the file, not standard input",
        ));
    }
    // A file that is missing is told of where it is opened.
    if (options.trace.metadata()).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Failure::Wrong(format!(
            "{}: is not a regular file: a reduced form is written beside the trace's file, and the trace is read more than once",
            shown(&options.trace)
        )));
    }
    let beside = || path_beside(&options.trace);
    Ok(options.output.clone().unwrap_or_else(beside))
}
