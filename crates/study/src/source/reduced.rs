//! The reduced forms of traces, in files beside the traces.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use broadleaf_filter::Family;
use broadleaf_machine::Machine;
use broadleaf_trace::reduced::{ReducedHeader, ReducedReader};

use super::ReadError;
use super::origin::{Origin, PassCount};
use crate::failure::Failure;

/// The suffix of a reduced form's name, after the name of the trace.
const ENDING: &str = ".reduced";

/// The path of the reduced form of the trace at `path`.
pub fn path_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

/// The family of these machines.
pub fn family(machines: &[Machine]) -> Family {
    Family::of(machines.iter().map(|machine| &machine.design))
}

/// The hash of a file's bytes, in the notation of results.
///
/// # Errors
/// Returns an error if the file is unreadable.
pub fn hash(from: impl io::Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(from)?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// Opens the reduced form beside a trace, if one suits these machines. A warning names a form of
/// another trace, or an unreadable form, which is then ignored. `known_hash` is the trace's hash if
/// the trace was read before.
///
/// # Errors
/// If one of the two files cannot be read.
pub fn beside(
    path: &Path,
    trace: &Origin,
    machines: &[Machine],
    known_hash: Option<&str>,
) -> Result<Option<Origin>, Failure> {
    let beside = path_beside(path);
    let Some(file) = trace.file().filter(|_| beside.is_file()) else {
        return Ok(None);
    };
    // The error names the faulty file.
    let ignored = |wrong: &dyn std::fmt::Display| {
        let name = trace.name();
        log::warn!("{wrong}; {name} itself is read, which takes longer");
        Ok(None)
    };
    let reduced = match Origin::open(&beside, PassCount::Several, false) {
        Ok(reduced) => reduced,
        Err(failure) => return ignored(&failure),
    };
    let header = match header(&reduced) {
        Ok(header) => header,
        Err(error) => return ignored(&format_args!("{}: {error}", reduced.name())),
    };
    if !family(machines).is_within(&Family::parse(&header.family)) {
        return Ok(None);
    }
    let hash = match known_hash {
        Some(hash) => hash.to_owned(),
        None => hash_from_start(&file).map_err(|error| Failure::reading(trace.name(), &error))?,
    };
    if hash != header.trace {
        return ignored(&format_args!(
            "{}: was made of another trace, or of this one before it changed",
            reduced.name()
        ));
    }
    Ok(Some(reduced))
}

/// The hash of a file's bytes. The position of the file stays.
///
/// # Errors
/// Returns an error if the file is unreadable.
pub(crate) fn hash_from_start(file: &File) -> io::Result<String> {
    hash(PositionedReader { file, at: 0 })
}

/// Reads a file from its start, without its position.
struct PositionedReader<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for PositionedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Refuses a reduced form that does not suit these machines.
pub(crate) fn must_do(reduced: &Origin, machines: &[Machine]) -> Result<(), Failure> {
    let error = |error| Failure::from(ReadError::reduced(reduced.name(), error));
    let header = header(reduced).map_err(error)?;
    if family(machines).is_within(&Family::parse(&header.family)) {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{}: was reduced for machines with a first level of {}, and some of these have another: \
         compare the trace itself, or \
         reduce it with --machine",
        reduced.name(),
        header.family
    )))
}

fn header(reduced: &Origin) -> Result<ReducedHeader, broadleaf_trace::TraceError> {
    match reduced.file() {
        Some(mut file) => {
            io::Seek::rewind(&mut file)?;
            Ok(ReducedReader::new(BufReader::new(file))?.header().clone())
        }
        None => Ok(ReducedReader::new(reduced.start())?.header().clone()),
    }
}
