//! An export: a trace of ours, rewritten in another tool's format.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use broadleaf_import::{
    Compression, Compressor, ExportCounts, ExportEntry, ExportError, LeftOut, exportable,
};
use broadleaf_report::number::{grouped, short, size};
use broadleaf_trace::{Header, VisitEnds};

use crate::failure::Failure;
use crate::output::{Access, Output, argument, refuse_input};
use crate::source::origin::PassCount;
use crate::source::{ReadError, Trace, TraceReading, Whole};
use crate::watch::{Task, Watch};
use crate::windows::warn_of_windows;

/// The size in bytes from which on an export is foretold.
const FORETOLD: u64 = 1 << 30;

/// A trace to export.
#[derive(Debug)]
pub struct ExportRequest<'a> {
    /// The name of the format.
    pub format: &'a str,
    /// The trace; `-` for standard input.
    pub trace: &'a Path,
    /// The file to write; `None` for the name of the trace with the format's ending.
    pub output: Option<&'a Path>,
    /// The maximum number of accesses; `None` derives a limit from the trace's size.
    pub max_accesses: Option<u64>,
    /// Overwrites the output.
    pub force: bool,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// Exports a trace, and returns the path of the output. Notes count the exported references and the
/// parts that were left out.
///
/// # Errors
/// If no exporter has the name, the output exists, the trace is damaged, or the format has no form
/// for it.
pub fn export(options: &ExportRequest<'_>) -> Result<PathBuf, Failure> {
    let name = options.format;
    let found = exportable().find(|(format, _)| format.described.name == name);
    let Some((_, entry)) = found else {
        return Err(Failure::Wrong(format!("{name}: is no format to export")));
    };
    let path = output_path(options, entry)?;
    refuse_input(&path, [options.trace])?;
    let reading = TraceReading {
        ends: VisitEnds::Units,
        passes: PassCount::One,
        keep_going: false,
        fetches: true,
        max_accesses: options.max_accesses,
    };
    let mut trace = Trace::open(options.trace, reading, Whole::Work)?;
    warn_of_windows(&trace);
    let out = Output::create(Some(&path), options.force, Access::Owner)?;
    if out.is_terminal() && !entry.is_text {
        return Err(Failure::Wrong(format!(
            "a trace for {name} is no text: give a file with -o, or a pipe"
        )));
    }
    let out_name = out.name().to_owned();
    let cannot_write = |error: io::Error| Failure::writing(&out_name, &error);
    let compression = Compression::of_name(&path);
    let mut to = Compressor::new(out, compression).map_err(cannot_write)?;
    foretell_size(&trace, entry, compression, &out_name);
    let bar = options.watch.begin("exporting", trace.work());
    let (counts, left_out) = write(&mut trace, entry, &mut to, &out_name, bar.as_ref())?;
    drop(bar);
    trace.finish().map_err(cannot_export)?;
    let out = to.finish().map_err(cannot_write)?;
    let written = out.written();
    out.finish()?;
    log::info!(
        "{out_name}: {} references in {} {}, {}",
        grouped(counts.references),
        grouped(counts.records),
        entry.records,
        size(written),
    );
    for note in entry.notes {
        log::info!("{out_name}: {note}");
    }
    for left in left_out {
        log::info!("{out_name}: {} {}", grouped(left.count), left.what);
    }
    // Standard output has no name to import from.
    let written = match path.as_os_str() == "-" {
        true => "FILE".to_owned(),
        false => argument(&path),
    };
    log::info!("next, to read it back: broadleaf import {name} {written}");
    Ok(path)
}

/// Prints the size of a large export before it is written, if the trace's totals are known.
fn foretell_size(trace: &Trace, entry: &ExportEntry, compression: Compression, out_name: &str) {
    let Some(totals) = trace.totals() else {
        return;
    };
    let bytes = (entry.estimate)(&header_of(trace), &totals);
    if bytes < FORETOLD {
        return;
    }
    let before = match compression {
        Compression::Plain => "",
        _ => " before compression",
    };
    log::info!(
        "{out_name}: {} accesses: about {}{before}",
        short(totals.accesses()),
        size(bytes),
    );
}

/// The header of the trace. A text has no header: its lines count instructions.
fn header_of(trace: &Trace) -> Header {
    trace.header().cloned().unwrap_or_else(|| {
        let mut header = Header::new(trace.grain());
        header.options.instruction_counts = true;
        header
    })
}

/// Writes all pieces of the trace.
fn write(
    trace: &mut Trace,
    entry: &ExportEntry,
    to: &mut dyn Write,
    out_name: &str,
    bar: &dyn Task,
) -> Result<(ExportCounts, Vec<LeftOut>), Failure> {
    let name = trace.name().to_owned();
    let meter = trace.meter();
    let mut exporter = (entry.create)(to, &header_of(trace));
    let cannot = |error: ExportError| match error {
        ExportError::Io(error) => Failure::writing(out_name, &error),
        ExportError::NoForm(reason) => Failure::Wrong(format!("{name}: {reason}")),
    };
    while let Some(item) = trace.next_item().map_err(cannot_export)? {
        exporter.item(&item).map_err(cannot)?;
        bar.set(meter.bytes(), exporter.counts().references);
    }
    exporter.finish().map_err(cannot)?;
    Ok((exporter.counts(), exporter.left_out()))
}

/// A part of a trace is not exported: it would be taken for the whole.
fn cannot_export(error: ReadError) -> Failure {
    match error {
        ReadError::Damaged { name, damage } => Failure::Wrong(format!(
            "{name}: {damage}; only a whole trace can be exported"
        )),
        error => error.into(),
    }
}

/// The path of `--output`, or TRACE with the format's ending.
fn output_path(options: &ExportRequest<'_>, entry: &ExportEntry) -> Result<PathBuf, Failure> {
    match options.output {
        Some(path) => Ok(path.to_owned()),
        None if options.trace.as_os_str() == "-" => Err(Failure::wrong(
            "standard input has no name: name the output with -o",
        )),
        None => Ok(options.trace.with_extension(entry.ending)),
    }
}
