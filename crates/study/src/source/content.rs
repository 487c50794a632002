//! The bytes of a trace, by which the cache knows them.

use std::fs::File;

use super::Trace;

impl Trace {
    /// The hash and the number of the trace's bytes, by which results of the whole trace are known.
    /// `None` if the trace was not read whole. After [`Trace::finish`].
    pub(crate) fn content(&self) -> Option<(String, u64)> {
        if let Some(entry) = &self.entry {
            return Some((entry.hash.clone(), entry.bytes));
        }
        self.keepable()
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
