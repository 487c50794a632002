//! The header of a recording, read without the rest of the file.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use broadleaf_trace::{Header, TraceReader};

use super::origin::{can_be_opened_again, is_trace};
use crate::foreign::DirectTrace;

/// Returns the header of the recording at this path. Returns `None` for other kinds of traces, for
/// pipes, for foreign traces that were not read yet, and for files that cannot be read: the reader
/// of the trace itself reports why.
pub(crate) fn header_of(path: &Path) -> Option<Header> {
    let file = match DirectTrace::named(path, is_trace) {
        Some(foreign) => foreign.written()?,
        None if can_be_opened_again(path) => File::open(path).ok()?,
        None => return None,
    };
    let reader = TraceReader::new(BufReader::new(file)).ok()?;
    Some(reader.header().clone())
}
