//! Reduced forms of traces, which stand beside them.

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use broadleaf_filter::Family;
use broadleaf_machine::Machine;
use broadleaf_trace::reduced::{ReducedHeader, ReducedReader};

use super::ReadError;
use super::origin::{Origin, Passes};
use crate::failure::Failure;

/// What the name of a reduced form ends with, behind that of the trace.
const ENDING: &str = ".reduced";

/// Where the reduced form of the trace at `path` stands.
pub fn path_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

/// The family of some machines.
pub fn family(machines: &[Machine]) -> Family {
    Family::of(machines.iter().map(|machine| &machine.design))
}

/// The hash of a file's bytes, as results name it.
///
/// # Errors
/// Where it cannot be read.
pub fn hash(from: impl io::Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(from)?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// The reduced form beside a trace, where there is one that does for these machines. One of another trace, or one that cannot be read, is passed
/// over with a word to the user.
///
/// # Errors
/// If one of the two files cannot be read.
pub fn beside(
    path: &Path,
    trace: &Origin,
    machines: &[Machine],
) -> Result<Option<Origin>, Failure> {
    let beside = path_beside(path);
    let Some(file) = trace.file().filter(|_| beside.is_file()) else {
        return Ok(None);
    };
    // What is wrong says of which file.
    let passed_over = |wrong: &dyn std::fmt::Display| {
        let name = trace.name();
        log::warn!("{wrong}; {name} itself is read, which takes longer");
        Ok(None)
    };
    let reduced = match Origin::open(&beside, Passes::Several) {
        Ok(reduced) => reduced,
        Err(failure) => return passed_over(&failure),
    };
    let header = match header(&reduced) {
        Ok(header) => header,
        Err(error) => return passed_over(&format_args!("{}: {error}", reduced.name())),
    };
    if !family(machines).is_within(&Family::parse(&header.family)) {
        return Ok(None);
    }
    let cannot = |error: io::Error| Failure::reading(trace.name(), &error);
    let mut file = file;
    io::Seek::rewind(&mut file).map_err(cannot)?;
    if hash(&mut file).map_err(cannot)? != header.trace {
        return passed_over(&format_args!(
            "{}: was made of another trace, or of this one before it changed",
            reduced.name()
        ));
    }
    Ok(Some(reduced))
}

/// Refuses a reduced form that does not do for these machines.
pub(crate) fn must_do(reduced: &Origin, machines: &[Machine]) -> Result<(), Failure> {
    let error = |error| Failure::from(ReadError::reduced(reduced.name(), error));
    let header = header(reduced).map_err(error)?;
    if family(machines).is_within(&Family::parse(&header.family)) {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{}: was reduced for machines with a first level of {}, and some of these have another: compare the trace itself, or \
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
