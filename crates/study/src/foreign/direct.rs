//! Foreign traces that are read directly: each is rewritten as a recording in an unnamed temporary
//! file, once for a process. Commands then read the recording.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use broadleaf_import::{ForeignFormat, ImportEntry, ImportOptions, ImportSource, importable};
use broadleaf_report::number::{grouped, size};
use broadleaf_trace::{Grain, Header};

use super::import::{cannot_read, counted_notes, encode, head_with, imported_by, reserve_room};
use crate::failure::Failure;
use crate::output::{argument, shown};
use crate::source::reduced::{hash, hash_from_start};

/// A foreign trace that a command is to read.
pub(crate) struct DirectTrace {
    format: &'static ForeignFormat,
    entry: &'static ImportEntry,
    input: PathBuf,
}

/// The recordings that were written so far, by format, input, and whether they hold the fetches of
/// instructions.
static WRITTEN: Mutex<BTreeMap<RecordingKey, File>> = Mutex::new(BTreeMap::new());

type RecordingKey = (&'static str, PathBuf, bool);

/// The size in bytes from which on a trace is announced before it is read. Of a shorter one, a
/// fault is one line.
const LONG: u64 = 64 << 20;

/// The number of first bytes that identify a trace.
const START: u64 = 4096;

impl DirectTrace {
    /// The foreign trace that `path` names: as `FORMAT:PATH`, by the ending of a file's name, or as
    /// a folder. `None` if the path names no foreign trace. `is_ours` says from the first bytes
    /// whether commands read a file as it is.
    pub(crate) fn named(path: &Path, is_ours: fn(&Path, &[u8]) -> bool) -> Option<Self> {
        if let Ok(metadata) = path.metadata() {
            if metadata.is_dir() {
                return Self::of(path, |_, entry| entry.reads_folders);
            }
            let mut start = Vec::new();
            if metadata.is_file() {
                let file = File::open(path).ok()?;
                file.take(START).read_to_end(&mut start).ok()?;
            }
            if is_ours(path, &start) {
                return None;
            }
            let name = path.file_name()?.to_str()?.to_ascii_lowercase();
            return Self::of(path, |format, _| format.has_ending(&name));
        }
        let (name, input) = Self::split(path.to_str()?)?;
        Self::of(Path::new(input), |format, _| format.described.name == name)
    }

    fn of(input: &Path, is_it: impl Fn(&ForeignFormat, &ImportEntry) -> bool) -> Option<Self> {
        let (format, entry) = importable().find(|(format, entry)| is_it(format, entry))?;
        Some(Self {
            format,
            entry,
            input: input.to_owned(),
        })
    }

    /// The name of a format before the path of a trace (`FORMAT:PATH`), and the path.
    pub(crate) fn split(written: &str) -> Option<(&str, &str)> {
        let (name, path) = written.split_once(':')?;
        importable()
            .any(|(format, _)| format.described.name == name)
            .then_some((name, path))
    }

    /// Returns the hash of the file's bytes, or of the recording that stands for a folder.
    pub(crate) fn content_hash(&self) -> Result<String, Failure> {
        let hashed = match self.input.is_dir() {
            true => hash_from_start(&self.recording(false)?.1),
            false => File::open(&self.input).and_then(hash),
        };
        hashed.map_err(|error| Failure::reading(&shown(&self.input), &error))
    }

    fn key(&self, fetches: bool) -> RecordingKey {
        (self.format.described.name, self.input.clone(), fetches)
    }

    /// Opens a recording that was written before, if there is one.
    pub(crate) fn written(&self) -> Option<File> {
        let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = [false, true].into_iter();
        opened(known.find_map(|fetches| written.get(&self.key(fetches)))?).ok()
    }

    /// The trace as a recording, and its name in messages. With `fetches`, the recording holds the
    /// fetches of instructions, and lines instead of pages.
    ///
    /// # Errors
    /// The trace cannot be read or is damaged, or there is no room for the recording.
    pub(crate) fn recording(&self, fetches: bool) -> Result<(String, File), Failure> {
        let name = shown(&self.input);
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match written.entry(self.key(fetches)) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => place.insert(self.write(&name, fetches)?),
        };
        let again = opened(file).map_err(|error| Failure::reading(&name, &error))?;
        Ok((name, again))
    }

    fn write(&self, name: &str, fetches: bool) -> Result<File, Failure> {
        let format = self.format.described.name;
        let input = argument(&self.input);
        let with = if fetches {
            " --grain line --instructions"
        } else {
            ""
        };
        let announce = || {
            log::info!(
                "{name}: a trace of {format}, read through a temporary recording. To keep the \
                 recording: broadleaf import {format} {input}{with}"
            );
        };
        let options = ImportOptions {
            grain: match fetches {
                true => Grain::Line,
                false => Grain::Page,
            },
            fetches,
            physical: false,
        };
        let source = ImportSource::open(&self.input, name).map_err(cannot_read)?;
        let bytes_known = source.meter().size();
        let mut importer = (self.entry.open)(source, &options).map_err(cannot_read)?;
        let is_long = bytes_known.is_none_or(|size| size >= LONG);
        if is_long {
            announce();
        }
        let mut header = Header::new(options.grain);
        importer.describe(&mut header);
        header.recorder = imported_by(format);
        reserve_room(importer.as_ref(), &mut header);
        let temporary = "the temporary recording";
        let no_room = |error| Failure::writing(temporary, &error);
        let file = BufWriter::new(tempfile::tempfile().map_err(no_room)?);
        let file = encode(importer.as_mut(), file, temporary, &header, &|_| ())?;
        let file = file
            .into_inner()
            .map_err(|error| no_room(error.into_error()))?;
        if !is_long {
            announce();
        }
        let counted = counted_notes(importer.as_ref());
        if let Some(head) = head_with(&mut header, &counted, temporary)? {
            file.write_all_at(&head, 0).map_err(no_room)?;
        }
        for note in counted {
            log::info!("{name}: {note}");
        }
        let bytes = file.metadata().map_err(no_room)?.len();
        let (counts, records) = (importer.counts(), self.entry.records);
        log::info!(
            "{name}: {} accesses and {} instructions from {} {records}, {}",
            grouped(counts.accesses()),
            grouped(counts.instructions),
            grouped(counts.records),
            size(bytes),
        );
        Ok(file)
    }
}

/// Opens a file again: each reader needs a position of its own.
fn opened(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
