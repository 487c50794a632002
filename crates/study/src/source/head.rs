//! The header of a recording, read without the rest of the file.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use broadleaf_trace::{Header, TraceReader};

use super::origin::can_be_opened_again;

/// Returns the header of the recording at this path. Returns `None` for other kinds of traces, for
/// pipes, and for files that cannot be read: whoever reads the trace itself reports why.
pub(crate) fn header_of(path: &Path) -> Option<Header> {
    if !can_be_opened_again(path) {
        return None;
    }
    let reader = TraceReader::new(BufReader::new(File::open(path).ok()?)).ok()?;
    Some(reader.header().clone())
}
