//! An import: another tool's trace, rewritten as one of ours.

use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use broadleaf_import::{
    ImportBatch, ImportError, ImportOptions, ImportSource, TraceImporter, importable,
};
use broadleaf_report::number::{grouped, size};
use broadleaf_trace::{Encoder, Grain, Header, WriteError, head_bytes};

use crate::failure::Failure;
use crate::output::{Access, Output, argument, refuse_input, shown, sweep};
use crate::provenance::made_by;
use crate::watch::{Watch, Work};

/// The bytes that a trace's head reserves for the notes with the counts of records that are left
/// out or taken otherwise.
const ROOM: usize = 1024;

/// A trace to import.
#[derive(Debug)]
pub struct ImportRequest<'a> {
    /// The name of the format.
    pub format: &'a str,
    /// The file or folder to read; `-` for standard input.
    pub input: &'a Path,
    /// The file to write; `None` for the name of the input with the ending `.bl`.
    pub output: Option<&'a Path>,
    /// The unit of a visit.
    pub grain: Grain,
    /// Imports the pages that instructions are fetched from as well.
    pub instructions: bool,
    /// Keeps the physical addresses of the trace.
    pub physical: bool,
    /// Overwrites the output.
    pub force: bool,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// Imports a trace, and returns the path of the recording. Notes count the imported accesses, the
/// records that were left out, and the references that were taken otherwise.
///
/// # Errors
/// If no importer has the name, the output exists, or the trace cannot be read or is damaged.
pub fn import(options: &ImportRequest<'_>) -> Result<PathBuf, Failure> {
    let name = options.format;
    let found = importable().find(|(format, _)| format.described.name == name);
    let Some((_, entry)) = found else {
        return Err(Failure::Wrong(format!("{name}: is no format to import")));
    };
    if options.physical && !entry.has_physical {
        let all = importable().filter(|(_, entry)| entry.has_physical);
        let all: Vec<&str> = all.map(|(format, _)| format.described.name).collect();
        return Err(Failure::Wrong(format!(
            "{name} has no physical addresses: --physical is for {}",
            all.join(", ")
        )));
    }
    let path = output_path(options)?;
    refuse_input(&path, [options.input])?;
    sweep(options.input.parent().unwrap_or(Path::new(".")));
    let source = ImportSource::open(options.input, &shown(options.input)).map_err(cannot_read)?;
    let meter = source.meter();
    let grain = options.grain;
    let way = ImportOptions {
        grain,
        fetches: options.instructions,
        physical: options.physical,
    };
    // The first bytes are looked at before a name is claimed.
    let mut importer = (entry.open)(source, &way).map_err(cannot_read)?;
    let mut header = Header::new(grain);
    importer.describe(&mut header);
    header.recorder = imported_by(name);
    let out = Output::create(Some(&path), options.force, Access::Owner)?;
    if out.is_terminal() {
        return Err(Failure::wrong(
            "a trace is no text: give a file with -o, or a pipe",
        ));
    }
    if out.can_replace_start() {
        reserve_room(importer.as_ref(), &mut header);
    }
    let expected = meter.size().map_or(Work::Unknown, Work::Bytes);
    let bar = options.watch.begin("importing", expected);
    let name = out.name().to_owned();
    let mut out = encode(importer.as_mut(), out, &name, &header, &|accesses| {
        bar.set(meter.read(), accesses);
    })?;
    drop(bar);
    let written = out.written();
    let counted = counted_notes(importer.as_ref());
    if let Some(head) = head_with(&mut header, &counted, &name)? {
        let replaced = out.replace_start(&head);
        replaced.map_err(|error| Failure::writing(&name, &error))?;
    }
    out.finish()?;
    let counts = importer.counts();
    log::info!(
        "{name}: {} accesses and {} instructions from {} {}, a trace of {} ({:.3} bytes an access)",
        grouped(counts.accesses()),
        grouped(counts.instructions),
        grouped(counts.records),
        entry.records,
        size(written),
        written as f64 / counts.accesses().max(1) as f64,
    );
    for note in counted {
        log::info!("{name}: {note}");
    }
    log::info!("next: broadleaf compare {}", argument(&path));
    Ok(path)
}

/// The words in a recorder's name that show an import, before the name of the format.
const IMPORT_FROM: &str = "import from ";

/// The recorder's name of a trace that is imported from a format.
pub(super) fn imported_by(format: &str) -> String {
    made_by(&format!("{IMPORT_FROM}{format}"))
}

/// Returns true if a recording was imported from another format. Its notes then say how references
/// were read, which each answer repeats.
pub(crate) fn is_imported(header: &Header) -> bool {
    header.recorder.contains(IMPORT_FROM)
}

/// Returns true if a recording was imported from samples: each of its references is one of many.
pub(crate) fn holds_samples(header: &Header) -> bool {
    let mut sampled = importable().filter(|(_, entry)| entry.records == "samples");
    sampled.any(|(format, _)| {
        let name = format.described.name;
        header.recorder.contains(&format!("{IMPORT_FROM}{name}"))
    })
}

/// Reserves room for the [counted notes](counted_notes) of an import in the head of its trace.
pub(super) fn reserve_room(importer: &dyn TraceImporter, header: &mut Header) {
    if importer.may_leave_out() {
        header.room = ROOM;
    }
}

/// The notes with the numbers of records that have no place in the trace, and of references that
/// were taken otherwise than the input states them.
pub(super) fn counted_notes(importer: &dyn TraceImporter) -> Vec<String> {
    let left_out = importer.left_out();
    let each = left_out.iter();
    let each = each.map(|left| format!("{} {}", grouped(left.count), left.what));
    let each: Vec<String> = each.collect();
    let left_out = (!each.is_empty()).then(|| format!("left out: {}", each.join("; ")));
    let taken = importer.taken().into_iter();
    let taken = taken.map(|taken| format!("{}: {}", taken.how, grouped(taken.count)));
    left_out.into_iter().chain(taken).collect()
}

/// The bytes of the trace's head with these notes, which replace the head that was written before
/// the numbers were known. `None` if there are no notes, or the head has no room for them.
pub(super) fn head_with(
    header: &mut Header,
    notes: &[String],
    name: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    let mut has_new = false;
    for note in notes {
        let has_room = header.note_in_room(note.clone());
        if !has_room {
            log::warn!("{name}: its head has no room for this note: {note}");
        }
        has_new |= has_room;
    }
    let head = has_new.then(|| head_bytes(header)).transpose();
    head.map_err(|error| cannot_write(name, error))
}

/// The number of batches that wait for the encoder at most.
const WAITING: usize = 4;

/// Writes all that the importer reads. A thread of its own encodes, which takes as long as reading.
/// `name` is the name of `out` in messages.
pub(super) fn encode<W: Write + Send>(
    importer: &mut dyn TraceImporter,
    out: W,
    name: &str,
    header: &Header,
    progress: &dyn Fn(u64),
) -> Result<W, Failure> {
    let cannot_write = |error| cannot_write(name, error);
    let encoder = Encoder::new(out, header).map_err(cannot_write)?;
    let (send, batches) = sync_channel(WAITING);
    let (used, take_used) = channel();
    thread::scope(|scope| {
        let writing = scope.spawn(move || encode_batches(encoder, &batches, &used));
        let read = read_batches(importer, &send, &take_used, progress);
        // The encoder ends after the last batch.
        drop(send);
        let written = writing.join().unwrap_or_else(|panic| resume_unwind(panic));
        let encoder = written.map_err(cannot_write)?;
        read.map_err(cannot_read)?;
        encoder.finish().map_err(cannot_write)
    })
}

/// Encodes batches until there are no more. Returns each as soon as it is encoded.
fn encode_batches<W: Write>(
    mut encoder: Encoder<W>,
    batches: &Receiver<ImportBatch>,
    used: &Sender<ImportBatch>,
) -> Result<Encoder<W>, WriteError> {
    for mut batch in batches {
        for item in batch.items() {
            encoder.item(&item)?;
        }
        batch.clear();
        // A failure means only that the reader has ended.
        let _ = used.send(batch);
    }
    Ok(encoder)
}

/// Sends all that the importer reads, until the encoder fails.
fn read_batches(
    importer: &mut dyn TraceImporter,
    send: &SyncSender<ImportBatch>,
    used: &Receiver<ImportBatch>,
    progress: &dyn Fn(u64),
) -> Result<(), ImportError> {
    loop {
        let mut batch = used.try_recv().unwrap_or_default();
        if !importer.read(&mut batch)? || send.send(batch).is_err() {
            return Ok(());
        }
        progress(importer.counts().accesses());
    }
}

fn cannot_write(name: &str, error: WriteError) -> Failure {
    match error {
        WriteError::Io(error) => Failure::writing(name, &error),
        error => Failure::Failed(format!("{name}: {error}")),
    }
}

pub(super) fn cannot_read(error: ImportError) -> Failure {
    match error {
        ImportError::Io { name, error } => Failure::reading(&name, &error),
        error => Failure::Wrong(error.to_string()),
    }
}

/// The path of `--output`, or INPUT with the ending `.bl`.
fn output_path(options: &ImportRequest<'_>) -> Result<PathBuf, Failure> {
    match (options.output, options.input.as_os_str() == "-") {
        (Some(path), _) => Ok(path.to_owned()),
        (None, true) => Err(Failure::wrong(
            "a trace from standard input needs a name: give it with -o",
        )),
        (None, false) => {
            let named = options.input.with_extension("bl");
            if named == options.input {
                return Err(Failure::Wrong(format!(
                    "{}: would be written over by its import: give another name with -o",
                    Path::display(&named)
                )));
            }
            Ok(named)
        }
    }
}
