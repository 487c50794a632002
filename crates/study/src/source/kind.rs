//! The kinds of traces, identified by first bytes and names.

use std::path::Path;

use broadleaf_import::looks_like_lackey;
use broadleaf_trace::MAGIC;
use broadleaf_trace::reduced::REDUCED_MAGIC;

use super::origin::{self, Origin};
use crate::failure::Failure;

/// The kind of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceKind {
    Recording,
    Lackey,
    Reduced,
}

/// The kind of a file, by its first bytes; the ending `.lackey` marks Lackey text. `None` if the
/// file is no trace.
pub(crate) fn kind(path: &Path, start: &[u8]) -> Option<TraceKind> {
    let magic = &MAGIC[..MAGIC.len().min(start.len())];
    if start.starts_with(magic) {
        return Some(TraceKind::Recording);
    }
    if start.starts_with(&REDUCED_MAGIC) {
        return Some(TraceKind::Reduced);
    }
    let is_named_so = path.extension().is_some_and(|ending| ending == "lackey");
    (is_named_so || looks_like_lackey(start)).then_some(TraceKind::Lackey)
}

/// The kind of an open file.
pub(crate) fn kind_of(path: &Path, origin: &Origin) -> Result<TraceKind, Failure> {
    let found = kind(path, origin.start());
    found.ok_or_else(|| Failure::Wrong(origin::not_a_trace(origin.name(), origin.start())))
}
