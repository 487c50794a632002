//! The bytes of a trace, by which the cache knows them.

use std::fs::File;

use super::Trace;
use crate::cache::TraceContent;

impl Trace {
    /// The bytes of the trace, by which results of the whole trace are known.
    /// `None` if the trace was not read whole. After [`Trace::finish`].
    pub(crate) fn content(&self) -> Option<TraceContent> {
        if let Some(entry) = &self.entry {
            let (hash, bytes) = (entry.hash.clone(), entry.bytes);
            return Some(TraceContent { hash, bytes });
        }
        let (hash, bytes) = self.keepable()?;
        Some(TraceContent { hash, bytes })
    }

    /// The file that the trace is read from, if it is no stream.
    pub(crate) fn file(&self) -> Option<File> {
        self.origin.file()
    }

    /// The size of that file.
    pub(crate) const fn file_size(&self) -> Option<u64> {
        self.origin.size()
    }
}
